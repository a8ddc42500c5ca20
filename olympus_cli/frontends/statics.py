"""Static arguments that are computed when the program is imported.

`{ from = "module:NAME" }` is the value of a module's attribute, or the result of a function without
arguments. A table becomes the dataclass or named tuple of the parameter's annotation, an array a
tuple, and a string a member of an enum.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from olympus.errors import SpecError
from olympus_cli.faults.advice import described
from olympus_cli.faults.blame import blaming, defined_at
from olympus_cli.frontends.importing import load_value, visiting
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.statics import StaticSource
from olympus_cli.spec.target_table import at_key, form_of
from olympus_cli.text.nearest import did_you_mean

_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-fA-F]+[^<>]*>")
_TOML = {str: "a string", bool: "a boolean", int: "a whole number", float: "a number"}
#: An example of a TOML value for each class.
_EXAMPLES: Mapping[Any, str] = {str: '"text"', bool: "true", int: "3", float: "0.5"}
_FROZEN = "declare it with @dataclass(frozen=True), and its fields with hashable types"


def with_statics(
    function: Callable[..., Any], signature: inspect.Signature, spec: TargetSpec
) -> TargetSpec:
    """Return the target with the Python value of each static that comes from a table or an entry.

    Raises:
        EntryError: an entry cannot be found or imported.
        SpecError: a table does not fit the annotation, or a value cannot be static.
        TraceError: the function of an entry failed.
    """
    values: dict[str, object] = {}
    for name, value in spec.static.items():
        with at_key(spec, "static", name):
            values[name] = _static_value(name, value, function, signature, spec)
    return dataclasses.replace(spec, static=values)


def static_text(value: object) -> str:
    """Return the Python text of a static, equal in every process: members of sets are sorted.

    >>> static_text((1, frozenset({"b", "a"})))
    "(1, frozenset({'a', 'b'}))"
    """
    if isinstance(value, frozenset) and value:
        return f"{type(value).__name__}({{{', '.join(sorted(map(static_text, value)))}}})"
    if type(value) is tuple:
        parts = ", ".join(map(static_text, value))
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    if _has_plain_repr(value):
        fields = (f for f in dataclasses.fields(value) if f.repr)  # type: ignore[arg-type]
        parts = ", ".join(f"{f.name}={static_text(getattr(value, f.name))}" for f in fields)
        return f"{type(value).__qualname__}({parts})"
    return repr(value)


def _has_plain_repr(value: object) -> bool:
    """Return True if the text of a value is the one that `dataclass` generates."""
    params = getattr(type(value), "__dataclass_params__", None)
    return params is not None and params.repr and "__repr__" in vars(type(value))


class _Place(NamedTuple):
    """A part of a static, for messages: its source and its keys in it."""

    source: StaticSource
    keys: tuple[str, ...] = ()

    def at(self, key: object) -> _Place:
        """Return the place of a part of this one."""
        return self._replace(keys=(*self.keys, str(key)))

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the part."""
        self.source.fail(self.keys, message, hint)


def _static_value(
    name: str,
    value: object,
    function: Callable[..., Any],
    signature: inspect.Signature,
    spec: TargetSpec,
) -> object:
    kind = annotation(name, function, signature)
    if not isinstance(value, StaticSource):
        _check_scalar(name, value, kind, spec)
        is_name = isinstance(value, str) and isinstance(kind, enum.EnumMeta)
        return _member(value, kind, None) if is_name else value
    place = _Place(value)
    if value.entry is None:
        _check_reference(value.value, place)
        result = _converted(value.value, kind, place)
    else:
        result = _from_entry(value.entry, place, spec)
    _check(result, place)
    return result


def _check_scalar(name: str, value: object, kind: Any, spec: TargetSpec) -> None:
    """Raise SpecError for a scalar if the annotation needs a table or an array."""
    kinds = _alternatives(kind)
    needed = [option for option in kinds if _is_tuple(option) or _is_table(option)]
    if not needed or len(needed) < len([option for option in kinds if option is not type(None)]):
        return
    if any(isinstance(value, typing.get_origin(option) or option) for option in needed):
        return
    examples = [form for option in needed if (form := _example(option))]
    hint = f"write {form_of(spec, 'static', name, examples[0])}" if examples else None
    forms = " or ".join("an array" if _is_tuple(option) else _spoken(option) for option in needed)
    raise SpecError(f"static argument {name!r} must be {forms}; got {value!r}", hint=hint)


