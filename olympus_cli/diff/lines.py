"""The differences in the cost of source lines between two programs, also if lines have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olympus.analysis import CostRow
from olympus_cli.diff.comparison import LineChange, LineCost

Texts = Mapping[tuple[str, int], str]


def line_changes(
    one: Sequence[CostRow], other: Sequence[CostRow], texts: tuple[Texts, Texts]
) -> tuple[LineChange, ...]:
    """Return the lines with different flops or bytes, the greatest difference first.

    `one` and `other` are the rows of both costs by line, with `key` "path/file.py:41".  `texts` are
    the texts of the lines on both sides.  Lines with the same file and text are matched first.  The
    remaining lines are matched by number, so that an edited line is one change.

    >>> line_changes(cost.lines, [], ({}, {}))
    (LineChange(before=LineCost(line='m.py:1', flops=8, bytes=4), after=None, text=None),)
    """
    first, second = _by_text(one, texts[0]), _by_text(other, texts[1])
    pairs: list[tuple[CostRow | None, CostRow | None]]
    pairs = [(first.pop(key), second.pop(key)) for key in [*first] if key in second]
    left = {row.key: row for row in first.values()}
    right = {row.key: row for row in second.values()}
    pairs += [(row, right.pop(key, None)) for key, row in left.items()]
    pairs += [(None, row) for row in right.values()]
    changed = sorted((pair for pair in pairs if _differ(*pair)), key=_order)
    return tuple(_change(before, after, texts) for before, after in changed)


def _by_text(rows: Sequence[CostRow], texts: Texts) -> dict[tuple[str, str, int], CostRow]:
    """Return the rows by file, text, and the index among lines with the same text."""
    row_of: dict[tuple[str, str, int], CostRow] = {}
    for row in sorted(rows, key=lambda row: _place(row.key)):
        place = _place(row.key)
        name, number = (place[0], texts.get(place) or f":{place[1]}"), 0
        while (*name, number) in row_of:
            number += 1
        row_of[*name, number] = row
    return row_of


def _place(key: str) -> tuple[str, int]:
    """Return the file and the line of "path/file.py:41"; line 0 if there is none."""
    file, _, line = key.rpartition(":")
    return (file, int(line)) if line.isascii() and line.isdigit() else (key, 0)


def _differ(before: CostRow | None, after: CostRow | None) -> bool:
    return _figures(before) != _figures(after)


def _figures(row: CostRow | None) -> tuple[int, int]:
    return (row.flops, row.bytes) if row else (0, 0)


def _change(
    before: CostRow | None, after: CostRow | None, texts: tuple[Texts, Texts]
) -> LineChange:
    lines = [t.get(_place(r.key)) for r, t in zip((before, after), texts, strict=True) if r]
    return LineChange(_line_cost(before), _line_cost(after), lines[-1] or None)


def _line_cost(row: CostRow | None) -> LineCost | None:
    return None if row is None else LineCost(row.key, row.flops, row.bytes)


def _order(pair: tuple[CostRow | None, CostRow | None]) -> tuple[int, int, str]:
    """Return the sort key: the greatest difference of flops first, then of bytes."""
    (flops, size), (others, other_size) = map(_figures, pair)
    row = pair[1] or pair[0]
    return -abs(others - flops), -abs(other_size - size), row.key if row else ""
