"""Tables of shapes as objects of Python: a named tuple, a dataclass or a registered container.

The class is that of the parameter's annotation, or of `type = "module:Class"` in the table.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from olympus.errors import SpecError
from olympus_cli.faults.advice import described
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.target_table import with_line
from olympus_cli.text.nearest import did_you_mean

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class ArgumentPart(NamedTuple):
    """A part of an argument: its keys in `args`, the annotation of its value, and the target."""

    spec: TargetSpec
    keys: tuple[str, ...]
    kind: Any = Any

    def at(self, key: object, kind: Any) -> ArgumentPart:
        """Return a part of this one."""
        return self._replace(keys=(*self.keys, str(key)), kind=kind)

    def item(self, key: str | int) -> ArgumentPart:
        """Return an item of a dict, a list or a tuple."""
        return self.at(key, item_kind(self.kind, key))

    def fail(self, message: str, hint: str | None = None, key: str | None = None) -> NoReturn:
        """Raise SpecError about the part, or about its `key`, with the line in olympus.toml."""
        keys = self.keys if key is None else (*self.keys, key)
        error = SpecError(f"argument {'.'.join(self.keys)} {message}", hint=hint)
        raise with_line(error, self.spec, "args", *keys)


def container_class(kind: Any) -> type | None:
    """Return the class of an annotation whose objects have fields; None for any other annotation.

    It is the only such class of a union.

    Example: `container_class(State | None)` is `State`, a named tuple.
    """
    classes = [option for option in _alternatives(kind) if _has_fields(option)]
    return classes[0] if len(classes) == 1 else None


def _alternatives(kind: Any) -> list[Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _alternatives(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [option for argument in arguments for option in _alternatives(argument)]
    return [origin if isinstance(origin, type) and _has_fields(origin) else kind]


def _has_fields(kind: Any) -> bool:
    if not isinstance(kind, type):
        return False
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_named_tuple or dataclasses.is_dataclass(kind) or hasattr(kind, "tree_flatten")


def item_kind(kind: Any, key: str | int) -> Any:
    """Return the annotation of an item of a dict, a list or a tuple.

    >>> item_kind(dict[str, int], "w"), item_kind(tuple[int, float], 1)
    (<class 'int'>, <class 'float'>)
    """
    for option in _alternatives(kind):
        origin, arguments = typing.get_origin(option), typing.get_args(option)
        if isinstance(key, str):
            if typing.is_typeddict(option):
                return _hints(option).get(key, Any)
            if len(arguments) == 2 and isinstance(origin, type) and issubclass(origin, Mapping):
                return arguments[1]
        elif origin is tuple and Ellipsis not in arguments:
            if key < len(arguments):
                return arguments[key]
        elif arguments and isinstance(origin, type) and not issubclass(origin, Mapping):
            return arguments[0]
    return Any


def container(
    cls: type,
    parts: Mapping[str, Any],
    part: ArgumentPart,
    tree_of: Callable[[Any, ArgumentPart], Any],
    is_leaf: Callable[[Any], bool],
) -> Any:
    """Return the object of `cls` with the fields `parts`, each converted by `tree_of`.

    `is_leaf` returns True for an object that is not a container of arrays.

    Raises:
        SpecError: a field is unknown or missing, the class refuses the values, or it is not a
            container.
    """
    fields = _fields(cls, part)
    name = cls.__qualname__
    for key in parts:
        if key not in fields:
            hint = did_you_mean(key, fields, "its fields are")
            part.fail(f"has {key!r}, which is not a field of {name}", hint, key)
    if missing := [key for key, needed in fields.items() if needed and key not in parts]:
        hint = f'write {missing[0]} = "f32[8]", or {{ from = "module:init" }} for the argument'
        names = ", ".join(map(repr, missing))
        part.fail(f"lacks {names}, which {name} needs", hint)
    hints = _hints(cls)
    values = {
        key: tree_of(value, part.at(key, hints.get(key, Any))) for key, value in parts.items()
    }
    try:
        result = cls(**values)
    except Exception as error:  # raised by the user's own checks
        part.fail(
            f"is refused by {name}: {described(error)}",
            'write { from = "module:init" }, a function that returns the argument',
        )
    if is_leaf(result):
        hint = f"register {name} as a container: @olympus.tree_util.register_dataclass"
        part.fail(f"is a table for {name}, which is not a container of arrays", hint)
    return result


def _fields(cls: type, part: ArgumentPart) -> dict[str, bool]:
    """Return the fields of a class by name, True if required."""
    if dataclasses.is_dataclass(cls):
        none = dataclasses.MISSING
        return {
            field.name: field.default is none and field.default_factory is none
            for field in dataclasses.fields(cls)
            if field.init
        }
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        defaults = getattr(cls, "_field_defaults", {})
        return {name: name not in defaults for name in cls._fields}
    try:
        parameters = inspect.signature(cls).parameters
    except (TypeError, ValueError):  # a built-in without a signature
        part.fail(f"is a table for {cls.__qualname__}, whose fields are not known")
    return {
        name: parameter.default is inspect.Parameter.empty
        for name, parameter in parameters.items()
        if parameter.kind not in _VARIADIC
    }


def _hints(cls: Any) -> dict[str, Any]:
    """Return the annotations of the fields, or of the constructor, that can be evaluated."""
    hints: dict[str, Any] = {}
    for owner in reversed(inspect.getmro(cls)):
        hints |= _evaluated(owner, getattr(sys.modules.get(owner.__module__), "__dict__", {}))
    return hints or _evaluated(cls.__init__, getattr(cls.__init__, "__globals__", {}))


def _evaluated(owner: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    hints = {}
    for name, text in inspect.get_annotations(owner).items():
        if isinstance(text, typing.ForwardRef):  # of a named tuple
            text = text.__forward_arg__
        with suppress(Exception):  # a name that only type checkers import, for example
            hints[name] = eval(text, dict(names)) if isinstance(text, str) else text
    return hints
