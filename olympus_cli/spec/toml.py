"""TOML with places: a file's or an option's text enters, values leave, errors know their line.

tomli keeps no positions of keys, so `Source.line_of` finds a key's line by reading the text again;
it knows headers and plain keys, and answers with the nearest enclosing one for anything fancier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import tomli

from olympus.errors import SpecError
from olympus_cli.places import shown

__all__ = ["Source", "load", "parse_value"]

_HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?$")
_WORD = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_KEY = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


@dataclass(frozen=True)
class Source:
    """A TOML file: where it is, its text, and what it says."""

    path: Path
    text: str
    data: dict[str, object]

    def fail(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the value at `keys`, with file and line before the message."""
        raise SpecError(f"{shown(self.path)}:{self.line_of(keys)}: {message}", hint=hint)

    def line_of(self, keys: tuple[str, ...]) -> int:
        """The 1-based line that sets the key path `keys`, or the longest part of it found."""
        best, line = 0, 1
        header: tuple[str, ...] = ()
        for number, text in enumerate(self.text.splitlines(), start=1):
            if found := _HEADER.match(text):
                path = header = _parts(found.group(1))
            elif found := _KEY.match(text):
                path = header + _parts(found.group(1))
            else:
                continue
            if len(path) > best and path == keys[: len(path)]:
                best, line = len(path), number
        return line


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(dotted))


def load(path: Path) -> Source:
    """The TOML file at `path`.

    Raises:
        SpecError: it cannot be read, is no UTF-8, or has a syntax error (line, column, caret).
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise SpecError(f"{shown(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{shown(path)} is not UTF-8 text (byte {error.start})") from error
    try:
        return Source(path, text, tomli.loads(text))
    except tomli.TOMLDecodeError as error:
        raise SpecError(_syntax(shown(path), error)) from error
    except RecursionError as error:
        raise SpecError(f"{shown(path)} is nested too deeply to be read") from error


def _syntax(name: str, error: tomli.TOMLDecodeError) -> str:
    text = error.doc.rstrip("\r\n")  # what ends too early is pointed at where it ends
    before = text[: error.pos]
    row, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    line = text.split("\n")[row - 1].replace("\t", " ")
    return (
        f"{name}:{row}:{column}: not TOML: {error.msg} (line {row}, column {column})\n"
        f"  {line}\n  {' ' * (column - 1)}^"
    )


def parse_value(text: str) -> object:
    """The value that `text` is in TOML.  Raises ValueError for none, or for more than one."""
    try:
        data = tomli.loads(f"value = {text}")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if len(data) != 1:
        raise ValueError("more than one value")
    return data["value"]
