"""The reader of TOML in files and options, with errors that have the line of a key.

tomli does not record the positions of keys.  Therefore `TomlFile.line_of` searches the text for the
line of a key.  It recognizes headers and plain keys; for other forms it returns the line of the
nearest enclosing key.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import tomli

from olympus.errors import SpecError
from olympus.files import read_regular
from olympus_cli.text.paths import display_path

_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+\s*(?:#.*)?$")
_WORD = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_BARE = re.compile(r"[\w-]+", re.ASCII)
_KEY = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=")
# A run of digits, in any base, that is too long for a number; it may also be text or a name.
_MAX_DIGITS = 1000
_DIGITS = re.compile(rf"(?<![\w.])[+-]?(?:0[xob])?[0-9A-Fa-f_]{{{_MAX_DIGITS + 1},}}+(?![.\w])")
_TOO_LONG = "9" * 5000  # Python does not parse more than 4,300 digits

_MAX_BYTES = 16 * 2**20  # the size limit of a file

#: The maximum nesting depth of tables and arrays in a document: a larger one is a mistake.
_MAX_DEPTH = 200

# The beginnings of tomli's messages on a key or a table that a document sets twice.
_REPEATED = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Cannot redefine")

_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


class OutOfBounds(ValueError):
    """The error for a value at `pos` of `doc` that is valid TOML and exceeds a limit here."""

    def __init__(self, msg: str, doc: str, pos: int) -> None:
        super().__init__(msg)
        self.msg, self.doc, self.pos = msg, doc, pos


@dataclass(frozen=True)
class TomlFile:
    """A TOML file: its path, its text, and its parsed data."""

    path: Path
    text: str
    data: dict[str, object]

    def named(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the key path that a message has for the value at `keys`: the same."""
        return keys

    def fail(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about the value at `keys`, with file and line before the message."""
        raise SpecError(f"{display_path(self.path)}:{self.line_of(keys)}: {message}", hint=hint)

    def line_of(self, keys: tuple[str, ...]) -> int:
        """Return the 1-based line that sets the key path `keys`, or the longest prefix found."""
        best, line = 0, 1
        for number, path in _key_lines(self.text):
            common = min(len(path), len(keys))  # a header or a dotted key may be longer
            if common > best and path[:common] == keys[:common]:
                best, line = common, number
        return line


def _key_lines(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the 1-based lines that begin a table or set a key, each with the path of that key."""
    header: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _HEADER.match(line):
            header = _parts(match.group(1))
            yield number, header
        elif match := _KEY.match(line):
            yield number, header + _parts(match.group(1))


def _set_twice(text: str, row: int) -> str | None:
    """Return a message with the key that line `row` sets again and the earlier line, or None."""
    earlier = list(_key_lines("\n".join(text.splitlines()[:row])))
    if not earlier or earlier[-1][0] != row:
        return None
    _, path = earlier.pop()
    best, line = 0, 0
    for number, other in earlier:
        common = min(len(path), len(other))
        if path[:common] == other[:common] and common > best:
            best, line = common, number
    return f"{'.'.join(path)} is set again, after line {line}" if line else None


def toml_key(name: str) -> str:
    """Return a name as one TOML key, in quotes if it needs them.

    >>> toml_key("p['a']")
    '"p[\'a\']"'
    """
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in _PART.findall(dotted))


def load(path: Path) -> TomlFile:
    """Return the TOML file at `path`.

    Raises:
        SpecError: the file cannot be read, is not UTF-8, or has a syntax error; the message of a
            syntax error has the line, the column and a caret.
    """
    try:
        text = read_regular(path, _MAX_BYTES).decode(
            "utf-8-sig"
        )  # some editors write a byte order mark
    except OSError as error:
        raise SpecError(f"{display_path(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{display_path(path)} is not UTF-8 text (byte {error.start})") from error
    return parse_toml(path, text)


def parse_toml(path: Path, text: str) -> TomlFile:
    """Return the TOML file with a text; raise SpecError for a syntax error, as `load` does."""
    try:
        data = _loads(text)
    except (tomli.TOMLDecodeError, OutOfBounds) as error:
        raise SpecError(_syntax(display_path(path), error)) from error
    except RecursionError as error:
        raise SpecError(f"{display_path(path)} is nested too deeply to be read") from error
    return TomlFile(path, text, data)


def _loads(text: str) -> dict[str, object]:
    """Return the data of the TOML document `text`, within the limits of this module.

    Raises:
        tomli.TOMLDecodeError: the text is not TOML.
        OutOfBounds: a number is too long.
        RecursionError: tables or arrays are nested too deeply.
    """
    if (at := _long_number(text)) is not None:
        raise OutOfBounds(f"a number has at most {_MAX_DIGITS} digits", text, at)
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError:
        raise
    except ValueError as error:  # a long number in a form that `_DIGITS` misses
        raise OutOfBounds(f"a number has at most {_MAX_DIGITS} digits", text, 0) from error
    level: list[object] = [data]
    for _ in range(_MAX_DEPTH):
        level = [part for node in level for part in _parts_of(node)]
    if level:
        raise RecursionError
    return data


def _parts_of(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _long_number(text: str) -> int | None:
    """Return the position of the first number with too many digits; None if there is none.

    A run of digits in a text, a comment or a name is not a number.  tomli distinguishes them: it
    parses the document up to a run, with each run replaced by a number that Python refuses.
    """
    runs = list(_DIGITS.finditer(text))

    def refused(count: int) -> bool:
        parts, at = [], 0
        for run in runs[:count]:
            parts += [text[at : run.start()], _TOO_LONG]
            at = run.end()
        try:
            tomli.loads("".join(parts))
        except tomli.TOMLDecodeError:
            return False
        except ValueError:
            return True
        return False

    if not runs or not refused(len(runs)):
        return None
    first = bisect_left(range(len(runs)), True, key=lambda i: refused(i + 1))
    return runs[first].start()


def _syntax(name: str, error: tomli.TOMLDecodeError | OutOfBounds) -> str:
    text = error.doc.rstrip("\r\n")  # an unexpected end is marked on the last line
    before = text[: error.pos]
    row, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    line = text.split("\n")[row - 1].replace("\t", " ")
    kind = "" if isinstance(error, OutOfBounds) else "not TOML: "
    message = error.msg
    if message.startswith(_REPEATED) and (twice := _set_twice(error.doc, row)):
        message = twice
    return f"{name}:{row}:{column}: {kind}{message}\n  {line}\n  {' ' * (column - 1)}^"


def parse_value(text: str) -> object:
    """Return the value of `text` in TOML.

    Raises:
        OutOfBounds: a number has too many digits.
        ValueError: the text is not a value, or is more than one.
    """
    try:
        data = _loads(f"value = {text}")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if len(data) != 1:
        raise ValueError("more than one value")
    return data["value"]
