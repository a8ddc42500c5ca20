"""The user's source with what each line costs, folded to the lines that cost something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from olympus.analysis import CostRow
from olympus_cli.reports.program_figures import CostReport
from olympus_cli.text.escaping import visible

MAX_FILES = 20  # that are shown, the dearest

_AROUND = 2  # lines of context before and after one that costs something
_MIN_FOLD = 3  # fewer lines are not worth a fold
_MAX_LINES = 3000  # a file with more shows only what is around its costs
_TAG = re.compile(r"<[^>]*>")  # of Pygments, which writes < in code as &lt;
_OPENING = re.compile(r"\s*(?:async def|def|class)\b")


@dataclass(frozen=True)
class AnnotatedLine:
    """One line of a file; `heat`, from 0 to 100, is its share of the dearest line's."""

    number: int
    code: Markup
    row: CostRow | None
    heat: int


@dataclass(frozen=True)
class Fold:
    """Lines that are folded away; `lines` is empty where the page leaves them out."""

    first: int
    last: int
    lines: tuple[AnnotatedLine, ...]


@dataclass(frozen=True)
class AnnotatedFile:
    """A file of the user's; without its text, which may be gone, only the lines that cost."""

    path: str
    number: int
    share: float
    parts: tuple[AnnotatedLine | Fold, ...]
    has_text: bool


def line_id(backend: str, file: int, line: int) -> str:
    """Return the `id` of a line of source on the page, which programs link to."""
    return f"{backend}-s{file}-{line}"


def shares_of_files(cost: CostReport) -> dict[str, float]:
    """The share that each file's lines have of a program's cost, the dearest file first."""
    shares: dict[str, float] = {}
    for row in cost.lines:
        if (path := _place(row)[0]) is not None:
            shares[path] = shares.get(path, 0.0) + row.share
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def annotated_files(cost: CostReport, sources: Mapping[str, str]) -> tuple[AnnotatedFile, ...]:
    """The files of a program's lines, the dearest first; of very many the dearest twenty."""
    rows: dict[str, dict[int, CostRow]] = {}
    for row in cost.lines:
        path, line = _place(row)
        if path is not None:
            rows.setdefault(path, {})[line] = row
    most = max(
        (row.share for file_rows in rows.values() for row in file_rows.values()), default=0.0
    )
    shares = [*shares_of_files(cost).items()][:MAX_FILES]
    return tuple(
        AnnotatedFile(
            path,
            number,
            share,
            tuple(_parts(_lines(rows[path], sources.get(path), most), rows[path])),
            path in sources,
        )
        for number, (path, share) in enumerate(shares)
    )


def _place(row: CostRow) -> tuple[str | None, int]:
    """Return the file and line of a row; None for the row of what has no line."""
    path, _, line = row.key.rpartition(":")
    return (path, int(line)) if path and line.isdecimal() else (None, 0)


def _lines(rows: Mapping[int, CostRow], text: str | None, most: float) -> list[AnnotatedLine]:
    code = _highlighted(text) if text is not None else []
    numbers = range(1, len(code) + 1) if text is not None else ()
    outside = sorted(set(rows) - set(numbers))  # the file has changed, or is gone
    lines = [(number, code[number - 1]) for number in numbers]
    lines += [(number, Markup("")) for number in outside]
    return [
        AnnotatedLine(n, line, row, _heat(row, most)) for n, line in lines for row in [rows.get(n)]
    ]


def _heat(row: CostRow | None, most: float) -> int:
    return round(100 * row.share / most) if row is not None and most else 0


def _highlighted(text: str) -> list[Markup]:
    """Return the lines of a Python source as HTML."""
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    lexer, formatter = PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)
    lines = highlight(visible(text), lexer, formatter).split("\n")
    return [Markup(line) for line in lines[:-1]]


def _parts(
    lines: Sequence[AnnotatedLine], rows: Mapping[int, CostRow]
) -> Iterator[AnnotatedLine | Fold]:
    """Yield the lines, with folds for lines without a cost that are not near one with a cost."""
    shown = _shown_lines(lines, rows)
    cut = len(lines) > _MAX_LINES
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].number not in shown:
            end += 1
        if end - start >= _MIN_FOLD:
            inside = () if cut else tuple(lines[start:end])
            yield Fold(lines[start].number, lines[end - 1].number, inside)
        else:
            yield from lines[start:end]
        if end < len(lines):
            yield lines[end]
        start = end + 1


def _shown_lines(lines: Sequence[AnnotatedLine], rows: Mapping[int, CostRow]) -> set[int]:
    """Return the numbers of lines with a cost, lines around them, and enclosing definitions."""
    shown = {near for n in rows for near in range(n - _AROUND, n + _AROUND + 1)}
    texts = [_TAG.sub("", line.code) for line in lines]
    for index, line in enumerate(lines):
        if line.row is not None:
            shown.update(lines[at].number for at in _enclosing(texts, index))
    return shown


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _enclosing(texts: Sequence[str], index: int) -> Iterator[int]:
    """The lines above that open the functions and classes that a line is in."""
    indent = _indent(texts[index])
    for at in range(index - 1, -1, -1):
        if indent == 0:
            return
        if texts[at].strip() and _indent(texts[at]) < indent:
            indent = _indent(texts[at])
            if _OPENING.match(texts[at]):
                yield at
