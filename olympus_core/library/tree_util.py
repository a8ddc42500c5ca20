"""The public tree functions, on `olympus_core.base.tree`.

To users an array of random keys is a leaf; inside, it is a container of its words, so that
transformations and programs need no rules for keys.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from olympus_core.base import tree as trees
from olympus_core.base.errors import SignatureError, TreeError
from olympus_core.base.tree import (
    IsLeaf,
    KeyPath,
    PyTreeDef,
    flatten_like,
    flatten_up_to,
    register_node,
    registry,
)

_Class = TypeVar("_Class", bound=type)
_MISSING: Any = object()


def _leaf_test(is_leaf: IsLeaf) -> IsLeaf:
    """Return the test for leaves that also is true for random keys."""
    if trees.key_class is None:  # nothing has created keys
        return is_leaf
    is_keys = trees.key_class.__instancecheck__  # as fast as no test
    if is_leaf is None:
        return is_keys
    return lambda x: is_keys(x) or is_leaf(x)


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of `tree`, left to right (dicts by sorted key), and its structure.

    Raises TreeError for a dict whose keys cannot be sorted.

    >>> flatten({"b": 1, "a": (2, None)})[0]
    [2, 1]
    """
    return trees.flatten(tree, _leaf_test(is_leaf))


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
    return trees.map(f, tree, *rest, is_leaf=_leaf_test(is_leaf))


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like `flatten`, each leaf with the path of keys that leads to it.

    >>> flatten_with_path({"a": 1})[0]
    [((DictKey(key='a'),), 1)]
    """
    if is_leaf is None or not is_leaf_takes_path:
        return trees.flatten_with_path(tree, _leaf_test(is_leaf))
    is_keys = _leaf_test(None)

    def test(path: KeyPath, x: Any) -> bool:
        return is_leaf(path, x) or (is_keys is not None and is_keys(x))

    return trees.flatten_with_path(tree, test, is_leaf_takes_path=True)


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Return True if every leaf of `tree` is true.

    >>> all([True, {"a": 0}])
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Return True if no element of `iterable` is a container.

    >>> all_leaves([1, 2]), all_leaves([1, (2, 3)])
    (True, False)
    """
    values = list(iterable)
    leaf_list = leaves(values, is_leaf)
    return len(leaf_list) == len(values) and builtins.all(
        a is b for a, b in zip(leaf_list, values, strict=True)
    )


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Return a tree like `full_tree` with the leaf of `prefix_tree` that covers each leaf.

    Raises TreeError where `prefix_tree` is not a prefix of `full_tree`.

    >>> broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
    {'a': [1, 1], 'b': 2}
    """
    values, prefix = flatten(prefix_tree, is_leaf)
    subtrees = flatten_like("broadcast_prefix prefix_tree", prefix_tree, prefix, full_tree, is_leaf)
    counts = [structure(subtree).num_leaves for subtree in subtrees]
    spread = [v for v, n in zip(values, counts, strict=True) for _ in range(n)]
    return structure(full_tree).unflatten(spread)


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of `tree`, each with the path of keys that leads to it.

    >>> leaves_with_path({"a": 1, "b": 2})
    [((DictKey(key='a'),), 1), ((DictKey(key='b'),), 2)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `map`, with the path of each leaf as the first argument of `f`.

    >>> map_with_path(lambda path, x: f"{len(path)} {x}", {"a": [7]})
    {'a': ['2 7']}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    name, test = "tree_map_with_path tree", None if is_leaf_takes_path else is_leaf
    other_leaves = [flatten_like(name, tree, treedef, r, test) for r in rest]
    return treedef.unflatten(
        f(path, x, *xs) for (path, x), *xs in zip(pairs, *other_leaves, strict=True)
    )


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Fold the leaves of `tree` from the left: `function(function(a, b), c)`.

    Raises TypeError for a tree without leaves when there is no `initializer`.

    >>> reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
    6
    """
    values = leaves(tree, is_leaf)
    if initializer is not _MISSING:
        return functools.reduce(function, values, initializer)
    if not values:
        raise SignatureError(
            "reduce() of empty iterable with no initial value: a tree without leaves needs an "
            "initializer"
        )
    return functools.reduce(function, values)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves of `tree` by halves, so that independent pairs can run in parallel.

    `operation` must be associative.  Raises TypeError for a tree without leaves when there is no
    `identity`.

    >>> reduce_associative(lambda a, b: f"({a}{b})", list("abcd"))
    '((ab)(cd))'
    """
    values = leaves(tree, is_leaf)
    if values:
        return _halves(operation, values)
    if identity is _MISSING:
        raise SignatureError(
            "Must specify identity for parallel reduction of empty sequence: the tree has no leaves"
        )
    return identity


def _halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return operation(_halves(operation, values[:half]), _halves(operation, values[half:]))


def static(**kwargs: Any) -> Any:
    """Return a dataclass field that `register_dataclass` treats as static; arguments of `field`.

    >>> static(default=3).metadata["static"]
    True
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn an outer tree of inner trees into an inner tree of outer trees.

    Without `inner_treedef` it is the structure of the first inner tree.  Raises TreeError where
    the tree does not have that structure.

    >>> transpose(structure([0, 0]), None, [(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    try:
        subtrees = flatten_up_to(outer_treedef, pytree_to_transpose)
    except TreeError as e:
        if inner_treedef is None:
            raise
        have = structure(pytree_to_transpose)
        needed = outer_treedef.compose(inner_treedef)
        raise TreeError(f"Mismatch\n{have}\n != \n{needed}\n{e}") from None
    if inner_treedef is None:
        if not subtrees:
            raise SignatureError("transpose of an empty outer tree needs inner_treedef")
        inner_treedef = structure(subtrees[0])
    rows = []
    for subtree in subtrees:
        values, have = flatten(subtree)
        if have != inner_treedef:
            raise TreeError(
                f"Mismatch\n{structure(pytree_to_transpose)}\n != \n"
                f"{outer_treedef.compose(inner_treedef)}\n"
                f"transpose needs inner trees of structure {inner_treedef}, and one is {have}"
            )
        rows.append(values)
    columns = zip(*rows, strict=True) if rows else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(c) for c in columns])


def is_tree_node(typ: Any) -> bool:
    """Return True if instances of the class `typ` are containers.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    if not isinstance(typ, type):
        return False
    if issubclass(typ, tuple) and hasattr(typ, "_fields"):
        return True
    if typ is trees.key_class:
        return False
    return bool(registry.is_node(typ))


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return the children of a container, and its static data; raise TreeError for a leaf.

    >>> flatten_one_level({"a": [1, 2], "b": 3})
    (([1, 2], 3), ('a', 'b'))
    """
    children_and_aux: tuple[Iterable[Any], Hashable] = _of_node(registry.flatten_one_level, tree)
    return children_and_aux


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Like `flatten_one_level`, each child with its key.

    >>> flatten_one_level_with_keys({"a": 1, "b": (2, 3)})[0]
    ((DictKey(key='a'), 1), (DictKey(key='b'), (2, 3)))
    """
    children_and_aux: tuple[Iterable[tuple[Any, Any]], Hashable]
    children_and_aux = _of_node(registry.flatten_one_level_with_keys, tree)
    return children_and_aux


def _of_node(flatten_node: Callable[[Any], Any], value: Any) -> Any:
    children_and_aux = None if type(value) is trees.key_class else flatten_node(value)
    if children_and_aux is None:
        raise TreeError(
            f"can't tree-flatten type: {type(value)}: it is a leaf, and only containers have "
            "children"
        )
    return children_and_aux


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of a container's children.

    >>> treedef_children(structure([1, (2, 3)]))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return list(treedef.children())


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return True if the structure is a single leaf or a container without children.

    >>> treedef_is_leaf(structure(5))
    True
    """
    return bool(treedef.num_nodes == 1)


def register_pytree_node_class(cls: _Class) -> _Class:
    """Make a class with `tree_flatten()` and `tree_unflatten(aux, children)` a container.

    >>> @register_pytree_node_class
    ... class Pair(list):
    ...     def tree_flatten(self):
    ...         return list(self), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(children)
    >>> leaves(Pair([1, 2]))
    [1, 2]
    """
    as_any: Any = cls
    register_node(cls, as_any.tree_flatten, as_any.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make `nodetype` a container whose children have keys.

    `flatten_with_keys` gives ((key, child) pairs, static data).

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> register_pytree_with_keys(
    ...     Interval,
    ...     lambda x: (((GetAttrKey("low"), x.low), (GetAttrKey("high"), x.high)), None),
    ...     lambda _, ends: Interval(*ends),
    ... )
    >>> [keystr(path) for path, _ in flatten_with_path(Interval(1.0, 2.0))[0]]
    ['.low', '.high']
    """

    def without_keys(x: Any) -> tuple[Iterable[Any], Hashable]:
        pairs, aux = flatten_with_keys(x)
        return [child for _, child in pairs], aux

    register_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: _Class) -> _Class:
    """Make a class with `tree_flatten_with_keys` and `tree_unflatten` a container.

    >>> @register_pytree_with_keys_class
    ... class Pair(list):
    ...     def tree_flatten_with_keys(self):
    ...         return list(zip("ab", self)), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(children)
    >>> leaves_with_path(Pair([1, 2]))
    [(('a',), 1), (('b',), 2)]
    """
    as_any: Any = cls
    register_pytree_with_keys(
        cls, as_any.tree_flatten_with_keys, as_any.tree_unflatten,
        getattr(cls, "tree_flatten", None),
    )  # fmt: skip
    return cls


def register_static(cls: _Class) -> _Class:
    """Make a hashable class a container without leaves: its instances are static everywhere.

    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> leaves(Mode("train"))
    []
    """
    register_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls
