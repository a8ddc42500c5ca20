"""A build from end to end: plan, work, put in place, tell.

Target specs and options enter; an outcome for each target leaves, and in the build directory the
outputs of those that were built.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli import signals
from olympus_cli.build.outcome import Failure, Outcome
from olympus_cli.build.plan import Task, backend_labels
from olympus_cli.build.pool import OnStage, run_tasks
from olympus_cli.build.store import locate, locked
from olympus_cli.bundle import SUFFIX
from olympus_cli.spec.model import BackendSpec, TargetSpec

__all__ = ["Listener", "Options", "build"]


@dataclass(frozen=True)
class Options:
    """How to build; `jobs` of None is one for each processor, `time_limit` is for each target.

    `backend` is the only one of a target's backends to build for, any device of it if it has none.
    """

    jobs: int | None = None
    time_limit: float | None = None
    force: bool = False
    frozen: bool = False
    backend: BackendSpec | None = None

    def labels(self, spec: TargetSpec) -> tuple[str, ...]:
        """The labels of the backends of `spec` that are to be built for."""
        chosen = self.backend
        return tuple(
            label
            for label, backend in backend_labels(spec.backends).items()
            if chosen is None
            or backend == chosen
            or (backend.name == chosen.name and chosen.device is None)
        )


@dataclass(frozen=True)
class Listener:
    """Who hears what happens meanwhile: nobody, unless told."""

    on_wait: Callable[[Path], None] = lambda _root: None
    on_stage: OnStage = lambda _target, _stage: None
    on_outcome: Callable[[Outcome], None] = lambda _outcome: None


_AS_USUAL = Options()
_NOBODY = Listener()


def build(
    folders: Mapping[str, TargetSpec],
    root: Path,
    options: Options = _AS_USUAL,
    listener: Listener = _NOBODY,
) -> list[Outcome]:
    """Bring the targets up to date, each in its folder of `root`; outcomes are in their order.

    A target that fails leaves its last good outputs as they are and is told of in its outcome.

    A folder that is a link is followed, and the directory that it leads to locked as well.

    Raises:
        UsageError: a directory cannot be made or locked.
        CompileError: another build has one for longer than the time limit.
    """
    found: dict[str, Outcome] = {}
    with ExitStack() as stack:
        stack.enter_context(signals.raised())
        tasks, failed = _plan(folders, root, options)
        for parent in sorted({task.place.final.parent for task in tasks.values()}):
            held = locked(parent, listener.on_wait, not options.frozen, options.time_limit)
            stack.enter_context(held)
        jobs = options.jobs or _processors()
        running = run_tasks(list(tasks.values()), jobs, options.time_limit, listener.on_stage)
        for outcome in chain(failed, stack.enter_context(closing(running))):
            if outcome.status == "built":
                outcome = _commit(tasks[outcome.target], outcome)
            found[outcome.target] = outcome
            listener.on_outcome(outcome)
    return [found[spec.name] for spec in folders.values()]


def _plan(
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
            tasks[spec.name] = Task(spec, place, labels, options.force, options.frozen)
    return tasks, failed


def _commit(task: Task, outcome: Outcome) -> Outcome:
    try:
        task.place.commit()
    except UsageError as error:
        return replace(outcome, status="failed", failure=Failure.of(error))
    return outcome


def _processors() -> int:
    """How many processors this process may use, which a container or `taskset` limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
