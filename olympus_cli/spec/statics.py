"""Static arguments: reading the texts of `--static NAME=VALUE`.

A value is TOML, so that `1`, `1.0`, `true` and `"1"` differ as they do in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from olympus.errors import SpecError
from olympus_cli.spec.toml import OutOfBounds, parse_value

__all__ = ["parse_statics", "unhashable"]

_STATIC = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_PYTHON = {"True": "true", "False": "false"}


def parse_statics(texts: Iterable[str]) -> dict[str, object]:
    """The statics of some `NAME=VALUE` texts, in their order.

    Raises:
        SpecError: no NAME=VALUE, a value that is not TOML, an unhashable one, a name given twice.

    Example: `parse_statics(["train=false", "n=3"]) == {"train": False, "n": 3}`.
    """
    statics: dict[str, object] = {}
    for text in texts:
        found = _STATIC.fullmatch(text)
        if found is None:
            raise SpecError(f"--static {text!r} is not NAME=VALUE", hint="such as --static n=3")
        name, value = found.group(1), found.group(2).strip()
        if name in statics:
            raise SpecError(f"static argument {name!r} is given twice")
        statics[name] = _value(name, value)
        if why := unhashable(name, statics[name]):
            raise SpecError(why, hint=HASHABLE)
    return statics


#: What to do about an unhashable static.
HASHABLE = "a static is a number, a boolean, a string or a date; give the parts as statics each"


def unhashable(name: str, value: object) -> str | None:
    """Why `value` cannot be static, or None: a static is part of the key of what is built."""
    try:
        hash(value)
    except TypeError:
        kind = "a table" if isinstance(value, dict) else "an array"
        return f"static argument {name!r} is {kind} ({value!r}), which is not hashable"
    return None


def _value(name: str, text: str) -> object:
    try:
        return parse_value(text)
    except OutOfBounds as error:
        raise SpecError(f"static argument {name!r} is wrong: {error.msg}") from error
    except ValueError as error:
        raise SpecError(
            f"static argument {name!r}: {text!r} is not a TOML value", hint=_hint(name, text)
        ) from error


def _hint(name: str, text: str) -> str:
    if text in _PYTHON:
        return f"TOML writes {_PYTHON[text]}: --static {name}={_PYTHON[text]}"
    bare = text.strip("\"'")
    return f"a string is quoted, once for the shell and once for TOML: --static '{name}=\"{bare}\"'"
