"""Records as JSON data, and the reader of such data, which anyone may have written.

`to_data` makes JSON-like data of a dataclass or a NamedTuple, and `typed` checks such data and
makes the record again: every value must have the type that the record declares, and no key may be
missing or unknown. A damaged or crafted document is an error that names the part.

The keys of a record are its fields, in their order. For other keys, a mapping from the record's
type to its *form*, `{key: attribute}`, is passed to both functions. A key of a property is written,
and its value is ignored when it is read.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import numpy as np

from olympus_bundle.errors import DataError
from olympus_core.base import dtypes
from olympus_core.base.errors import DTypeError, InternalError

#: The keys of records that differ from their fields: by type, attributes by key.
Forms = Mapping[type, Mapping[str, str]]

#: A number of any sign and size, or a bool; an infinite, NaN or complex one is its text.
Number = typing.NewType("Number", object)

_AS_DECLARED: Forms = types.MappingProxyType({})
_LARGEST = 10**30  # the flops of a large training run do not fit 64 bits
_PLAIN = frozenset([str, int, float, bool, bytes, type(None)])
_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    bytes: "bytes",  # in data for another process: JSON has none
}
_NOT_FINITE = ("inf", "-inf", "nan")
_LIMITS = {int: _LARGEST, float: math.nextafter(math.inf, 0)}


def to_data(value: Any, forms: Forms = _AS_DECLARED) -> Any:
    """Return JSON-like data of a record, or of a sequence or a mapping of records.

    Raises:
      InternalError: a part of it is neither a record nor data.

    >>> to_data(LineBytes("model.py:12", 64))
    {'line': 'model.py:12', 'bytes': 64}
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if attributes := form_of(kind, forms):
        data = {}
        for key, name in attributes.items():
            part = getattr(value, name)
            data[key] = part if type(part) in _PLAIN else to_data(part, forms)
        return data
    if isinstance(value, np.dtype):
        return dtypes.long_name(value)
    if isinstance(value, list | tuple):
        return [to_data(part, forms) for part in value]
    if isinstance(value, Mapping):
        return {key: to_data(part, forms) for key, part in value.items()}
    raise InternalError(f"a {kind.__name__} is not data: {value!r:.80}")


