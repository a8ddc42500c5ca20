"""A whole build: plan it, run the tasks, replace the outputs and report the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.output_place import locked
from olympus_cli.builder.plan import Options, Task, plan
from olympus_cli.builder.tasks import run_tasks
from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.pool import OnTargetStage, default_jobs


@dataclass(frozen=True)
class Listener:
    """The callbacks of a build; by default they do nothing."""

    on_wait: Callable[[Path], None] = lambda _root: None
    on_stage: OnTargetStage = lambda _target, _stage: None
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

    If a target fails, its last good outputs do not change, and its outcome has the failure.

    A folder that is a link is followed, and the directory that it leads to is locked as well.

    Raises:
        UsageError: a directory cannot be made or locked.
        CompileError: another build has one for longer than the time limit.
    """
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as stack:
        stack.enter_context(interrupts.terminations_raised())
        tasks, failed = plan(folders, root, options)
        for parent in sorted({task.place.final.parent for task in tasks.values()}):
            lock = locked(parent, listener.on_wait, not options.frozen, options.time_limit)
            stack.enter_context(lock)
        jobs = options.jobs or default_jobs()
        running = run_tasks(list(tasks.values()), jobs, options.time_limit, listener.on_stage)
        for outcome in chain(failed, stack.enter_context(closing(running))):
            if outcome.staged:
                outcome = _commit(tasks[outcome.target], outcome)
            outcomes[outcome.target] = outcome
            listener.on_outcome(outcome)
    return [outcomes[spec.name] for spec in folders.values()]


def _commit(task: Task, outcome: Outcome) -> Outcome:
    try:
        task.place.commit()
    except UsageError as error:
        return replace(outcome, status="failed", failure=Failure.of(error))
    return outcome
