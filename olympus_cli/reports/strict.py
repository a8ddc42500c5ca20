"""Reading JSON that anyone may have written, as checked objects.

Nothing but a regular file is opened, nothing larger than a limit is read, and every value must have
the type that its dataclass declares.  A damaged or crafted file is an error that
describes the problem.  It cannot make a command hang, and it cannot name a file outside its folder.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from olympus import files
from olympus.errors import ArtifactError
from olympus_cli.text.places import display_path

_MOST_BYTES = 64 * 2**20
_LARGEST = 10**30  # the flops of a large training run do not fit 64 bits


class NewerSchema(ArtifactError):
    """Raised for a document that a newer version of OLYMPUS wrote."""


class OlderSchema(ArtifactError):
    """Raised for a file of an earlier version of a schema."""


@contextmanager
def open_regular(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file to read; OSError for a link, a device or a pipe, without waiting."""
    with files.open_regular(path, follow_links=False) as file:
        yield file


def read_json(path: Path, version: int, accepted: Collection[int] = ()) -> dict[str, Any]:
    """The JSON object in a file whose `schema_version` is `version`, without that key.

    `accepted` are earlier versions that the caller reads too.

    Raises:
        NewerSchema: the version is a later one.
        OlderSchema: the version is an earlier one.
        ArtifactError: the file cannot be read, is too large, or does not hold such an object.
    """
    try:
        content = files.read_regular(path, _MOST_BYTES, follow_links=False)
    except FileNotFoundError as error:
        raise ArtifactError(f"{display_path(path)} is missing") from error
    except OSError as error:
        raise ArtifactError(f"{display_path(path)} cannot be read: {error.strerror}") from error
    if not content.strip():
        raise ArtifactError(f"{display_path(path)} is empty")
    try:
        data = json.loads(content, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{display_path(path)} is not JSON that can be read: {error}"
        ) from error
    found = data.pop("schema_version", None) if isinstance(data, dict) else None
    if type(found) is not int or not 0 <= found <= _LARGEST:
        raise ArtifactError(f"{display_path(path)} has no schema version")
    if found != version and found not in accepted:
        kind, age = (NewerSchema, "a newer") if found > version else (OlderSchema, "an older")
        raise kind(
            f"{display_path(path)} has schema {found}, of {age} olympus; this one reads {version}"
        )
    return typing.cast("dict[str, Any]", data)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON")


def is_inside(path: str) -> bool:
    """Return True if `path` is the shortest relative path of something inside a folder.

    Example: `is_inside("cpu/executable.bin")`, and not `is_inside("../x")`.
    """
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") for part in parts)


def typed(value: object, kind: Any, where: str = "") -> Any:
    """`value`, which is JSON-like, as the type `kind`; records are made of objects.

    `kind` may be a dataclass, a NamedTuple, `str`, `bool`, `int` and `float` (neither negative), a
    tuple of any length, a Mapping from `str`, a Literal of texts, or any of them or None.  `where`
    is the place of the value.

    Raises:
        ValueError: the value has another type; the message names the place.

    Example: `typed({"path": "a", ...}, OutputFile)` is an `OutputFile`.
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        (only,) = (part for part in parts if part is not type(None))
        return None if value is None else typed(value, only, where)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _made(_object(value, where), kind, where)
    if origin is typing.Literal:
        if value not in parts:
            raise ValueError(f"{where} is not one of {', '.join(map(str, parts))}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where} is not an array")
        return tuple(typed(each, parts[0], f"{where}[{i}]") for i, each in enumerate(value))
    if origin is not None:
        items = _object(value, where).items()
        return {name: typed(each, parts[1], f"{where}.{name}") for name, each in items}
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise ValueError(f"{where} is not {_CALLED[kind]}")
    if kind in (int, float) and not 0 <= typing.cast("float", value) <= _LIMITS[kind]:
        raise ValueError(f"{where} is out of range")
    return value


_CALLED = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
_LIMITS = {int: _LARGEST, float: math.nextafter(math.inf, 0)}


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'the document'} is not an object")
    return value


def check_keys(value: Mapping[str, object], keys: Collection[str], where: str) -> None:
    """Raise ValueError unless `value`, which is at `where`, has `keys` and no others."""
    if wrong := sorted(set(keys) ^ value.keys()):
        missing = wrong[0] in keys
        raise ValueError(f"{where or 'the document'} {_KEY[missing]} {wrong[0]!r}")


def _made(value: Mapping[str, object], kind: Any, where: str) -> Any:
    hints = _hints(kind)
    check_keys(value, hints, where)
    prefix = where and f"{where}."
    return kind(**{name: typed(value[name], hint, prefix + name) for name, hint in hints.items()})


_KEY = {True: "lacks the key", False: "has the unknown key"}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    found = typing.get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    return {name: found[name] for name in names}