def _alternatives(kind: Any) -> list[Any]:
    """Return the members of a union, or the annotation itself."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _alternatives(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [alternative for argument in arguments for alternative in _alternatives(argument)]
    return [kind]


def _is_tuple(kind: Any) -> bool:
    return kind is tuple or typing.get_origin(kind) is tuple


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and _fields(kind) is not None


def _example(kind: Any) -> str | None:
    """Return an example of the class in TOML; None if a part of it is not a plain TOML value."""
    if _is_tuple(kind):
        parts = typing.get_args(kind)
        values = [_EXAMPLES.get(part) for part in (parts[:1] * 2 if ... in parts else parts)]
        return f"[{', '.join(map(str, values))}]" if values and None not in values else None
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # a name that only type checkers import, for example
        return None
    fields = _fields(kind) or {}
    names = [name for name, needed in fields.items() if needed] or list(fields)[:1]
    values = [_EXAMPLES.get(hints.get(name)) for name in names]
    if not values or None in values:
        return None
    return f"{{ {', '.join(map(' = '.join, zip(names, map(str, values), strict=True)))} }}"


def _check_reference(value: Any, place: _Place) -> None:
    """Raise SpecError for a table with the key `from` that is not `{ from = "module:NAME" }`.

    A field of a dataclass or named tuple cannot have this name, because it is a Python keyword.
    """
    if not isinstance(value, dict) or "from" not in value:
        return
    hint = 'write { from = "module:NAME" } or { from = "path/file.py:NAME" }'
    for key in value:
        if key != "from":
            place.at(key).fail("is beside the key 'from', which takes no other key", hint)
    place.at("from").fail(f'must be a text "module:NAME"; got {value["from"]!r:.80}', hint)


def _from_entry(entry: str, place: _Place, spec: TargetSpec) -> object:
    with visiting():
        value = load_value(entry, spec.root, spec.python_path, spec.checkout)
    if not (inspect.isroutine(value) or inspect.isclass(value) or _is_partial(value)):
        return value
    try:
        inspect.signature(value).bind()
    except TypeError as error:
        place.fail(
            f"is from {entry}, which needs arguments: {error}",
            "name a value, or a function without arguments",
        )
    except ValueError:  # a built-in that has no signature
        pass
    name = str(getattr(value, "__qualname__", entry))
    with blaming(name, defined_at(value), "it made a static"):
        return value()


def _is_partial(value: object) -> bool:
    return isinstance(value, functools.partial)


def _check(value: object, place: _Place) -> None:
    """Raise SpecError for a value that is not hashable, or whose text differs between processes."""
    kind = type(value).__qualname__
    try:
        hash(value)
    except TypeError as error:
        hint = _FROZEN if dataclasses.is_dataclass(value) else "such as a tuple, not a list"
        place.fail(f"is a value of type {kind}, and a static is hashable: {error}", hint)
    if address := _ADDRESS.search(static_text(value)):
        place.fail(
            f"is a value of type {kind} with the text {address[0]}, and the key of a build has the "
            "text of each static: an address in it is another in every process",
            f"define __repr__ of {kind}, or of the object in it, with the values that matter",
        )


def annotation(name: str, function: Callable[..., Any], signature: inspect.Signature) -> Any:
    """Return the annotation of a parameter as an object; `Any` if it cannot be evaluated."""
    parameter = signature.parameters.get(name)
    if parameter is None or parameter.annotation is inspect.Parameter.empty:
        return Any
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    while isinstance(function, functools.partial):
        function = function.func
    names = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return eval(parameter.annotation, names)  # in the namespace of the user's module
    except Exception:  # a name that only type checkers import, for example
        return Any


def _converted(value: Any, kind: Any, place: _Place) -> Any:
    """Return the TOML `value` as an object of the annotation `kind`."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _converted(value, arguments[0], place)
    if origin in (typing.Union, types.UnionType):
        return _of_union(value, arguments, place)
    if origin is typing.Literal:
        if not any(value == argument and type(value) is type(argument) for argument in arguments):
            place.fail(f"must be {' or '.join(map(repr, arguments))}; got {value!r}")
        return value
    if kind is tuple or origin is tuple:
        return _tuple(value, arguments, place)
    if isinstance(value, dict) and isinstance(kind, type) and _fields(kind) is not None:
        return _object(value, kind, place)
    if isinstance(kind, enum.EnumMeta):
        return _member(value, kind, place)
    return _plain(value, kind, place)


