"""Pytree structures as stored in a bundle: a `PyTreeDef` as a `Node`, and back."""

from __future__ import annotations

import collections
from itertools import repeat
from types import NoneType
from typing import Any

from olympus_bundle.tree import MAX_DEPTH, PARTS, Key, TreeNode, field_names
from olympus_core.base import tree
from olympus_core.base.errors import UsageError
from olympus_core.library.random.keys import KeyArray

_PLAIN: dict[type, str] = {NoneType: "none", tuple: "tuple", list: "list"}
_KEYED: dict[type, str] = {dict: "dict", collections.OrderedDict: "ordereddict"}


class Node(TreeNode):
    """A container, or a leaf, in the structure of a pytree, converted from and to a `PyTreeDef`.

    `kind` is a key of PARTS; `items` are the children in the order of the leaves; `keys` are those
    of a dict or the field names of a namedtuple; `type` is the class of a namedtuple or custom
    container, as `module:name`.
    """

    items: tuple[Node, ...]

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
            if extra not in (None, "threefry2x32"):
                raise UsageError(
                    f"random keys of {extra!r} cannot be stored in a bundle",
                    hint="pass their words, by olympus.random.key_data",
                )
            return Node("key", items)
        name = f"{cls.__module__}:{cls.__qualname__}"
        fields = field_names(cls)
        if fields is not None and len(fields) == len(items) and not tree.is_registered(cls):
            return Node("namedtuple", items, fields, name)
        return Node("custom", items, (), name)

    def structure(self) -> tree.PyTreeDef:
        """Return the `PyTreeDef`; a class that is not loaded has another one in its place."""
        return tree.structure(self.build(repeat(0)))

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data; fields that the kind of node does not have are omitted."""
        parts = {
            "items": [node.to_data() for node in self.items],
            "keys": list(self.keys),
            "type": self.type,
        }
        return {"kind": self.kind, **{name: parts[name] for name in PARTS[self.kind]}}

    def random_key(self, words: Any) -> Any:
        """Return the random keys with the given words."""
        return KeyArray(words)


def _key(key: object) -> Key:
    if isinstance(key, str | int) and not isinstance(key, bool):
        return key
    raise UsageError(
        f"a dict with the key {key!r} of type {type(key).__name__} cannot be stored in a bundle",
        hint="use text or integers as the keys of a program's arguments and results",
    )
