"""Pytrees: nested containers of leaves, flattened and rebuilt by jaxlib's C++ registry.

Containers are tuples, lists, dicts, named tuples, None and registered classes; a `PyTreeDef`
rebuilds one from its leaves.  The registry is OLYMPUS's own, so registering a class here touches no
other framework in the process.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from olympus_runtime import quiet  # isort: skip
from jaxlib._jax import pytree as _pytree

from olympus_core.base.errors import TransformError, TreeError

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "PyTreeDef",
    "SequenceKey",
    "flatten",
    "flatten_up_to",
    "flatten_with_path",
    "is_registered",
    "keystr",
    "leaves",
    "map",
    "prefix_leaves",
    "quiet",
    "register_dataclass",
    "register_node",
    "registry",
    "structure",
    "structure_of_node",
    "treedef_tuple",
    "unflatten",
]

if TYPE_CHECKING:

    class PyTreeDef(Protocol):
        """The structure of a tree, without its leaves."""

        num_leaves: int
        num_nodes: int

        def unflatten(self, leaves: Iterable[Any], /) -> Any: ...
        def flatten_up_to(self, tree: Any, /) -> list[Any]: ...
        def children(self) -> list[PyTreeDef]: ...
        def node_data(self) -> tuple[type, Any] | None: ...
        def compose(self, inner: PyTreeDef, /) -> PyTreeDef: ...
        def walk(self, *args: Any) -> Any: ...

else:
    PyTreeDef = _pytree.PyTreeDef
SequenceKey = _pytree.SequenceKey
DictKey = _pytree.DictKey
GetAttrKey = _pytree.GetAttrKey
FlattenedIndexKey = _pytree.FlattenedIndexKey

KeyEntry = Any  # one of the key classes above, or a registered class's own hashable
KeyPath = tuple[KeyEntry, ...]
IsLeaf = Callable[[Any], bool] | None
_T = TypeVar("_T")
_Class = TypeVar("_Class", bound=type)


def _new_registry() -> Any:
    return _pytree.PyTreeRegistry(
        enable_none=True,
        enable_tuple=True,
        enable_namedtuple=True,
        enable_list=True,
        enable_dict=True,
    )


registry = _new_registry()
#: the registry of nested lists and tuples alone
sequences = _pytree.PyTreeRegistry(
    enable_none=False,
    enable_tuple=True,
    enable_namedtuple=False,
    enable_list=True,
    enable_dict=False,
)
#: the registries of the arguments of direct calls: arrays are containers of buffers in them.
#: NumPy arrays are containers of their copies in the first, and leaves in the second.
call_registry, in_place_registry = _new_registry(), _new_registry()
#: the class of arrays of random keys, which are leaves to users: it registers itself
key_class: type | None = None
# the name for pickling: a structure is pickled with a reference to its registry
registry.__module__, registry.__name__ = __name__, "registry"


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of `tree`, left to right (dicts by sorted key), and its structure.

    Raises TreeError for a dict whose keys cannot be sorted.

    >>> flatten({"b": 1, "a": (2, None)})[0]
    [2, 1]
    """
    try:
        flat: tuple[list[Any], PyTreeDef] = registry.flatten(tree, is_leaf)
    except ValueError as e:
        _check_sorting(e)
        raise
    return flat


def _check_sorting(error: ValueError) -> None:
    """Raise the error for keys that cannot be sorted; ignore errors of a class's own functions."""
    if str(error).startswith("Comparator raised exception"):
        raise _unsorted(error.__cause__) from None


