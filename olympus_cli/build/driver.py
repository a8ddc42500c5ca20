"""A build from end to end: plan, work, put in place, tell.

Target specs and options enter; an outcome for each target leaves, and in the build directory the
outputs of those that were built.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from olympus_cli import signals
from olympus_cli.build.outcome import Outcome
from olympus_cli.build.plan import Task, read_record
from olympus_cli.build.pool import OnStage, run_tasks
from olympus_cli.build.store import Store
from olympus_cli.spec.model import TargetSpec

__all__ = ["Listener", "Options", "build"]


@dataclass(frozen=True)
class Options:
    """How to build; `jobs` of None is one for each processor, `time_limit` is for each target."""

    jobs: int | None = None
    time_limit: float | None = None
    force: bool = False
    frozen: bool = False


@dataclass(frozen=True)
class Listener:
    """Who hears what happens meanwhile: nobody, unless told."""

    on_wait: Callable[[], None] = lambda: None
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

    Raises:
        UsageError: a folder cannot be made, or holds something of the user's.
    """
    store = Store(root)
    folder_of = {spec.name: folder for folder, spec in folders.items()}
    found: dict[str, Outcome] = {}
    with (
        signals.raised(),
        store.locked(listener.on_wait),
        tempfile.TemporaryDirectory() as logs,
    ):
        tasks = [
            _task(spec, folder, store, Path(logs, str(number)), options)
            for number, (folder, spec) in enumerate(folders.items())
        ]
        jobs = options.jobs or _processors()
        for outcome in run_tasks(tasks, jobs, options.time_limit, listener.on_stage):
            if outcome.status == "built":
                store.commit(folder_of[outcome.target])
            found[outcome.target] = outcome
            listener.on_outcome(outcome)
    return [found[spec.name] for spec in folders.values()]


def _processors() -> int:
    """How many processors this process may use, which a container or `taskset` limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _task(spec: TargetSpec, folder: str, store: Store, log: Path, options: Options) -> Task:
    staging = None if options.frozen else store.stage(folder)
    return Task(spec, staging, log, read_record(store.final(folder)), options.force)
