"""A history for people: tables, the plot, and the reasons for changes of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from olympus_cli.diff.comparison import Comparison
from olympus_cli.diff.text import count_changes, render_comparison
from olympus_cli.history.changepoints import Changepoint
from olympus_cli.history.points import Point
from olympus_cli.history.series import ChangeReason, Line
from olympus_cli.reports.charts.plot import Plot, PlotMark, Series
from olympus_cli.text.units import change, quantity

LATEST = ("target", "backend", "metric", "figure", "before", "change", "commit", "time")
RUNS = ("commit", "time", "by", "figure", "interval", "samples", "change")

_HEIGHT = 12  # lines of a plot in a terminal
_MAX_LINES = 12  # of the changes of a program


def latest_rows(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table of the latest figures."""
    return [
        (
            figure["target"],
            figure["backend"],
            figure["metric"],
            quantity(figure["value"], figure["unit"]),
            "" if figure["before"] is None else quantity(figure["before"], figure["unit"]),
            "" if figure["ratio"] == 1 else change(figure["ratio"]),
            figure["run"]["short_commit"],
            _moment(figure["run"]["time"]),
        )
        for figure in document["figures"]
    ]


def run_rows(line: Line) -> list[tuple[str, ...]]:
    """Return the rows of the table of one line, the oldest first."""
    changes = {change.index: number for number, change in enumerate(line.changes, 1)}
    rows: list[tuple[str, ...]] = []
    for index, point in enumerate(line.points):
        number = changes.get(index)
        word = "" if number is None else f"{number}: {_change(line.changes[number - 1], line.unit)}"
        rows.append(
            (
                point.run.short_commit,
                _moment(point.run.time),
                point.run.command,
                quantity(point.figure.value, line.unit),
                _interval(point, line.unit),
                str(point.figure.count or ""),
                word,
            )
        )
    return rows


def verdict(line: Line) -> str:
    """Return the last change of the level of a line, and its commit.

    Example: `verdict(line)` is "+30.0% at 1f2e3d4c".
    """
    if not line.changes:
        return "no change of the level"
    last = line.changes[-1]
    return f"{_change(last, line.unit)} at {line.points[last.index].run.label}"


def _moment(time: str) -> str:
    """Return a time of the history to the minute.

    >>> _moment("2026-01-31T12:00:00.000000Z")
    '2026-01-31 12:00'
    """
    return time[:16].replace("T", " ")


def _interval(point: Point, unit: str) -> str:
    low, high = point.figure.low, point.figure.high
    if low is None or high is None:
        return ""
    return f"{quantity(low, unit)} .. {quantity(high, unit)}"


def _change(changepoint: Changepoint, unit: str) -> str:
    """Return the relative change, or the level before it if there is no ratio."""
    return change(changepoint.ratio) or f"from {quantity(changepoint.before, unit)}"


def describe_change(
    line: Line, reasons: Sequence[ChangeReason], most: int | None = _MAX_LINES
) -> Iterator[str]:
    """Yield texts on the changes of a line: the commit, the levels, and the reasons.

    At most `most` lines describe each program.
    """
    for number, (changepoint, reason) in enumerate(zip(line.changes, reasons, strict=True), 1):
        run = line.points[changepoint.index].run
        levels = (
            f"{quantity(changepoint.before, line.unit)} -> {quantity(changepoint.after, line.unit)}"
        )
        chance = "" if changepoint.probability is None else f"p = {changepoint.probability:.2g}"
        facts = ", ".join(filter(None, (change(changepoint.ratio), chance)))
        yield f"{number}  {run.label}  {levels}" + (f"  ({facts})" if facts else "")
        yield f"   {_program(reason)}"
        for version in reason.versions:
            yield f"   {version.name}: {version.before or 'none'} -> {version.after or 'none'}"
        yield from (f"   {text}" for text in _difference(reason.difference, most))


def _program(reason: ChangeReason) -> str:
    if reason.program == "unknown":
        return "whether the program changed is not known"
    if reason.program == "same":
        return "the program is the same"
    if reason.difference is None:
        return "the program changed; what in it is not known, as it is not stored"
    return f"the program changed: {count_changes(reason.difference.changes)}"


def _difference(comparison: Comparison | None, most: int | None) -> Iterator[str]:
    if comparison is None:
        return
    changes = replace(comparison, options=(), versions=(), figures=())
    lines = [text for text in render_comparison(changes).splitlines()[1:-1] if text]
    yield from lines[:most]
    if most is not None and len(lines) > most:
        yield f"... the first {most} of {len(lines)} lines; --json and --plot FILE.html show all"


def _marks(line: Line) -> list[PlotMark]:
    return [
        PlotMark(
            change.index + 1, f"{line.points[change.index].run.label} {_change(change, line.unit)}"
        )
        for change in line.changes
    ]


def _plotted(line: Line) -> Plot:
    """Return a plot of the line over the number of the run."""
    figures = [point.figure for point in line.points]
    labels = [point.run.label for point in line.points]
    verdicts = {change.index: f", {_change(change, line.unit)}" for change in line.changes}

    def label(number: float) -> str:
        is_run = number == int(number) and 1 <= number <= len(labels)
        return labels[int(number) - 1] if is_run else ""

    series = Series(
        line.title,
        range(1, len(figures) + 1),
        [change.value for change in figures],
        [change.low for change in figures],
        [change.high for change in figures],
        [
            f"{p.run.label}, {_moment(p.run.time)}{verdicts.get(index, '')}"
            for index, p in enumerate(line.points)
        ],
    )
    return Plot(
        [series],
        title=line.title,
        x="commit",
        y="",
        marks=_marks(line),
        x_text=label,
        y_text=lambda value: quantity(value, line.unit),
    )


def line_text(line: Line, width: int, *, only_ascii: bool) -> str:
    """Return the plot of a line for a terminal, with the numbers of its changes.

    Its title and the key of the changes are omitted: they are shown separately.
    """
    text = _plotted(line).text(width, _HEIGHT, only_ascii=only_ascii)
    return "\n".join(text.splitlines()[1 : _HEIGHT + 5])


def line_svg(line: Line) -> str:
    """Return the plot of a line as an SVG, with its changes."""
    return _plotted(line).svg()