def _unsorted(reason: BaseException | None) -> TreeError:
    return TreeError(
        "Comparator raised exception while sorting pytree dictionary keys: a dict in a tree needs "
        f"keys that can be sorted, and has others: {reason}",
        hint="use keys of one type, or an OrderedDict, which keeps its own order",
    )


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Return the tree of structure `treedef` with `leaves`; raise TreeError for another number.

    >>> unflatten(structure({"a": 1, "b": 2}), [3, 4])
    {'a': 3, 'b': 4}
    """
    values = list(leaves)
    if len(values) != treedef.num_leaves:
        amount = "few" if len(values) < treedef.num_leaves else "many"
        raise TreeError(
            f"Too {amount} leaves for PyTreeDef; expected {treedef.num_leaves}, got {len(values)}. "
            f"The structure is {treedef}"
        )
    return treedef.unflatten(values)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of `tree`.

    >>> leaves({"a": 1, "b": (2, 3)})
    [1, 2, 3]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Return the structure of `tree`, without its leaves.

    >>> structure({"a": 1, "b": (2, 3)})
    PyTreeDef({'a': *, 'b': (*, *)})
    """
    return flatten(tree, is_leaf)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `f` to the leaves of `tree`, together with the matching parts of each of `rest`.

    Raises TreeError if a tree of `rest` does not have `tree` as a prefix.

    >>> map(lambda x, y: x + y, {"a": 1}, {"a": 2})
    {'a': 3}
    """
    first, treedef = flatten(tree, is_leaf)
    others = [flatten_like("tree_map tree", tree, treedef, r, is_leaf) for r in rest]
    return treedef.unflatten(f(*xs) for xs in zip(first, *others, strict=True))


def flatten_like(
    name: str, tree: Any, treedef: PyTreeDef, other: Any, is_leaf: IsLeaf
) -> list[Any]:
    """Return `flatten_up_to`; the error also has the first place where the tree `name` differs."""
    try:
        return flatten_up_to(treedef, other)
    except TreeError as e:
        place = _mismatch(name, (), tree, other, is_leaf)
        raise TreeError(f"{place}{e}") from None


def flatten_up_to(treedef: PyTreeDef, tree: Any) -> list[Any]:
    """Return the parts of `tree` at the leaves of `treedef`; raise TreeError if it is no prefix."""
    try:
        return treedef.flatten_up_to(tree)
    except ValueError as e:
        _check_sorting(e)
        raise TreeError(
            f"a tree must begin with the structure of another, and does not: "
            f"{str(e).splitlines()[0]:.200}\n"
            f"  the structure: {treedef}\n  the tree's:    {structure(tree)}"
        ) from None


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like `flatten`, each leaf with the path of keys that leads to it.

    >>> flatten_with_path({"a": 1})[0]
    [((DictKey(key='a'),), 1)]
    """
    predicate: Any = None
    if is_leaf is not None:
        leaf_test: Any = is_leaf
        predicate = leaf_test if is_leaf_takes_path else lambda path, x: leaf_test(x)
    flat: tuple[list[tuple[KeyPath, Any]], PyTreeDef]
    try:
        flat = registry.flatten_with_path(tree, predicate)
    except ValueError as e:
        _check_sorting(e)
        raise
    return flat


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text: `['a'][0].b`, or with `simple` and a separator, `a/0/b`.

    >>> keystr(flatten_with_path({"a": [1]})[0][0][0])
    "['a'][0]"
    """
    text = _simple_key if simple else str
    return separator.join(text(key) for key in keys)


def _simple_key(key: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose parts have the given structures.

    >>> treedef_tuple([structure(5), structure([1, 2])])
    PyTreeDef((*, [*, *]))
    """
    joined: PyTreeDef = _pytree.treedef_tuple(registry, list(treedefs))
    return joined


def prefix_leaves(
    asker: str, what: str, prefix: Any, full: Any, is_leaf: IsLeaf = None
) -> list[Any]:
    """Return one leaf of `prefix` for each leaf of `full`; each leaf of `prefix` covers a subtree.

    Raises TransformError if `prefix`, the argument `what` of `asker`, is not a prefix of `full`.
    """
    result: list[Any] = []
    values, treedef = flatten(prefix, is_leaf or (lambda x: x is None))
    try:
        subtrees = flatten_up_to(treedef, full)
    except TreeError:
        label = f"{'pjit' if asker == 'jit' else asker} {what}"
        place = _mismatch(label, (), prefix, full, is_leaf or (lambda x: x is None))
        details = f"Mismatch details (1 found):\n{place}" if place else ""
        raise TransformError(
            f"{asker} {what} specification must be a tree prefix of the corresponding value.\n"
            f"{details}"
            f"  {what}: {prefix!r}\n  it applies to: {structure(full)}"
        ) from None
    for value, subtree in zip(values, subtrees, strict=True):
        result.extend([value] * structure(subtree).num_leaves)
    return result


