"""Paths in records, relative to the project's folder or moved to another folder."""

from __future__ import annotations

import os
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from olympus.files import path_text

_R = TypeVar("_R")


def relative(record: _R, root: Path) -> _R:
    """Return a record with the paths below `root` in its texts relative to `root`.

    The record is a dataclass, a NamedTuple, a text, or a tuple of them; other values in it are
    unchanged. A path is at the start of a text, or after a blank in a sentence.

    >>> relative(Unknown("loop", "/home/me/model.py:12", "its count is unknown"), Path("/home/me"))
    Unknown(what='loop', line='model.py:12', why='its count is unknown')
    """
    return cast("_R", _moved(record, f"{path_text(root)}{os.sep}", ""))


def moved(record: _R, old: Path, new: Path) -> _R:
    """Return a record with the paths below folder `old` replaced by those below `new`.

    Records and paths are as in `relative`.
    """
    return cast("_R", _moved(record, *(f"{path_text(folder)}{os.sep}" for folder in (old, new))))


def _moved(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        if old not in value:
            return value
        if value.startswith(old):
            value = new + value.removeprefix(old)
        return value.replace(f" {old}", f" {new}")
    if isinstance(value, tuple):
        parts = [_moved(part, old, new) for part in value]
        if all(part is before for part, before in zip(parts, value, strict=True)):
            return value
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for name in value.__dataclass_fields__:
            part = getattr(value, name)
            if (after := _moved(part, old, new)) is not part:
                changes[name] = after
        return replace(value, **changes) if changes else value
    return value
