"""The requested part of a history: targets, metrics, and a start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli.history.changepoints import MAX_POINTS
from olympus_cli.history.points import Point, utc_text
from olympus_cli.history.reasons import reasons_of_changes
from olympus_cli.history.repository import commit_time
from olympus_cli.history.series import History, lines_of
from olympus_cli.history.store import read_points
from olympus_cli.spec.model import Project
from olympus_cli.spec.target_names import matching
from olympus_cli.text.metrics import metric_named
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.paths import display_path


def history_file(project: Project) -> Path:
    """Return the file of a project's history.

    Raises:
        UsageError: the project has no history.
    """
    if project.history is None:
        raise UsageError(
            f"{display_path(project.file)} disables the history",
            hint="[project] history = true saves one in the build folder",
        )
    return project.history


def moment_of(text: str | None, folder: Path) -> str | None:
    """Return the moment of a date, a time or a revision of git; None for None.

    A date is in the time zone of this machine, as in git.

    Raises:
        UsageError: the text is none of these.

    >>> moment_of("2026-01-31T12:00:00Z", Path.cwd())
    '2026-01-31T12:00:00.000000Z'
    """
    if text is None:
        return None
    try:
        return utc_text(datetime.fromisoformat(text).astimezone(UTC))
    except (ValueError, OverflowError):
        moment = commit_time(folder, text)
    if moment is None:
        raise UsageError(
            f"--since {text}: it is not a date, and git has no such revision here",
            hint="such as 2026-01-31, 2026-01-31T12:00 or HEAD~20",
        )
    return moment


def chosen_points(
    path: Path, names: Sequence[str], metrics: Sequence[str], limit: int | None
) -> list[Point]:
    """Return the points of the named targets and metrics; of all if none is named.

    A name may be a part of a matrix or a pattern, as for targets of olympus.toml.

    Raises:
        ArtifactError: the history is damaged, foreign or newer.
        UsageError: the history does not exist, or does not have such a target or metric.
    """
    if not os.path.exists(path):
        raise UsageError(
            f"the history {display_path(path)} does not exist yet",
            hint="olympus build, check and bench write it",
        )
    if metrics:
        every = {point.figure.metric for point in read_points(path, limit=1)}
        metrics = [metric_named(name, every) for name in metrics]
    points = read_points(path, metrics=metrics, limit=limit)
    present = {point.figure.metric for point in points}
    if missing := [name for name in metrics if name not in present]:
        known = {point.figure.metric for point in read_points(path, limit=1)}
        hint = did_you_mean(missing[0], known, "it has")
        raise UsageError(f"the history has no metric {missing[0]!r}", hint=hint)
    known = {point.figure.target for point in points}
    # a target that had no matrix in earlier runs has the name of all its combinations
    selected = {name: [each for each in known if matching(name, [each])] for name in names}
    for name in names:
        if not selected[name]:
            _no_target(name, metrics, points)
    targets = {target for each in selected.values() for target in each}
    return [point for point in points if not names or point.figure.target in targets]


def _no_target(name: str, metrics: Sequence[str], points: Iterable[Point]) -> None:
    known = {point.figure.target for point in points}
    bases = {target.partition("@")[0] for target in known}
    what = f"no {' or '.join(metrics)} of a target" if metrics else "no target"
    hint = did_you_mean(name, known | bases, "it has")
    raise UsageError(f"the history has {what} {name!r}", hint=hint)


def history_of(
    path: Path,
    names: Sequence[str],
    metrics: Sequence[str],
    since: str | None,
    limit: int,
) -> History:
    """Return the lines of some metrics from a moment on, the latest `limit` runs of each.

    The search for changes uses all runs, also runs that are not shown.

    Raises:
        ArtifactError: the history is damaged, foreign or newer.
        UsageError: the history does not exist, or does not have such a target or metric.
    """
    points = chosen_points(path, names, metrics, max(limit, MAX_POINTS))
    every = (line.shortened(since, limit) for line in lines_of(points))
    lines = tuple(line for line in every if line is not None)
    return History(str(path), lines, reasons_of_changes(path, lines))
