"""The last builds of targets, from the history of their project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olympus.errors import OlympusError
from olympus_cli.builder.schedule import LastBuild
from olympus_cli.spec.model import Project

if TYPE_CHECKING:
    from olympus_cli.history.points import Point

_TIME, _MEMORY = "build-time", "build-memory"


def recorded_builds(project: Project, targets: Sequence[str]) -> dict[str, LastBuild]:
    """Return the last builds of those of `targets` that the project's history has.

    A single target has no order, and a history that cannot be read has none: it is only needed for
    the order of a build.
    """
    if len(targets) < 2 or project.history is None or not project.history.is_file():
        return {}
    from olympus_cli.history.store import read_points  # slow to import

    try:
        points = read_points(project.history, metrics=(_TIME, _MEMORY), limit=1)
    except OlympusError:
        return {}
    named = set(targets)
    seconds = _latest([point for point in points if point.figure.metric == _TIME], named)
    memory = _latest([point for point in points if point.figure.metric == _MEMORY], named)
    return {
        name: LastBuild(value, int(memory[name]) if name in memory else None)
        for name, value in seconds.items()
    }


def _latest(points: Sequence[Point], targets: set[str]) -> dict[str, float]:
    """Return the last of the points of each target, which are in the order of time."""
    own = (point.figure for point in points if point.figure.target in targets)
    return {figure.target: figure.value for figure in own}
