"""Pytree structures as stored in a bundle, and the containers that are built from them.

Nothing is imported, and no code of a module runs. A namedtuple of a class that this process has not
loaded becomes one with the same fields. A container of any other class becomes a tuple of its
children.
"""

from __future__ import annotations

import collections
import functools
import keyword
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Key = str | int

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
class TreeNode:
    """A container, or a leaf, in the structure of a pytree.

    `kind` is a key of PARTS; `items` are the children in the order of the leaves; `keys` are those
    of a dict or the field names of a namedtuple; `type` is the class of a namedtuple or custom
    container, as `module:name`.
    """

    kind: str
    items: tuple[TreeNode, ...] = ()
    keys: tuple[Key, ...] = ()
    type: str | None = None

    def leaves(self) -> int:
        """Return the number of leaves."""
        return sum(node.leaves() for node in self.items) if self.kind != "leaf" else 1

    def build(self, leaves: Iterator[Any]) -> Any:
        """Return the container with the next values of `leaves`.

        >>> TreeNode("list", (TreeNode("leaf"), TreeNode("none"))).build(iter([1]))
        [1, None]
        """
        if self.kind == "leaf":
            return next(leaves)
        children = [node.build(leaves) for node in self.items]
        match self.kind:
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
                return self.random_key(children[0])
        return tuple(children)

    def random_key(self, words: Any) -> Any:
        """Return random keys with the given words: the words themselves."""
        return words

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
