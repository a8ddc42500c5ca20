"""Columns of tables by source line: shares as bars, and the text of the line if it fits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from olympus.files import source_line
from olympus_cli.terminal import console

_BAR = 12  # columns of a bar of 100 %
_MAX_SOURCE = 44  # columns of a source line
_MIN_SOURCE = 16  # fewer are not useful
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float) -> str:
    """Return a bar for a share, to the eighth of a column; whole columns of # in ASCII.

    >>> bar(0.5)
    '██████'
    """
    if not console.can_write(_EIGHTHS + "█"):
        return "#" * round(share * _BAR)
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.123), percent(0.0001)
    ('12.3%', '<0.1%')
    """
    return f"{share:.1%}" if share >= 0.001 or not share else "<0.1%"


def with_source(
    columns: Sequence[str],
    table: Sequence[Sequence[str]],
    root: Path,
    lines: Sequence[str] | None = None,
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return a table with a column of source texts, if it fits on the terminal.

    The source lines are `lines`, by default the first cells of the rows.
    """
    widest = (max(map(len, column)) for column in zip(columns, *table, strict=True))
    width = min(_MAX_SOURCE, console.width() - sum(widest) - 2 * len(columns))
    if width < _MIN_SOURCE:
        return columns, table
    if lines is None:
        lines = [cells[0] for cells in table]
    rows = [
        [*cells, _cut(source_text(line, root), width)]
        for cells, line in zip(table, lines, strict=True)
    ]
    return (*columns, "source"), rows


def source_text(key: str, root: Path) -> str:
    """Return the text of the line "path/file.py:41"; "" if it cannot be read."""
    file, _, line = key.rpartition(":")
    return source_line(os.path.join(root, file), int(line)) if line.isdigit() else ""


def _cut(text: str, width: int) -> str:
    end = "…" if console.can_write("…") else "..."
    return text if len(text) <= width else text[: width - len(end)] + end
