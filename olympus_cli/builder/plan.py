"""The plan of a build: for each target a task, with the place of its outputs and its backends.

A target is built for all its backends at once, because one bundle holds them all: for all that are
asked for, and whose compilers are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import olympus
from olympus.errors import UsageError
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.store import Place, locate
from olympus_cli.faults.failure import Failure
from olympus_cli.program.bundle import SUFFIX
from olympus_cli.spec.model import TargetSpec

__all__ = ["Options", "Task", "plan"]


@dataclass(frozen=True)
class Options:
    """How to build; `jobs` of None is one for each processor, `time_limit` is for each target.

    `backend` is the only one of a target's backends to build for, any device of it if it has none.
    With `page` the report is written as a page too, with what is measured of the program on the
    CPU if there is `profile` besides.
    """

    jobs: int | None = None
    time_limit: float | None = None
    force: bool = False
    frozen: bool = False
    backend: olympus.Target | None = None
    page: bool = False
    profile: bool = False

    def labels(self, spec: TargetSpec) -> tuple[str, ...]:
        """The labels of the backends of `spec` that are to be built for."""
        return tuple(
            label
            for label, backend in spec.labels.items()
            if self.backend is None or _is_meant(self.backend, backend)
        )


def _is_meant(chosen: olympus.Target, backend: olympus.Target) -> bool:
    """Whether a choice, which may leave out the device and how many there are, means a backend."""
    for each in (backend, backend._replace(topology=None)):
        if chosen in (each, each._replace(device=None)):
            return True
    return False


@dataclass(frozen=True)
class Task:
    """One target to bring up to date, for the backends of `labels`; if `frozen`, only looked at.

    With `page` its outputs are to have the report as a page, and with `profile` that is to have
    what is measured.
    """

    spec: TargetSpec
    place: Place
    labels: tuple[str, ...]
    force: bool = False
    frozen: bool = False
    page: bool = False
    profile: bool = False


def plan(
    folders: Mapping[str, TargetSpec], root: Path, options: Options
) -> tuple[dict[str, Task], list[Outcome]]:
    """The task of each target by its name, and outcomes for those that can have no place."""
    tasks: dict[str, Task] = {}
    failed = []
    taken: dict[Path, str] = {}
    for folder, spec in folders.items():
        try:
            place = locate(root, folder, spec.name + SUFFIX)
            if (other := taken.setdefault(place.final, spec.name)) != spec.name:
                raise UsageError(f"{root / folder} leads to the folder of target {other!r}")
        except UsageError as error:
            failed.append(Outcome(spec.name, "failed", failure=Failure.of(error)))
        else:
            labels = options.labels(spec)
            how = options.force, options.frozen, options.page, options.profile
            tasks[spec.name] = Task(spec, place, labels, *how)
    return tasks, failed
