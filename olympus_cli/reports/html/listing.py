"""The text of a program with the place in the user's source that each of its lines comes from.

StableHLO with debug information ends its lines in `loc(#loc3)`, and has a table of these.  XLA's
optimized HLO has `metadata={...}` with a file and a line, or with the number of a frame in a table
before the program.  An Olympuspr that is printed with its source ends lines in `# file.py:3`.  What
is shown is the text without all that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import olympus


class Mark(NamedTuple):
    """The source of a line: a file and line, and its `scope/operation`; "" and 0 if unknown.

    An operation of a backward pass has `, backward` after that.
    """

    scope: str
    file: str
    line: int


@dataclass(frozen=True)
class Listing:
    """A program as text; `where[i]` is the index in `marks` of line i, or -1.

    `path` is the file of the build that has the text.  Of a text that is too long for a page the
    first lines are here, and `omitted` more are in the file.
    """

    title: str
    language: str
    path: str
    lines: tuple[str, ...]
    marks: tuple[Mark, ...] = ()
    where: tuple[int, ...] = ()
    omitted: int = 0


# A text longer than this is cut: it is slow to search in a browser, and makes the page large.  It
# is three times the optimized HLO of a training step of GPT-2 small without repeated blocks.
_MAX_CHARACTERS = 16 * 2**20


@dataclass
class _Table:
    """Marks in the order of their first use."""

    index: dict[Mark, int] = field(default_factory=dict)

    def add(self, mark: Mark | None) -> int:
        if mark is None or not (mark.scope or mark.file):
            return -1
        return self.index.setdefault(mark, len(self.index))


def _listing(
    title: str, language: str, path: str, lines: Iterable[tuple[str, Mark | None]]
) -> Listing:
    table, shown, where, size, omitted = _Table(), [], [], 0, 0
    for text, mark in lines:
        size += len(text) + 1
        if size > _MAX_CHARACTERS:
            omitted += 1
            continue
        shown.append(text)
        where.append(table.add(mark))
    return Listing(title, language, path, tuple(shown), (*table.index,), tuple(where), omitted)


# --- Olympuspr ----------------------------------------------------------------------------------

_COMMENT = re.compile(r"  # (.*):(\d+)$")


def olympuspr_listing(text: str, path: str) -> Listing:
    """The listing of an Olympuspr that was printed with its source.

    >>> olympuspr_listing("a:f32[] = sin b  # m.py:3", "program.olympuspr").marks
    (Mark(scope='', file='m.py', line=3),)
    """
    return _listing("Olympuspr", "olympuspr", path, map(_equation, text.split("\n")))


def _equation(line: str) -> tuple[str, Mark | None]:
    comment = _COMMENT.search(line)
    if comment is None:
        return line, None
    return line[: comment.start()], Mark("", comment[1], int(comment[2]))


# --- StableHLO ----------------------------------------------------------------------------------

_STRING = r'"(?:[^"\\]|\\.)*"'
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_LOC = re.compile(rf" ?\bloc\((#loc\d*|unknown|{_STRING}(?:\(#loc\d*\)|:\d+:\d+)?)\)")
_FILE = re.compile(rf"({_STRING}):(\d+):\d+")
_NAMED = re.compile(rf"({_STRING})(?:\((.*)\))?$")
_INNER = re.compile(r"#loc\d*")
_DEEP = 100  # a location inside a location: no printed program comes near


def stablehlo_listing(text: str, path: str) -> Listing:
    """The listing of a StableHLO module that was printed with debug information."""
    lines = text.rstrip("\n").split("\n")
    aliases = {match[1]: match[2] for line in lines if (match := _ALIAS.match(line))}
    known: dict[str, Mark | None] = {}

    def resolve(place: str, depth: int = 0) -> Mark | None:
        if place not in known:
            known[place] = _resolved(place, aliases, resolve, depth)
        return known[place]

    body = [_operation(line, resolve) for line in lines if not _ALIAS.match(line)]
    return _listing("StableHLO", "mlir", path, _with_openings(body))


def _operation(line: str, resolve: Callable[[str], Mark | None]) -> tuple[str, Mark | None]:
    places = [match[1] for match in _LOC.finditer(line)]
    return _LOC.sub("", line), resolve(places[-1]) if places else None


def _resolved(
    place: str, aliases: dict[str, str], resolve: Callable[[str, int], Mark | None], depth: int
) -> Mark | None:
    """The mark of a location: of a call site the callee's, of a fused one the first."""
    if depth > _DEEP:
        return None
    if place in aliases:
        return resolve(aliases[place], depth + 1)
    if match := _FILE.fullmatch(place):
        return Mark("", _unquoted(match[1]), int(match[2]))
    if match := _NAMED.fullmatch(place):
        inner = resolve(match[2], depth + 1) if match[2] else None
        scope = str(olympus.analysis.read_name(_unquoted(match[1])))
        return Mark(scope, inner.file, inner.line) if inner else Mark(scope, "", 0)
    if place.startswith(("callsite(", "fused")) and (match := _INNER.search(place)):
        return resolve(match[0], depth + 1)
    return None


