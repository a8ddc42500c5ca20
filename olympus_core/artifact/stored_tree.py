"""Pytree structures as stored in a bundle: a `PyTreeDef` as a `Node`, and back.

Conversion to a `PyTreeDef` imports nothing and runs no code of a module. A namedtuple of a class
that this process has not loaded becomes one with the same fields. A container of any other class,
except an array of random keys, becomes a tuple of its children.
"""

from __future__ import annotations

import collections
import functools
import keyword
import sys
from dataclasses import dataclass
from types import ModuleType, NoneType
from typing import Any

from olympus_core.base import tree
from olympus_core.base.errors import UsageError
from olympus_core.library.random.keys import KeyArray

Key = str | int

_PLAIN: dict[type, str] = {NoneType: "none", tuple: "tuple", list: "list"}
_KEYED: dict[type, str] = {dict: "dict", collections.OrderedDict: "ordereddict"}
MAX_DEPTH = 100  # the deepest nesting of containers that is written and read

#: The parts of a node in JSON, besides its kind, for each kind of node.
PARTS: dict[str, tuple[str, ...]] = {
    "leaf": (),
    "none": (),
    "tuple": ("items",),
    "list": ("items",),
    "dict": ("items", "keys"),
    "ordereddict": ("items", "keys"),
    "namedtuple": ("items", "keys", "type"),
    "key": ("items",),
    "custom": ("items", "type"),
}


@dataclass(frozen=True)
class Node:
    """A container, or a leaf, in the structure of a pytree.

    `kind` is a key of PARTS; `items` are the children in the order of the leaves; `keys` are those
    of a dict or the field names of a namedtuple; `type` is the class of a namedtuple or custom
    container, as `module:name`.
    """

    kind: str
    items: tuple[Node, ...] = ()
    keys: tuple[Key, ...] = ()
    type: str | None = None

    @staticmethod
    def of(structure: tree.PyTreeDef) -> Node:
        """Return the node of a `PyTreeDef`.

        Raises:
          UsageError: a dict has a key that is neither text nor an integer, or containers are nested
            more than 100 deep.

        Example:
          >>> Node.of(tree.structure([1, None])).items
          (Node(kind='leaf', ...), Node(kind='none', ...))
        """
        return Node._of(structure, 0)

    @staticmethod
    def _of(structure: tree.PyTreeDef, depth: int) -> Node:
        data = structure.node_data()
        if data is None:
            return Node("leaf")
        if depth == MAX_DEPTH:
            raise UsageError(
                f"containers nested more than {MAX_DEPTH} deep cannot be stored in a bundle",
                hint="make the program's arguments and results flatter",
            )
        cls, extra = data
        items = tuple(Node._of(child, depth + 1) for child in structure.children())
        if cls in _PLAIN:
            return Node(_PLAIN[cls], items)
        if cls in _KEYED:
            return Node(_KEYED[cls], items, tuple(map(_key, extra)))
        if cls is collections.defaultdict:
            return Node("dict", items, tuple(map(_key, extra[1])))
        if cls is KeyArray:
            return Node("key", items)
        name = f"{cls.__module__}:{cls.__qualname__}"
        fields = field_names(cls)
        if fields is not None and len(fields) == len(items) and not tree.is_registered(cls):
            return Node("namedtuple", items, fields, name)
        return Node("custom", items, (), name)

    def structure(self) -> tree.PyTreeDef:
        """Return the `PyTreeDef`; the module's docstring describes other classes."""
        return tree.structure(self._skeleton())

    def leaves(self) -> int:
        """Return the number of leaves."""
        return sum(node.leaves() for node in self.items) if self.kind != "leaf" else 1

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data; fields that the kind of node does not have are omitted."""
        parts = {
            "items": [node.to_data() for node in self.items],
            "keys": list(self.keys),
            "type": self.type,
        }
        return {"kind": self.kind, **{name: parts[name] for name in PARTS[self.kind]}}

    def _skeleton(self) -> Any:
        children = [node._skeleton() for node in self.items]
        match self.kind:
            case "leaf":
                return 0
            case "none":
                return None
            case "list":
                return children
            case "dict":
                return dict(zip(self.keys, children, strict=True))
            case "ordereddict":
                return collections.OrderedDict(zip(self.keys, children, strict=True))
            case "namedtuple":
                return self._namedtuple(children)
            case "key":
                return KeyArray(*children)
        return tuple(children)

    def _namedtuple(self, children: list[Any]) -> tuple[Any, ...]:
        cls = _loaded(self.type or "")
        if field_names(cls) != self.keys:
            cls = _substitute((self.type or "").rpartition(".")[2].rpartition(":")[2], self.keys)
        value: tuple[Any, ...] = tuple.__new__(cls, children)
        return value


def field_names(cls: Any) -> tuple[str, ...] | None:
    """Return the fields of a namedtuple class; None for other objects."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return None
    declared = (vars(base)["_fields"] for base in cls.__mro__ if "_fields" in vars(base))
    fields = next(declared, None)
    return fields if isinstance(fields, tuple) else None


@functools.cache
def _substitute(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Return a namedtuple class that replaces an absent one, cached by name and fields."""
    name = name if name.isidentifier() and not keyword.iskeyword(name) else "namedtuple"
    try:
        return collections.namedtuple(name, fields)
    except ValueError:  # names that a class cannot have
        return tuple


def _loaded(name: str) -> Any:
    """Return the object `module:name`, if its module is loaded and has it; else None.

    Only the namespaces themselves are read: a module's `__getattr__` may import.
    """
    module, _, path = name.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = vars(value).get(part) if isinstance(value, ModuleType | type) else None
    return value


def _key(key: object) -> Key:
    if isinstance(key, str | int) and not isinstance(key, bool):
        return key
    raise UsageError(
        f"a dict with the key {key!r} of type {type(key).__name__} cannot be stored in a bundle",
        hint="use text or integers as the keys of a program's arguments and results",
    )