def _mismatch(label: str, path: tuple[Any, ...], prefix: Any, full: Any, is_leaf: IsLeaf) -> str:
    """Return a text for the first place where a tree is not a prefix of another; "" for none.

    `label` is the name of the prefix, and `path` the keys of the place.
    """
    if is_leaf is not None and is_leaf(prefix):
        return ""
    ours = registry.flatten_one_level_with_keys(prefix)
    if ours is None:
        return ""
    theirs = None if full is None else registry.flatten_one_level_with_keys(full)
    kind = type(prefix).__name__
    at = label, keystr(path)
    if theirs is None or type(full) is not type(prefix):
        other = "a leaf" if theirs is None else type(full)
        types = f"type\n    {type(prefix)}", f"different type\n    {other}"
        return _structure_error("different types", *at, *types)
    (mine, own), (parts, data) = ours, theirs
    mine, parts = list(mine), list(parts)
    if isinstance(prefix, tuple | list) and len(mine) != len(parts):
        sizes = f"type {kind} of length {len(mine)}", f"the same type but of length {len(parts)}"
        return _structure_error(f"different lengths of {kind}", *at, *sizes)
    if len(mine) != len(parts):
        return _structure_error(
            "different numbers of pytree children",
            *at,
            f"type\n    {type(prefix)}\nwith {_child_keys(mine)}",
            f"the same type but with {_child_keys(parts)}",
            _key_difference(mine, parts),
        )
    if own != data:
        return _structure_error(
            "different pytree metadata",
            *at,
            f"type\n    {type(prefix)}\nwith metadata\n    {own}",
            f"the same type but with metadata\n    {data}",
        )
    for (key, child), (_, part) in zip(mine, parts, strict=True):
        if text := _mismatch(label, (*path, key), child, part, is_leaf):
            return text
    return ""


def _child_keys(children: Sequence[tuple[Any, Any]]) -> str:
    """Return the number of children of a node and their keys, for messages."""
    keys = " ".join([_simple_key(key) for key, _ in children])
    return f"{len(children)} child keys\n    {keys}"


def _key_difference(mine: Sequence[tuple[Any, Any]], parts: Sequence[tuple[Any, Any]]) -> str:
    """Return a line with the keys that one of two nodes lacks."""
    both = {key for key, _ in mine} ^ {key for key, _ in parts}
    keys = " ".join([_simple_key(key) for key, _ in (*mine, *parts) if key in both])
    return f"so the symmetric difference on key sets is\n    {keys}\n"


def _structure_error(
    what: str, label: str, path: str, mine: str, other: str, result: str = ""
) -> str:
    return (
        f"pytree structure error: {what} at key path\n    {label}{path}\n"
        f"At that key path, the prefix pytree {label} has a subtree of {mine}\n"
        f"but at the same key path the full pytree has a subtree of {other}\n{result}"
    )


def register_node(
    nodetype: type[_T],
    flatten_func: Callable[[_T], tuple[Any, Hashable]],
    unflatten_func: Callable[[Any, Any], _T],
    flatten_with_keys_func: Callable[[_T], tuple[Any, Hashable]] | None = None,
) -> None:
    """Make `nodetype` a container: `flatten_func` returns (children, static data), and the inverse.

    A subclass of a built-in container may be registered, and a named tuple, whose fields are its
    children until then.  Raises TreeError if the class is registered already.

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> register_pytree_node(
    ...     Interval, lambda x: ((x.low, x.high), None), lambda _, ends: Interval(*ends)
    ... )
    >>> leaves(Interval(1.0, 2.0))
    [1.0, 2.0]
    """
    with _new(nodetype):
        registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
        for each in (call_registry, in_place_registry):
            each.register_node(nodetype, flatten_func, unflatten_func)
    _registered.add(nodetype)


#: the classes that `register_node` made containers; an unregistered named tuple is not in it
_registered: weakref.WeakSet[type] = weakref.WeakSet()


