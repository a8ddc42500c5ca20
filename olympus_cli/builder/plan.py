"""The plan of a build: for each target a task, with its output folder and its backends.

A target is built for all its backends together, because one bundle contains them all. These are the
requested backends whose compilers are installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import olympus
from olympus.errors import UsageError
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.output_place import Place, locate
from olympus_cli.faults.failure import Failure
from olympus_cli.spec.cache import Use
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.executor import Limits


@dataclass(frozen=True)
class Options:
    """The options of a build.

    `jobs` None is one per processor. `time_limit` is in seconds and `memory_limit` in bytes for
    each target. `backend` is the only one of a target's backends to build for; without a device it
    matches every device. With `page` the report is also written as a page; with `profile` the page
    includes measurements on the CPU. With `fail_fast` the first failure ends the build. `use` is
    the use of stored results; with None there is no store. With `explain` the outcomes have the
    reasons to trace each target.
    """

    jobs: int | None = None
    time_limit: float | None = None
    force: bool = False
    frozen: bool = False
    backend: olympus.Target | None = None
    page: bool = False
    profile: bool = False
    memory_limit: int | None = None
    fail_fast: bool = False
    use: Use | None = "read"
    explain: bool = False

    @property
    def limits(self) -> Limits:
        """The limits of each target."""
        return Limits(self.time_limit, self.memory_limit)

    def labels(self, spec: TargetSpec) -> tuple[str, ...]:
        """Return the labels of the backends of `spec` to build for."""
        return tuple(
            label
            for label, backend in spec.labels.items()
            if self.backend is None or _is_meant(self.backend, backend)
        )


def _is_meant(chosen: olympus.Target, backend: olympus.Target) -> bool:
    """Return True if a choice matches a backend; it may omit the device and the topology."""
    for target in (backend, backend._replace(topology=None)):
        if chosen in (target, target._replace(device=None)):
            return True
    return False


@dataclass(frozen=True)
class Task:
    """One target to bring up to date for the backends of `labels`; if `frozen`, only compared.

    With `page` its outputs include the report as a page; with `profile` the page includes
    measurements. `has_changed_input` is True if an input of the last trace is known to have
    changed.
    """

    spec: TargetSpec
    place: Place
    labels: tuple[str, ...]
    force: bool = False
    frozen: bool = False
    page: bool = False
    profile: bool = False
    use: Use | None = "read"
    has_changed_input: bool = False


def plan(
    folders: Mapping[str, TargetSpec], root: Path, options: Options
) -> tuple[dict[str, Task], list[Outcome]]:
    """Return the task of each target by name, and outcomes for targets without a valid folder."""
    tasks: dict[str, Task] = {}
    failed = []
    owners: dict[Path, str] = {}
    for folder, spec in folders.items():
        try:
            place = locate(root, folder, spec.name + BUNDLE_SUFFIX)
            if (other := owners.setdefault(place.final, spec.name)) != spec.name:
                raise UsageError(f"{root / folder} leads to the folder of target {other!r}")
        except UsageError as error:
            failed.append(Outcome(spec.name, "failed", failure=Failure.of(error)))
        else:
            labels = options.labels(spec)
            settings = options.force, options.frozen, options.page, options.profile, options.use
            tasks[spec.name] = Task(spec, place, labels, *settings)
    return tasks, failed
