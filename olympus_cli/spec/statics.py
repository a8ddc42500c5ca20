"""Static arguments: the parser of `--static NAME=VALUE`.

A value is TOML, so that `1`, `1.0`, `true` and `"1"` differ as they do in Python.  A table or an
array becomes a `StaticSource`, and its value is created when the program is imported.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from olympus.errors import SpecError
from olympus_cli.spec.project_source import read_project
from olympus_cli.spec.toml import OutOfBounds, parse_value

_STATIC = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_ENTRY = re.compile(r"[\w./-]+:[\w.]+")
# A string in quotes, or a word that is not a key.
_VALUE = re.compile(r"""\"[^\"]*\"|'[^']*'|(?<![\w.:/+-])[A-Za-z_./][\w.:/-]*+(?!\s*=)""")
_WORDS = ("true", "false", "inf", "nan")
_PYTHON = {"True": "true", "False": "false"}


def parse_statics(texts: Iterable[str]) -> dict[str, object]:
    """Return the statics of `NAME=VALUE` texts, in order.

    Raises:
        SpecError: a text is not NAME=VALUE, a value is not TOML, or a name is given twice.

    Example: `parse_statics(["train=false", "n=3"]) == {"train": False, "n": 3}`.
    """
    statics: dict[str, object] = {}
    for text in texts:
        match = _STATIC.fullmatch(text)
        if match is None:
            raise SpecError(f"--static {text!r} must be NAME=VALUE", hint="such as --static n=3")
        name, value = match.group(1), match.group(2).strip()
        if name in statics:
            raise SpecError(f"static argument {name!r} is given twice")
        statics[name] = static_of(_value(name, value), None, (name,))
    return statics


@dataclass(frozen=True)
class StaticSource:
    """A static with a Python value that is created from a TOML table or array, or by an entry.

    `file` is the file of the project with the value at `keys`; None for a value of the command
    line.
    """

    value: dict[str, Any] | list[Any]
    file: Path | None
    keys: tuple[str, ...]

    @property
    def entry(self) -> str | None:
        """The entry of `{ from = "module:name" }`; None for any other table or array."""
        entry = self.value.get("from") if isinstance(self.value, dict) else None
        has_form = isinstance(entry, str) and _ENTRY.fullmatch(entry) and len(self.value) == 1
        return entry if has_form else None

    def fail(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the part at `keys` of the value, with its line in the file."""
        path = (*self.keys, *keys)
        if self.file is None:
            raise SpecError(f"--static {'.'.join(path)} {message}", hint=hint)
        source = read_project(self.file)
        source.fail(path, f"{'.'.join(source.named(path))} {message}", hint)


def static_of(value: object, file: Path | None, keys: tuple[str, ...]) -> object:
    """Return the value of a static, or its source for a table or an array.

    `file` and `keys` are its location.
    """
    return StaticSource(value, file, keys) if isinstance(value, dict | list) else value


def _value(name: str, text: str) -> object:
    try:
        return parse_value(text)
    except OutOfBounds as error:
        raise SpecError(f"static argument {name!r} is invalid: {error.msg}") from error
    except ValueError as error:
        raise SpecError(
            f"static argument {name!r}: {text!r} is not a TOML value", hint=_hint(name, text)
        ) from error


def _hint(name: str, text: str) -> str:
    if text in _PYTHON:
        return f"TOML writes {_PYTHON[text]}: --static {name}={_PYTHON[text]}"
    if text[:1] in ("{", "["):
        return _table_hint(name, text)
    bare = text.strip("\"'")
    return f"a string is quoted, once for the shell and once for TOML: --static '{name}=\"{bare}\"'"


def _table_hint(name: str, text: str) -> str:
    """Return a hint with the strings of a table or an array in quotes, or an example of a table."""

    def quoted(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] in "\"'" or word in _WORDS:
            return word
        return _PYTHON.get(word, f'"{word}"')

    written = _VALUE.sub(quoted, text)
    try:
        parse_value(written)
    except ValueError:
        written = '{n = 3, name = "text"}'
        return f"such as --static {shlex.quote(f'{name}={written}')}"
    return f"a string is quoted in TOML: --static {shlex.quote(f'{name}={written}')}"
