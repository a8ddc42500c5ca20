"""The structures of arguments and results as JSON, and the classes that they may have."""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError, ArtifactError
from olympus_core.library.random.keys import KeyArray

_T = TypeVar("_T")
_MAX_DEPTH = 200


class _Form(NamedTuple):
    """The stored form of the containers of one class."""

    cls: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any]


_by_class: dict[type, _Form] = {}
_by_name: dict[str, _Form] = {}


def register_pytree_node_serialization(
    nodetype: type[_T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[_T]:
    """Register how containers of a class are stored in an exported program; return the class.

    `serialize_auxdata` returns the static data of a container as bytes, and `deserialize_auxdata`
    reads them. `from_children` makes a container of the static data and the children; by default
    the function that the class was registered with as a pytree does.

    Raises ArgumentError (a ValueError) for a class or a name that is registered already, and for a
    class that is no pytree without `from_children`.

    >>> register_pytree_node_serialization(
    ...     Interval, serialized_name="my.Interval",
    ...     serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode)
    """
    if nodetype in _by_class:
        raise ArgumentError(
            f"Duplicate serialization registration for type `{nodetype}`. "
            f"Previous registration was with serialized_name `{_by_class[nodetype].name}`."
        )
    if serialized_name in _by_name:
        raise ArgumentError(
            "Duplicate serialization registration for serialized_name "
            f"`{serialized_name}`. Previous registration was for type "
            f"`{_by_name[serialized_name].cls}`."
        )

    if from_children is None and not tree.is_registered(nodetype):
        raise ArgumentError(
            "If `from_children` is not present, you must call first "
            f"`tree_util.register_pytree_node` for `{nodetype}`"
        )

    def build(data: Any, children: Sequence[Any]) -> Any:
        parts = [tree.structure(child) for child in children]
        structure = tree.structure_of_node(nodetype, data, parts)
        return structure.unflatten(range(structure.num_leaves))

    form = _Form(
        nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children or build
    )
    _by_class[nodetype] = _by_name[serialized_name] = form
    return nodetype


def register_namedtuple_serialization(nodetype: type[_T], *, serialized_name: str) -> type[_T]:
    """Register how namedtuples of a class are stored in an exported program; return the class.

    Raises ArgumentError (a ValueError) for a class that is no namedtuple, and as
    `register_pytree_node_serialization`.

    >>> register_namedtuple_serialization(Point, serialized_name="my.Point")
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ArgumentError(
            "Use `register_pytree_node_serialization` for types other than "
            f"`collections.namedtuple`: {nodetype}"
        )
    cls: Any = nodetype
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
        from_children=lambda _, children: cls(*children),
    )


def tree_data(structure: tree.PyTreeDef, depth: int = 0) -> Any:
    """Return a structure as JSON data.

    Raises ArgumentError (a ValueError) for a class that is not registered, a dict key that is not
    text, and containers nested more than 200 deep.
    """
    if depth > _MAX_DEPTH:
        raise ArgumentError(f"containers nested more than {_MAX_DEPTH} deep cannot be serialized")
    node = structure.node_data()
    if node is None:
        return "*"
    cls, extra = node
    items = [tree_data(child, depth + 1) for child in structure.children()]
    if cls is type(None):
        return None
    if cls in (tuple, list):
        return {"kind": cls.__name__, "items": items}
    if cls is dict:
        return {"kind": "dict", "items": items, "keys": [_key(k) for k in extra]}
    form = _by_class.get(cls)
    if form is None and cls is collections.OrderedDict:
        return {"kind": "ordereddict", "items": items, "keys": [_key(k) for k in extra]}
    if form is None:
        raise ArgumentError(
            "Cannot serialize PyTreeDef with node type "
            f"`{cls}` unless it is registered with "
            "`register_pytree_node_serialization` or `register_namedtuple_serialization`."
        )
    stored = form.serialize(extra)
    if not isinstance(stored, bytes | bytearray):
        raise ArgumentError(
            f"The custom serialization for `{form.name}` must return bytes, and got {stored!r:.80}."
        )
    text = base64.b64encode(stored).decode()
    return {"kind": "custom", "items": items, "name": form.name, "data": text}


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ArgumentError(
            f"Serialization is supported only for dictionaries with string keys, and not {key!r}"
        )
    return key


def tree_of(data: Any) -> tree.PyTreeDef:
    """Return the structure of JSON data that `tree_data` returned.

    Raises ArtifactError for other data, and ArgumentError (a ValueError) for a class that is not
    registered.
    """
    return tree.structure(_built(data, 0))


def _built(data: Any, depth: int) -> Any:
    if data is None or data == "*":
        return None if data is None else 0
    if not isinstance(data, Mapping) or depth > _MAX_DEPTH:
        raise ArtifactError("the exported program has no valid structure of arguments or results")
    kind, items = data.get("kind"), data.get("items")
    if not isinstance(items, list):
        raise ArtifactError("the exported program has no valid structure of arguments or results")
    children = [_built(item, depth + 1) for item in items]
    keys = data.get("keys", [])
    if kind in ("tuple", "list"):
        return tuple(children) if kind == "tuple" else children
    if kind in ("dict", "ordereddict") and len(keys) == len(children):
        pairs = zip(keys, children, strict=True)
        return dict(pairs) if kind == "dict" else collections.OrderedDict(pairs)
    if kind != "custom":
        raise ArtifactError("the exported program has no valid structure of arguments or results")
    return _custom(str(data.get("name")), str(data.get("data", "")), children)


def _custom(name: str, data: str, children: Sequence[Any]) -> Any:
    form = _by_name.get(name)
    if form is None:
        raise ArgumentError(
            f"Cannot deserialize a PyTreeDef with a node type registered as `{name}`: "
            "register it with `register_pytree_node_serialization` or "
            "`register_namedtuple_serialization`."
        )
    return form.build(form.deserialize(base64.b64decode(data)), children)


register_pytree_node_serialization(
    KeyArray,
    serialized_name="olympus.random.key",
    serialize_auxdata=lambda impl: b"" if impl == "threefry2x32" else impl.encode(),
    deserialize_auxdata=lambda data: bytes(data).decode() or "threefry2x32",
)