def typed(value: object, kind: Any, where: str = "", forms: Forms = _AS_DECLARED) -> Any:
    """Return JSON-like data as the type `kind`; an object becomes a record.

    `kind` may be a dataclass, a NamedTuple, `str`, `bool`, `bytes`, `int` and `float` (neither
    negative), `Number`, a dtype, a tuple of any length, a Mapping from `str`, a Literal of texts,
    or any of them or None. `where` is the place of the value.

    Raises:
      DataError: the value has another type; the message names the place.

    >>> typed({"line": "model.py:12", "bytes": 64}, LineBytes)
    LineBytes(line='model.py:12', bytes=64)
    """
    if kind is str and type(value) is str:  # most values
        return value
    is_of_record, origin, parts = _parts_of(kind)
    if is_of_record:
        return _record(_object(value, where), kind, where, forms)
    if kind is Number:
        if not _is_number(value):
            raise DataError(f"{where} is not a number")
        return value
    if origin in (types.UnionType, typing.Union):
        (only,) = (part for part in parts if part is not type(None))
        return None if value is None else typed(value, only, where, forms)
    if origin is typing.Literal:
        if value not in parts:
            raise DataError(f"{where} is not one of {', '.join(map(str, parts))}")
        return value
    if origin is np.dtype:
        return _dtype(typed(value, str, where), where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise DataError(f"{where} is not an array")
        return tuple(typed(part, parts[0], f"{where}[{i}]", forms) for i, part in enumerate(value))
    if origin is not None:
        items = _object(value, where).items()
        return {name: typed(part, parts[1], f"{where}.{name}", forms) for name, part in items}
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise DataError(f"{where} is not {_NAMES[kind]}")
    if kind in (int, float) and not 0 <= typing.cast("float", value) <= _LIMITS[kind]:
        raise DataError(f"{where} is out of range")
    return value


@cache
def _parts_of(kind: Any) -> tuple[bool, Any, tuple[Any, ...]]:
    """Return True for the type of a record, the origin of a generic type and its arguments."""
    return is_record(kind), typing.get_origin(kind), typing.get_args(kind)


def number(value: complex) -> Number:
    """Return any number or bool as JSON data: text if it is infinite, NaN or complex.

    >>> number(-1.5), number(math.inf)
    (-1.5, 'inf')
    """
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return Number(str(value))
    return Number(value)


def _is_number(value: object) -> bool:
    """Return True for data that `number` returns."""
    if type(value) is not str:
        return type(value) in (bool, int) or (type(value) is float and math.isfinite(value))
    try:
        return value in _NOT_FINITE or str(complex(value)) == value
    except ValueError:
        return False


def _dtype(name: str, where: str) -> dtypes.DType:
    try:
        return dtypes.dtype(name)
    except DTypeError as error:
        raise DataError(f"{where} is not the name of a dtype") from error


def form(*keys: str, **attributes: str) -> dict[str, str]:
    """Return the form of a record with `keys`; those in `attributes` have others than their own.

    >>> form("flops", "seconds", seconds="estimated")
    {'flops': 'flops', 'seconds': 'estimated'}
    """
    return {key: attributes.get(key, key) for key in keys}


def form_of(kind: Any, forms: Forms) -> Mapping[str, str]:
    """Return the attributes of a record by key; empty for a type that is not a record.

    >>> form_of(LineBytes, {LineBytes: form("line", "bytes", bytes="size")})
    {'line': 'line', 'bytes': 'size'}
    """
    return forms.get(kind) or _fields_by_name(kind)


def check_keys(value: Mapping[str, object], keys: Collection[str], where: str) -> None:
    """Raise DataError unless `value`, which is at `where`, has `keys` and no others.

    >>> check_keys({"flops": 128}, ["flops", "bytes"], "the cost")
    Traceback (most recent call last):
      ...
    olympus_bundle.errors.DataError: the cost lacks the key 'bytes'
    """
    if wrong := sorted(set(keys) ^ value.keys()):
        problem = "lacks the key" if wrong[0] in keys else "has the unknown key"
        raise DataError(f"{where or 'the document'} {problem} {wrong[0]!r}")


def is_record(kind: Any) -> bool:
    """Return True for a dataclass or a NamedTuple type.

    >>> is_record(LineBytes), is_record(dict)
    (True, False)
    """
    return hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")


@cache
def remember_types(kind: Any) -> None:
    """Find once what `typed` and `to_data` need of a type and of its parts.

    >>> remember_types(LineBytes)
    """
    is_of_record, _, parts = _parts_of(kind)
    _fields_by_name(kind)
    if is_of_record:
        parts = tuple(_field_types(kind).values())
    for part in parts:
        remember_types(part)


def field_types(kind: Any) -> Mapping[str, Any]:
    """Return the types of a record's fields by name, in their order.

    >>> dict(field_types(LineBytes))
    {'line': str | None, 'bytes': <class 'int'>}
    """
    return _field_types(kind)


@cache
def _field_types(kind: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return types.MappingProxyType({name: hints[name] for name in _field_names(kind)})


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(getattr(kind, "__dataclass_fields__", None) or kind._fields)


@cache
def _fields_by_name(kind: Any) -> Mapping[str, str]:
    """Return the fields of a record, each as its own key; empty for another type."""
    return {name: name for name in _field_names(kind)} if is_record(kind) else {}


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{where or 'the document'} is not an object")
    return value


def _record(value: Mapping[str, object], kind: Any, where: str, forms: Forms) -> Any:
    attributes = form_of(kind, forms)
    hints, prefix = _field_types(kind), where and f"{where}."
    check_keys(value, attributes, where)
    record = kind(
        **{
            name: typed(value[key], hints[name], prefix + key, forms)
            for key, name in attributes.items()
            if name in hints
        }
    )
    for key, name in attributes.items():
        if name not in hints and value[key] != getattr(record, name):
            raise DataError(f"{prefix}{key} is not {getattr(record, name)!r:.80}")
    return record
