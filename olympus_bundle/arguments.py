"""Calls of a bundle's program: arguments are matched by the shape of their tree, and by name.

The process that calls it may have none of the classes that it was built with.  An error names the
place in the arguments that does not fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from olympus_bundle.errors import SignatureError
from olympus_bundle.manifest import ArrayInfo, Signature
from olympus_bundle.tree import TreeNode, field_names


class ArgumentMatcher:
    """The arguments of a program, and the flat arrays of a call of it.

    A namedtuple, a registered class and a list may be passed as a tuple of their parts; a
    positional argument may be passed by its name.
    """

    def __init__(self, function: str, signature: Signature) -> None:
        self.function = function
        self._positional, self._named = signature.argument_tree.items
        self._names = _names(self._positional, [argument.name for argument in signature.arguments])

    def parts(self, value: Any) -> Sequence[Any] | None:
        """Return the children of a sequence; None for other values."""
        return value if isinstance(value, tuple | list) else None

    def is_leaf(self, value: Any) -> bool:
        """Return True unless the value is a container."""
        return value is not None and not isinstance(value, tuple | list | Mapping)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arrays of a call in the order of the signature.

        Raises SignatureError if the arguments do not have the form of the signature.
        """
        values = list(args[: len(self._names)])
        rest = dict(kwargs)
        if len(args) > len(self._names):
            self._refuse(f"it got {len(args)} positional arguments, and takes {len(self._names)}")
        for name in self._names[len(args) :]:
            if name is None or name not in rest:
                self._refuse(f"it lacks the argument {name or len(values)}")
            values.append(rest.pop(name))
        leaves: list[Any] = []
        for i, (node, value) in enumerate(zip(self._positional.items, values, strict=True)):
            self._take(node, value, self._names[i] or f"argument {i}", leaves)
        for name in rest:
            if name not in self._named.keys:
                twice = "twice" if name in self._names else "which it does not take"
                self._refuse(f"it got the argument {name}, {twice}")
        for key, node in zip(self._named.keys, self._named.items, strict=True):
            if key not in rest:
                self._refuse(f"it lacks the argument {key}")
            self._take(node, rest[str(key)], str(key), leaves)
        return leaves

    def _take(self, node: TreeNode, value: Any, path: str, leaves: list[Any]) -> None:
        """Append the arrays of a value that must have the form of a node."""
        if node.kind == "leaf":
            if not self.is_leaf(value):
                self._refuse(f"{path} must be an array, and is {_form(value)}")
            leaves.append(value)
        elif node.kind == "none":
            if value is not None:
                self._refuse(f"{path} must be None, and is {_form(value)}")
        elif node.kind in ("dict", "ordereddict"):
            self._take_items(node, value, path, leaves)
        else:
            self._take_parts(node, value, path, leaves)

    def _take_items(self, node: TreeNode, value: Any, path: str, leaves: list[Any]) -> None:
        if not isinstance(value, Mapping):
            self._refuse(f"{path} must be a dict, and is {_form(value)}")
        missing = [key for key in node.keys if key not in value]
        stray = [key for key in value if key not in node.keys]
        if missing or stray:
            lacks = f"lacks the key {missing[0]!r}" if missing else ""
            has = f"has the key {stray[0]!r}, which it must not have" if stray else ""
            self._refuse(f"{path} {' and '.join(filter(None, (lacks, has)))}")
        for key, item in zip(node.keys, node.items, strict=True):
            self._take(item, value[key], f"{path}[{key!r}]", leaves)

    def _take_parts(self, node: TreeNode, value: Any, path: str, leaves: list[Any]) -> None:
        parts = self.parts(value)
        if parts is None and node.kind == "key":
            parts = [value]  # the words themselves
        if parts is None:
            self._refuse(f"{path} must be {_described(node)}, and is {_form(value)}")
        if len(parts) != len(node.items):
            self._refuse(f"{path} must have {len(node.items)} parts, and has {len(parts)}")
        fields = field_names(type(value))
        if node.kind == "namedtuple" and fields and fields != node.keys:
            self._refuse(
                f"{path} must have the fields {', '.join(map(str, node.keys))}, "
                f"and has {', '.join(fields)}"
            )
        for i, (item, part) in enumerate(zip(node.items, parts, strict=True)):
            self._take(item, part, path + _step(node, i), leaves)

    def _refuse(self, what: str) -> NoReturn:
        raise SignatureError(f"'{self.function}' cannot be called with these arguments: {what}")


#: The position of an argument, None for a keyword, with its name, its tree and its arrays.
Argument = tuple[int | None, str, TreeNode, Sequence[ArrayInfo]]


def arguments_of(signature: Signature) -> Iterator[Argument]:
    """Yield the arguments of a signature that have arrays."""
    arrays = iter(signature.arguments)
    positional, named = signature.argument_tree.items
    for i, node in enumerate((*positional.items, *named.items)):
        leaves = [next(arrays) for _ in range(node.leaves())]
        if leaves:
            position = i if i < len(positional.items) else None
            yield position, first_name(leaves[0].name), node, leaves


def first_name(name: str) -> str:
    """Return the name of the argument that an array is a part of.

    >>> first_name("params['w']")
    'params'
    """
    return re.split(r"[\[.]", name, maxsplit=1)[0]


class AddedArguments:
    """Arguments of a program that are added to its calls, which do not take them.

    `values` are the position of each, None for a keyword, its name and its value. `reason`
    completes the message for a call that passes one: "'valid' is the mask, which a call adds".
    """

    def __init__(
        self,
        function: str,
        takes: int,
        values: Sequence[tuple[int | None, str, Any]],
        reason: str,
    ) -> None:
        self._function, self._values, self._reason = function, values, reason
        #: the number of positional arguments that a call takes
        self.takes = takes - sum(position is not None for position, *_ in values)

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the positional arguments of the program; the others are added to `kwargs`.

        Raises SignatureError for too many arguments, or one that is added.
        """
        if len(args) > self.takes:
            raise SignatureError(
                f"'{self._function}' cannot be called with these arguments: it got {len(args)} "
                f"positional arguments, and takes {self.takes}"
            )
        for position, name, value in self._values:
            if name in kwargs:
                raise SignatureError(f"{name!r} {self._reason}")
            if position is not None and len(args) >= position:
                args = (*args[:position], value, *args[position:])
            else:
                kwargs[name] = value
        return args


_FIRST_NAME = re.compile(r"\w+")


def _names(positional: TreeNode, leaves: Sequence[str]) -> list[str | None]:
    """Return the name of each positional argument; None if it has no unique name.

    An array's name is that of its argument and a path, as in `params['w']`.
    """
    names: list[str | None] = []
    start = 0
    for node in positional.items:
        arrays = leaves[start : (start := start + node.leaves())]
        first = _FIRST_NAME.match(arrays[0]) if arrays else None
        names.append(first[0] if first else None)
    count = Counter(names)
    return [name if count[name] == 1 else None for name in names]


def _form(value: Any) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _described(node: TreeNode) -> str:
    named = {"list": "a list", "tuple": "a tuple", "key": "a random key"}
    return named.get(node.kind) or f"{(node.type or '').rpartition(':')[2]} or a tuple of its parts"


def _step(node: TreeNode, i: int) -> str:
    return f".{node.keys[i]}" if node.kind == "namedtuple" else f"[{i}]"