def _plain(value: Any, kind: Any, place: _Place) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    is_table = isinstance(value, dict | list)
    if kind is Any and not is_table:
        return value
    is_number_only = isinstance(value, bool) and kind in (int, float)
    if isinstance(kind, type) and not is_table and isinstance(value, kind) and not is_number_only:
        return value
    got = "a table" if isinstance(value, dict) else "an array" if is_table else "the value"
    if kind is Any:
        place.fail(
            f"is {got} {value!r}, and its parameter has no annotation for one",
            "annotate the parameter with a dataclass for a table, with tuple[...] for an array, "
            'or write { from = "module:NAME" }',
        )
    place.fail(f"must be {_spoken(kind)}; got {got} {value!r}")


def _of_union(value: Any, kinds: Sequence[Any], place: _Place) -> Any:
    tables = [kind for kind in kinds if isinstance(kind, type) and _fields(kind) is not None]
    if isinstance(value, dict) and len(tables) == 1:
        return _converted(value, tables[0], place)
    kinds = [kind for kind in kinds if kind is not type(None)]  # TOML has no value for it
    exact = [kind for kind in kinds if kind is type(value)]
    for kind in exact or kinds:
        try:
            return _converted(value, kind, place)
        except SpecError:
            continue
    place.fail(f"must be {' or '.join(map(_spoken, kinds))}; got {value!r}")


def _tuple(value: Any, kinds: Sequence[Any], place: _Place) -> tuple[Any, ...]:
    if not isinstance(value, list):
        place.fail(f"must be an array; got {value!r}")
    if not kinds or kinds[-1] is Ellipsis:
        kinds = [kinds[0] if kinds else Any] * len(value)
    if kinds == ((),) or len(kinds) != len(value):
        place.fail(f"must be an array of {len(kinds)} values; got {len(value)}")
    return tuple(
        _converted(item, kind, place.at(i))
        for i, (item, kind) in enumerate(zip(value, kinds, strict=True))
    )


def _fields(kind: type) -> Mapping[str, bool] | None:
    """Return the fields of a dataclass or named tuple, True if required; None for other classes."""
    if dataclasses.is_dataclass(kind):
        none = dataclasses.MISSING
        return {
            field.name: field.default is none and field.default_factory is none
            for field in dataclasses.fields(kind)
            if field.init
        }
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        defaults = getattr(kind, "_field_defaults", {})
        return {name: name not in defaults for name in kind._fields}
    return None


def _object(value: dict[str, Any], kind: type, place: _Place) -> Any:
    fields = _fields(kind) or {}
    name = kind.__qualname__
    for key in value:
        if key not in fields:
            hint = did_you_mean(key, fields, "its fields are")
            place.at(key).fail(f"is not a field of {name}", hint)
    if missing := [key for key, needed in fields.items() if needed and key not in value]:
        place.fail(
            f"has no value for {', '.join(map(repr, missing))}, and {name} needs "
            f"{'them' if len(missing) > 1 else 'it'}",
            f"write {missing[0]} = ... in the table, or give the field a default",
        )
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:  # a name that only type checkers import, for example
        place.fail(f"is a {name}, whose annotations cannot be evaluated: {described(error)}")
    arguments = {k: _converted(item, hints.get(k, Any), place.at(k)) for k, item in value.items()}
    try:
        return kind(**arguments)
    except (ValueError, TypeError) as error:  # raised by its own checks
        place.fail(f"is refused by {name}: {described(error)}")


def _member(value: Any, kind: enum.EnumMeta, place: _Place | None) -> Any:
    members: dict[str, Any] = {**kind.__members__}
    if isinstance(value, str) and value in members:
        return members[value]
    for member in members.values():
        if type(member.value) is type(value) and member.value == value:
            return member
    if place is None:
        return value
    hint = did_you_mean(str(value), members, "its members are")
    place.fail(f"is {value!r}, which is no member of {kind.__qualname__}", hint)


def _spoken(kind: Any) -> str:
    if kind in _TOML:
        return _TOML[kind]
    if isinstance(kind, type) and _fields(kind) is not None:
        return f"a table with the fields of {kind.__qualname__}"
    return str(getattr(kind, "__qualname__", kind))
