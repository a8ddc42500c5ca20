"""The forms of a table for a terminal: as it is, with shortened names, and without columns.

A table that does not fit into the width is made narrower in this order, and the first form that
fits is taken:

1. Long names in the first column are shortened in the middle, down to 19 characters.
2. A table of one row becomes a list of its cells.
3. Columns with the same value in every row become lines above the table.
4. Each row becomes a block: its first cell, and the other cells under it with their columns' names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Fitted", "fitted", "shortened"]

_GAP = 2  # columns between two cells
_LEAST_NAME = 19  # characters of a shortened name
_DOTS = "..."

Row = Sequence[str]


@dataclass(frozen=True)
class Fitted:
    """Lines of text, and the table under them; without rows if the lines have everything."""

    head: tuple[str, ...]
    columns: Row = ()
    rows: Sequence[Row] = ()


def shortened(name: str, width: int) -> str:
    """`name` in at most `width` characters, without its middle: names differ at their ends.

    >>> shortened("unet_long_name@batch=1", 19)
    'unet_lon...@batch=1'
    """
    if len(name) <= width:
        return name
    end = (width - len(_DOTS) + 1) // 2
    return name[: width - len(_DOTS) - end] + _DOTS + name[-end:]


def fitted(columns: Row, rows: Sequence[Row], width: int) -> Fitted:
    """The first of the forms of a table that fits into `width` columns."""
    short = _with_short_names(columns, rows, width)
    if _word_width([columns, *short]) <= width or not rows:
        return Fitted((), columns, short)
    if len(rows) == 1:
        return Fitted((*_list(columns, rows[0]),))
    head, kept = _constants(columns, rows)
    if head and len(kept) > 1:
        columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
        head.append("")
        short = _with_short_names(columns, rows, width)
        if _word_width([columns, *short]) <= width:
            return Fitted((*head,), columns, short)
        return Fitted((*head, *_blocks(columns, rows, width)))
    return Fitted((*_blocks(columns, rows, width),))


def _with_short_names(columns: Row, rows: Sequence[Row], width: int) -> Sequence[Row]:
    """The rows with the names of their first column shortened, if the table fits then.

    No other cell is folded if that is possible.  Names that would be alike stay as they are.
    """
    names = [row[0] for row in rows]
    if any(" " in name for name in names) or _natural_width([columns, *rows]) <= width:
        return rows
    others = [columns[1:], *(row[1:] for row in rows)]
    for needed in (_natural_width(others), _word_width(others)):
        room = width - needed - (_GAP if columns[1:] else 0)
        if room >= _LEAST_NAME:
            break
    else:
        return rows
    short = [shortened(name, room) for name in names]
    if len(set(short)) < len(set(names)):
        return rows
    return [[name, *row[1:]] for name, row in zip(short, rows, strict=True)]


def _natural_width(lines: Sequence[Row]) -> int:
    """The width of a table in which no cell is folded."""
    return _width(max(map(len, column)) for column in zip(*lines, strict=True))


def _word_width(lines: Sequence[Row]) -> int:
    """The least width of a table that breaks no word."""
    return _width(
        max(len(w) for cell in column for w in cell.split() or [""])
        for column in zip(*lines, strict=True)
    )


def _width(columns: Iterator[int]) -> int:
    widths = [*columns]
    return sum(widths) + _GAP * max(len(widths) - 1, 0)


def _constants(columns: Row, rows: Sequence[Row]) -> tuple[list[str], list[int]]:
    """A line for each column with one value in all rows, and the indices of the others."""
    values = [set(column) for column in zip(*rows, strict=True)]
    same = [i for i, value in enumerate(values) if len(value) == 1 and columns[i]]
    longest = max((len(columns[i]) for i in same), default=0)
    head = [f"{columns[i]:<{longest}}  {rows[0][i]}".rstrip() for i in same]
    return head, [i for i in range(len(columns)) if i not in same]


def _list(columns: Row, row: Row) -> Iterator[str]:
    longest = max(map(len, columns))
    yield from (
        f"{name:<{longest}}  {cell}".rstrip() for name, cell in zip(columns, row, strict=True)
    )


def _blocks(columns: Row, rows: Sequence[Row], width: int) -> Iterator[str]:
    for row in rows:
        name = row[0] or columns[0]
        yield from _wrapped(name if " " in name else shortened(name, width), width, "")
        line = ""
        for name, cell in zip(columns[1:], row[1:], strict=True):
            part = f"{name} {cell}".strip()
            if not cell:
                continue
            if line and len(line) + _GAP + len(part) > width:
                yield from _wrapped(line, width, "    ")
                line = ""
            line = f"{line}  {part}"
        if line:
            yield from _wrapped(line, width, "    ")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
