"""The figures of a history as series, with their changes, as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from olympus.files import to_data
from olympus_cli.diff.comparison import COMPARISON_FORMS, Comparison, ValueChange
from olympus_cli.history.changepoints import Changepoint, changepoints, every_change
from olympus_cli.history.points import Figure, Point, Run

_OF_BUILDS = "build-"  # the prefix of the figures of a build, not of its program


@dataclass(frozen=True)
class Line:
    """One figure of a target on a backend, run by run, with the changes of its level.

    `host` is the machine of a measured figure: figures of different machines are not compared.
    `previous` is the point before the first of `points`, if the line was shortened.
    """

    target: str
    backend: str
    metric: str
    unit: str
    host: str | None
    points: tuple[Point, ...]
    changes: tuple[Changepoint, ...]
    previous: Point | None = None

    def before(self, change: Changepoint) -> Point:
        """Return the point before a change, which may be older than all shown points."""
        if change.index:
            return self.points[change.index - 1]
        assert self.previous is not None  # the very first point is no change
        return self.previous

    @property
    def title(self) -> str:
        """The title of the line, for people."""
        machine = f", machine {self.host}" if self.host else ""
        return f"{self.metric} of {self.target} on {self.backend}{machine}"

    def shortened(self, since: str | None, limit: int | None) -> Line | None:
        """Return the latest `limit` points since a moment, as a line; None if none remains."""
        first = next((i for i, p in enumerate(self.points) if p.run.moment >= (since or "")), None)
        if first is None:
            return None
        first = max(first, len(self.points) - limit) if limit else first
        changes = (
            Changepoint(change.index - first, change.before, change.after, change.probability)
            for change in self.changes
            if change.index >= first
        )
        return Line(
            self.target, self.backend, self.metric, self.unit, self.host,
            self.points[first:], tuple(changes), self.points[first - 1] if first else None,
        )  # fmt: skip


def lines_of(points: Iterable[Point]) -> list[Line]:
    """Return the series of points, which are sorted; measured figures by machine."""
    groups: dict[tuple[str, str, str, str, str | None, bool], list[Point]] = {}
    for point in points:
        figure = point.figure
        host = point.run.host if figure.is_measured else None
        key = figure.target, figure.backend, figure.metric, figure.unit, host, figure.is_measured
        groups.setdefault(key, []).append(point)
    return [_line(*key, tuple(groups[key])) for key in sorted(groups, key=_order)]


def _order(key: tuple[str, str, str, str, str | None, bool]) -> tuple[str, ...]:
    return tuple(str(part or "") for part in key)


def _line(
    target: str,
    backend: str,
    metric: str,
    unit: str,
    host: str | None,
    is_measured: bool,
    points: tuple[Point, ...],
) -> Line:
    values = [point.figure.value for point in points]
    changes = changepoints(values) if is_measured else every_change(values)
    return Line(target, backend, metric, unit, host, points, tuple(changes))


@dataclass(frozen=True)
class ChangeReason:
    """The known reasons for a change of a figure.

    `versions` are the differing versions of the tools. `difference` is the comparison of the
    programs, as by `olympus diff`, or None if they are the same or are not stored.
    """

    program: Literal["changed", "same", "unknown"]
    versions: tuple[ValueChange, ...]
    difference: Comparison | None


@dataclass(frozen=True)
class History:
    """The lines of a history, and for each line the known reasons for its changes."""

    file: str
    lines: tuple[Line, ...]
    reasons: tuple[tuple[ChangeReason, ...], ...]

    def without_builds(self) -> History:
        """Return the history without the figures of builds themselves, `build-...`."""
        selected = [
            (line, reasons)
            for line, reasons in zip(self.lines, self.reasons, strict=True)
            if not line.metric.startswith(_OF_BUILDS)
        ]
        return History(
            self.file,
            tuple(line for line, _ in selected),
            tuple(reasons for _, reasons in selected),
        )

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data with every number that the text, the plot and the page show."""
        pairs = zip(self.lines, self.reasons, strict=True)
        return {"file": self.file, "series": [_line_data(line, reasons) for line, reasons in pairs]}


def _line_data(line: Line, reasons: Sequence[ChangeReason]) -> dict[str, Any]:
    return {
        "target": line.target,
        "backend": line.backend,
        "metric": line.metric,
        "unit": line.unit,
        "host": line.host,
        "points": [_point_data(point) for point in line.points],
        "changes": [
            {
                **asdict(change),
                "ratio": change.ratio,
                "run": run_data(line, change),
                **to_data(reason, COMPARISON_FORMS),
            }
            for change, reason in zip(line.changes, reasons, strict=True)
        ],
    }


def run_data(line: Line, change: Changepoint) -> dict[str, Any]:
    """Return the first run with a change."""
    return _run_data(line.points[change.index].run)


def _run_data(run: Run) -> dict[str, Any]:
    return {"label": run.label, "short_commit": run.short_commit, **asdict(run)}


def _point_data(point: Point) -> dict[str, Any]:
    named = {"target", "backend", "metric", "unit"}
    figure = {k: v for k, v in asdict(point.figure).items() if k not in named}
    return {**figure, "run": _run_data(point.run)}


def latest_figures(
    file: str, points: Iterable[Point], since: str | None = None, *, every: bool = True
) -> dict[str, Any]:
    """Return the latest figures of each target and backend, and those before, as JSON-like data.

    A measured figure is compared with the one before it on the same machine. Without `every`, the
    figures of builds themselves, `build-...`, are omitted, and "left_out" is their number.
    """
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for point in points:
        figure = point.figure
        groups.setdefault((figure.target, figure.backend, figure.metric), []).append(point)
    rows = [_latest(group) for group in groups.values() if group[-1].run.moment >= (since or "")]
    rows.sort(key=lambda row: (row["target"], row["backend"], row["metric"]))
    shown = [row for row in rows if every or not row["metric"].startswith(_OF_BUILDS)]
    return {"file": file, "figures": shown, "left_out": len(rows) - len(shown)}


def _latest(points: Sequence[Point]) -> dict[str, Any]:
    last = points[-1]
    before = next((point for point in reversed(points[:-1]) if _comparable(point, last)), None)
    value = before and before.figure.value
    return {
        "target": last.figure.target,
        "backend": last.figure.backend,
        "metric": last.figure.metric,
        "unit": last.figure.unit,
        **_point_data(last),
        "before": value,
        "ratio": last.figure.value / value if value else None,
        "run_before": before and _run_data(before.run),
    }


def _comparable(one: Point, other: Point) -> bool:
    first, second = one.figure, other.figure
    if first.unit != second.unit or first.is_measured != second.is_measured:
        return False
    return not first.is_measured or one.run.host == other.run.host


def same_program(one: Figure, other: Figure) -> bool | None:
    """Return True if two figures have the same program; None if that is not known."""
    if one.program and other.program:
        return one.program == other.program
    if one.fingerprint and other.fingerprint:
        return one.fingerprint == other.fingerprint
    return None