_BYTE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))")


def _unquoted(text: str) -> str:
    r"""A string of MLIR: bytes in hexadecimal after a backslash.

    >>> _unquoted('"a\\22b"')
    'a"b'
    """
    return _decoded(text, _BYTE, 16)


def _decoded(text: str, escape: re.Pattern[str], base: int) -> str:
    """A quoted string without its quotes and escapes, each of a byte of UTF-8 or of a character."""
    inner = text[1:-1]
    if "\\" not in inner or not inner.isascii():
        return inner
    raw = escape.sub(lambda match: chr(int(match[1], base) & 255) if match[1] else match[2], inner)
    return raw.encode("latin-1").decode("utf-8", "replace")


def _with_openings(
    body: list[tuple[str, Mark | None]],
) -> Iterable[tuple[str, Mark | None]]:
    """An operation with a region has its location at the end: its first line gets it too."""
    opened: dict[int, int] = {}
    marks = [mark for _, mark in body]
    for number, (line, mark) in enumerate(body):
        bare = line.lstrip()
        indent = len(line) - len(bare)
        if mark is None and bare.endswith("{"):
            opened.setdefault(indent, number)
        elif mark is not None and bare.startswith("}") and indent in opened:
            marks[opened.pop(indent)] = mark
    return zip((line for line, _ in body), marks, strict=True)


# --- HLO ----------------------------------------------------------------------------------------

_METADATA = re.compile(rf",? metadata=\{{((?:[^\"{{}}]|{_STRING}|\{{[^{{}}]*\}})*)\}}")
_FIELD = re.compile(rf"(op_name|source_file|source_line|stack_frame_id)=({_STRING}|\d+)")
_TABLE = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)$")
_ROW = re.compile(rf"^(\d+) (?:({_STRING})|\{{(.*)\}})$")
_NUMBER = re.compile(r"(\w+)=(\d+)")


def hlo_listing(text: str, path: str) -> Listing:
    """The listing of an HLO module, as XLA prints it; the tables before it are left out."""
    tables, lines = _without_tables(text.rstrip("\n").split("\n"))
    frames = _frames(tables)
    known: dict[str, Mark] = {}  # the same few in tens of thousands of lines

    def instruction(line: str) -> tuple[str, Mark | None]:
        start = line.rfind("metadata={")
        metadata = _METADATA.search(line, max(start - 2, 0)) if start >= 0 else None
        if metadata is None:
            return line, None
        if metadata[1] not in known:
            known[metadata[1]] = _metadata(metadata[1], frames)
        return line[: metadata.start()] + line[metadata.end() :], known[metadata[1]]

    return _listing("Optimized HLO", "hlo", path, map(instruction, lines))


def _metadata(text: str, frames: dict[int, tuple[str, int]]) -> Mark:
    fields = dict(_FIELD.findall(text))
    file, number = frames.get(int(fields.get("stack_frame_id", 0)), ("", 0))
    if "source_file" in fields:
        file, number = _plain(fields["source_file"]), int(fields.get("source_line", 0))
    name = olympus.analysis.read_name(_plain(fields.get("op_name", '""')), inlined=True)
    return Mark(str(name), file, number)


_OCTAL = re.compile(r"\\(?:([0-7]{3})|(.))")


def _plain(text: str) -> str:
    r"""A string of HLO: bytes in octal after a backslash.

    >>> _plain('"a\\"b"')
    'a"b'
    """
    return _decoded(text, _OCTAL, 8)


def _without_tables(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The tables of source locations that may follow the module's first line, and the rest."""
    tables: dict[str, list[str]] = {}
    rest: list[str] = []
    current: list[str] | None = None
    for line in lines:
        if _TABLE.match(line):
            current = tables.setdefault(line, [])
        elif current is not None and _ROW.match(line):
            current.append(line)
        elif current is not None and not line:
            current = None
        else:
            current = None
            rest.append(line)
    return tables, rest


def _frames(tables: dict[str, list[str]]) -> dict[int, tuple[str, int]]:
    """The file and line of each stack frame by its number."""
    rows = {
        name: {int(match[1]): match for line in table if (match := _ROW.match(line))}
        for name, table in tables.items()
    }
    names = {n: _plain(row[2]) for n, row in rows.get("FileNames", {}).items() if row[2]}
    places = {n: _numbers(row[3]) for n, row in rows.get("FileLocations", {}).items()}
    frames: dict[int, tuple[str, int]] = {}
    for number, row in rows.get("StackFrames", {}).items():
        place = places.get(_numbers(row[3]).get("file_location_id", 0), {})
        file = names.get(place.get("file_name_id", 0), "")
        frames[number] = (file, place.get("line", 0)) if file else ("", 0)
    return frames


def _numbers(text: str | None) -> dict[str, int]:
    return {name: int(value) for name, value in _NUMBER.findall(text or "")}
