"""The forms of a table for a terminal: unchanged, with shortened names, and without columns.

A table that does not fit into the width is made narrower in this order, and the first form that
fits is used:

1. Long names in the first column are shortened in the middle, down to 19 characters.
2. A table of one row becomes a list of its cells.
3. Columns with the same value in every row become lines above the table.
4. Each row becomes a block: its first cell, and the other cells under it with their columns' names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_GAP = 2  # columns between two cells
#: The fewest characters of a shortened name.
LEAST_NAME = 19
_MIN_FOLDED = 12  # characters; a shorter cell, such as "1.00 KiB", is not folded
_DOTS = "..."

Row = Sequence[str]


@dataclass(frozen=True)
class Fitted:
    """Lines of text, and a table under them; it has no rows if the lines contain everything."""

    head: tuple[str, ...]
    columns: Row = ()
    rows: Sequence[Row] = ()


def shortened(name: str, width: int) -> str:
    """Return `name` shortened to `width` characters in the middle: names differ at their ends.

    >>> shortened("unet_long_name@batch=1", 19)
    'unet_lon...@batch=1'
    """
    if len(name) <= width:
        return name
    end = (width - len(_DOTS) + 1) // 2
    return name[: width - len(_DOTS) - end] + _DOTS + name[-end:]


def are_short(names: Sequence[str], short: Sequence[str]) -> bool:
    """Return True if different names are still different when shortened."""
    return len(set(short)) == len(set(names))


def fitted(columns: Row, rows: Sequence[Row], width: int) -> Fitted:
    """Return the first form of a table that fits into `width` columns."""
    short = _with_short_names(columns, rows, width)
    if _word_width([columns, *short]) <= width or not rows:
        return Fitted((), columns, short)
    if len(rows) == 1:
        return Fitted((*_list(columns, rows[0], width),))
    head, varying = _constants(columns, rows, width)
    if head and len(varying) > 1:
        columns, rows = [columns[i] for i in varying], [[row[i] for i in varying] for row in rows]
        head.append("")
        short = _with_short_names(columns, rows, width)
        if _word_width([columns, *short]) <= width:
            return Fitted((*head,), columns, short)
        return Fitted((*head, *_blocks(columns, rows, width)))
    return Fitted((*_blocks(columns, rows, width),))


def _with_short_names(columns: Row, rows: Sequence[Row], width: int) -> Sequence[Row]:
    """Return the rows with shortened names in the first column, if the table fits then.

    Other cells are not folded if possible.  Names are not shortened if any would become equal.
    """
    names = [row[0] for row in rows]
    if any(" " in name for name in names) or _natural_width([columns, *rows]) <= width:
        return rows
    others = [columns[1:], *(row[1:] for row in rows)]
    for needed in (_natural_width(others), _word_width(others)):
        room = width - needed - (_GAP if columns[1:] else 0)
        if room >= LEAST_NAME:
            break
    else:
        return rows
    short = [shortened(name, room) for name in names]
    if not are_short(names, short):
        return rows
    return [[name, *row[1:]] for name, row in zip(short, rows, strict=True)]


def _natural_width(lines: Sequence[Row]) -> int:
    """Return the width of a table without folded cells."""
    return _width(max(map(len, column)) for column in zip(*lines, strict=True))


def _word_width(lines: Sequence[Row]) -> int:
    """Return the least width of a table without broken words."""
    return _width(max(map(_least_width, column)) for column in zip(*lines, strict=True))


def _least_width(cell: str) -> int:
    """Return the least width of a cell: of its longest word, or of all of a short cell."""
    if len(cell) <= _MIN_FOLDED:
        return len(cell)
    return max([_MIN_FOLDED, *map(len, cell.split())])


def column_widths(lines: Sequence[Row], width: int) -> list[int] | None:
    """Return the widths of the columns of a table that must be folded, without broken words.

    The widest column is folded first.  The result is None if the table fits
    unfolded, or must break a word.

    >>> column_widths([["a_long_name", "a text of many words"]], 26)
    [11, 13]
    """
    if not _word_width(lines) <= width < _natural_width(lines):
        return None
    columns = [*zip(*lines, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    least = [max(map(_least_width, column)) for column in columns]
    while _width(iter(widths)) > width:
        foldable = [i for i, width in enumerate(widths) if width > least[i]]
        widths[max(foldable, key=lambda i: widths[i])] -= 1
    return widths


def _width(columns: Iterator[int]) -> int:
    widths = [*columns]
    return sum(widths) + _GAP * max(len(widths) - 1, 0)


def _constants(columns: Row, rows: Sequence[Row], width: int) -> tuple[list[str], list[int]]:
    """Return a line for each column with one value in all rows, and the other columns' indices."""
    values = [set(column) for column in zip(*rows, strict=True)]
    same = [i for i, value in enumerate(values) if len(value) == 1 and columns[i]]
    head = [*_list([columns[i] for i in same], [rows[0][i] for i in same], width)]
    return head, [i for i in range(len(columns)) if i not in same]


def _list(columns: Row, row: Row, width: int) -> Iterator[str]:
    """Yield a line for each cell; the first cell is shortened if it is a name that is too long."""
    longest = max(map(len, columns), default=0)
    room = width - longest - _GAP
    for i, (name, cell) in enumerate(zip(columns, row, strict=True)):
        is_short = i == 0 and " " not in cell and room >= LEAST_NAME
        yield f"{name:<{longest}}  {shortened(cell, room) if is_short else cell}".rstrip()


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
