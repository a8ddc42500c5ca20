"""A whole build: plan it, run the tasks, replace the outputs and report the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from olympus.errors import UsageError
from olympus_cli.builder.freshness.index_use import IndexUse
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.output_place import locked
from olympus_cli.builder.plan import Options, Task, plan
from olympus_cli.builder.reasons import Skipped, Stated
from olympus_cli.builder.results.maintenance import clean_stores
from olympus_cli.builder.results.uploads import uploading
from olympus_cli.builder.schedule import LastBuild
from olympus_cli.builder.tasks import last_builds, run_tasks
from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.executor import Executor, OnTargetStage
from olympus_cli.workers.pool import LocalPool


@dataclass(frozen=True)
class Listener:
    """The callbacks of a build; by default they do nothing.

    `on_order` gets the last builds of the targets, by which they are ordered.
    """

    on_wait: Callable[[Path], None] = lambda _root: None
    on_order: Callable[[Mapping[str, LastBuild]], None] = lambda _builds: None
    on_stage: OnTargetStage = lambda _target, _stage: None
    on_outcome: Callable[[Outcome], None] = lambda _outcome: None
    on_warning: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True)
class Selected:
    """The selection of a project's targets: with it, a build uses the index of the build folder.

    `key` identifies the request, if it is not empty. `root` is the project's folder, `files`
    declare its targets, and `known` are the names of all targets.
    """

    key: str
    root: Path
    files: tuple[Path, ...]
    known: Collection[str]


_AS_USUAL = Options()
_NOBODY = Listener()
_NO_PAST: Mapping[str, LastBuild] = MappingProxyType({})


def build(
    folders: Mapping[str, TargetSpec],
    root: Path,
    options: Options = _AS_USUAL,
    listener: Listener = _NOBODY,
    selected: Selected | None = None,
    *,
    past: Mapping[str, LastBuild] = _NO_PAST,
    executor: Executor | None = None,
) -> list[Outcome]:
    """Bring the targets up to date, each in its folder of `root`; outcomes are in their order.

    If a target fails, its last good outputs do not change, and its outcome has the failure. The
    other targets continue; with `fail_fast` in the options, they are ended and skipped. `past` are
    the last builds of targets without outputs. The works run by `executor`; by default, on this
    machine.

    A folder that is a link is followed, and the directory that it leads to is locked as well. With
    `selected` the index of the build folder is used: targets whose inputs are unchanged are not
    traced.

    Raises:
        UsageError: a directory cannot be made or locked.
        CompileError: another build has one for longer than the time limit.
    """
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as stack:
        stack.enter_context(interrupts.terminations_raised())
        tasks, failed = plan(folders, root, options)
        # entered before the locks, so that other builds do not wait for the uploads
        shared = uploading(tasks, listener.on_warning, is_on=options.use is not None)
        tasks, uploads = stack.enter_context(shared)
        for parent in sorted({task.place.final.parent for task in tasks.values()}):
            lock = locked(parent, listener.on_wait, not options.frozen, options.time_limit)
            stack.enter_context(lock)
        use = None if selected is None else IndexUse(root, selected.root)
        fresh = {} if use is None else use.fresh(tasks)
        waiting = {name: task for name, task in tasks.items() if name not in fresh}
        because = use.reasons(waiting) if use is not None and options.explain else {}
        place = executor or LocalPool(options.jobs)
        builds = last_builds(waiting, past)
        listener.on_order(builds)
        running = run_tasks(waiting, place, options.limits, listener.on_stage, builds)
        for outcome in chain(failed, fresh.values(), stack.enter_context(closing(running))):
            name = outcome.target
            if outcome.staged:
                outcome = _commit(tasks[name], outcome)
            if use is not None and name in waiting:
                use.add(waiting[name], outcome)
            outcome = replace(outcome, traced_because=because.get(name, ()))
            outcomes[name] = outcome
            if outcome.status == "built" and outcome.report is not None:
                uploads.add(outcome.report)
            listener.on_outcome(outcome)
            if options.fail_fast and outcome.failure is not None:
                break
        if use is not None and selected is not None and not options.frozen:
            if selected.key:
                use.add_request(selected.key, selected.files, tasks)
            use.save(selected.known)
    if options.use is not None:
        clean_stores(folders.values())
    names = [spec.name for spec in folders.values()]
    return [outcomes.get(name) or _skipped(name, outcomes.values()) for name in names]


def _skipped(name: str, outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a target that was not built because another one failed."""
    failed = next(outcome.target for outcome in outcomes if outcome.failure is not None)
    return Outcome(name, "skipped", (Stated.of(Skipped(failed)),))


def _commit(task: Task, outcome: Outcome) -> Outcome:
    try:
        task.place.commit()
    except UsageError as error:
        return replace(outcome, status="failed", failure=Failure.of(error))
    return outcome