def structure_of_node(cls: type, data: Any, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a container of a registered class with this static data."""
    structure: PyTreeDef = _pytree.PyTreeDef.from_node_data_and_children(
        registry, (cls, data), children
    )
    return structure


def is_registered(cls: type) -> bool:
    """Return True if `register_node` made `cls` a container, flattened by its functions."""
    return cls in _registered


@contextlib.contextmanager
def _new(cls: type) -> Iterator[None]:
    """Return a context in which the registry raises an error for a class that is not new."""
    try:
        yield
    except ValueError as e:
        if not str(e).startswith("Duplicate"):
            raise
        raise TreeError(
            f"Duplicate custom PyTreeDef type registration for {cls}: it is a container already"
        ) from None


def register_dataclass(
    nodetype: _Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> _Class:
    """Make a dataclass a container of its `data_fields`; `meta_fields` are static.

    Without field lists, fields marked `metadata=dict(static=True)` are static, the others data.
    Raises TreeError when fields are left out or are in both lists, for one list without the other,
    for a class that is not a dataclass, and for one that is registered already.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = dataclasses.field(metadata=dict(static=True))
    >>> leaves(Layer(0.5, "first"))
    [0.5]
    """
    if data_fields is None or meta_fields is None:
        if data_fields is not None or meta_fields is not None:
            raise TreeError(
                "register_dataclass: data_fields and meta_fields must both be specified when "
                f"either is specified. Got {data_fields=} {meta_fields=}."
            )
        if not dataclasses.is_dataclass(nodetype):
            raise TreeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not "
                f"a dataclass. Got {nodetype=}."
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
    elif dataclasses.is_dataclass(nodetype):
        init = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
        named = set(data_fields) | set(meta_fields)
        missing, unexpected = sorted(init - named), sorted(named - init)
        if missing or unexpected:
            raise TreeError(
                "register_dataclass: data_fields and meta_fields must include all dataclass fields "
                "with ``init=True`` and only them."
                + (f" Missing fields: {_set_text(missing)}." if missing else "")
                + (f" Unexpected fields: {_set_text(unexpected)}." if unexpected else ""),
                hint="name fields in drop_fields to leave them out" if missing else None,
            )
    both = sorted(set(data_fields) & set(meta_fields))
    if both:
        raise TreeError(
            "register_dataclass: data_fields and meta_fields must not overlap. Overlapping fields: "
            f"{_set_text(both)}."
        )
    with _new(nodetype):
        for each in (registry, call_registry, in_place_registry):
            each.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))
    return nodetype


def _set_text(names: Sequence[str]) -> str:
    """Return sorted names as the text of a set, which has no order of its own."""
    return f"{{{', '.join([repr(name) for name in names])}}}"


class _Callable:
    """A function that calls another, and equals it; its arguments are not taken apart."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self.function == (other.function if isinstance(other, _Callable) else other))

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial[Any]):
    """A `functools.partial` that is a container: its bound arguments are leaves.

    The arguments of a `functools.partial` that it wraps are part of the function, not leaves.
    """

    def __new__(cls, function: Any, /, *args: Any, **keywords: Any) -> Self:
        # functools.partial takes a wrapped one apart, and joins the arguments of both
        if isinstance(function, functools.partial):
            function = _Callable(function)
        return super().__new__(cls, function, *args, **keywords)


register_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, parts: Partial(func, *parts[0], **parts[1]),
)

register_node(
    collections.OrderedDict,
    lambda d: (tuple(d.values()), tuple(d.keys())),
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
    lambda d: (tuple((DictKey(k), v) for k, v in d.items()), tuple(d.keys())),
)


def _sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(d))
    except TypeError as e:
        raise _unsorted(e) from None


register_node(
    collections.defaultdict,
    lambda d: (tuple(d[k] for k in _sorted_keys(d)), (d.default_factory, _sorted_keys(d))),
    lambda data, values: collections.defaultdict(data[0], zip(data[1], values, strict=True)),
    lambda d: (
        tuple((DictKey(k), d[k]) for k in _sorted_keys(d)),
        (d.default_factory, _sorted_keys(d)),
    ),
)
