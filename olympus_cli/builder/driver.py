"""A whole build: plan it, run the tasks, replace the outputs and report the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from olympus.errors import UsageError
from olympus_cli.builder.freshness.index_use import IndexUse
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.output_place import locked_places
from olympus_cli.builder.plan import Options, Task, plan
from olympus_cli.builder.reasons import Skipped, Stated
from olympus_cli.builder.results.maintenance import clean_stores
from olympus_cli.builder.results.uploads import Uploads, uploading
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
    on_note: Callable[[str], None] = lambda _text: None


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

    The build folder is locked, and the folders to which links in it lead. With `selected` the index
    of the build folder is used: targets whose inputs are unchanged are not traced.

    Raises:
        UsageError: a directory cannot be made or locked.
        CompileError: another build has one for longer than the time limit.
    """
    with ExitStack() as stack:
        stack.enter_context(interrupts.terminations_raised())
        tasks, failed = plan(folders, root, options)
        # entered before the locks, so that other builds do not wait for the uploads
        shared = uploading(tasks, listener.on_warning, is_on=options.use is not None)
        tasks, uploads = stack.enter_context(shared)
        stack.enter_context(_locked(root, tasks, options, listener))
        use = None if selected is None else IndexUse(root, selected.root)
        build_of_tasks = _TasksBuild(tasks, options, listener, uploads, use)
        outcomes = build_of_tasks.run(failed, past, executor or LocalPool(options.jobs))
        if use is not None and selected is not None and not options.frozen:
            _save_index(use, selected, tasks)
    if options.use is not None:
        clean_stores(folders.values())
    names = [spec.name for spec in folders.values()]
    return [outcomes.get(name) or _skipped(name, outcomes.values()) for name in names]


def _locked(
    root: Path, tasks: Mapping[str, Task], options: Options, listener: Listener
) -> AbstractContextManager[None]:
    """Lock the folders of a build; they are made if a target is built."""
    places = [task.place for task in tasks.values()]
    can_create = bool(tasks) and not options.frozen
    return locked_places(root, places, listener.on_wait, can_create, options.time_limit)


def _save_index(use: IndexUse, selected: Selected, tasks: Mapping[str, Task]) -> None:
    if selected.key:
        use.add_request(selected.key, selected.files, tasks)
    use.save(selected.known)


class _TasksBuild:
    """The build of tasks whose folders are locked; `use` is the index, if it is used."""

    def __init__(
        self,
        tasks: Mapping[str, Task],
        options: Options,
        listener: Listener,
        uploads: Uploads,
        use: IndexUse | None,
    ) -> None:
        self._tasks, self._options, self._listener = tasks, options, listener
        self._uploads, self._use = uploads, use
        self._fresh = {} if use is None else use.fresh(tasks)
        self._waiting = {
            name: task if use is None else use.with_change(task)
            for name, task in tasks.items()
            if name not in self._fresh
        }
        self._because = use.reasons(self._waiting) if use is not None and options.explain else {}

    def run(
        self, failed: Iterable[Outcome], past: Mapping[str, LastBuild], executor: Executor
    ) -> dict[str, Outcome]:
        """Run the tasks that are not fresh; return the outcomes by name, with those in `failed`.

        With `fail_fast` there are no more outcomes after the first failure.
        """
        outcomes: dict[str, Outcome] = {}
        builds = last_builds(self._waiting, past)
        self._listener.on_order(builds)
        limits, on_stage = self._options.limits, self._listener.on_stage
        with closing(run_tasks(self._waiting, executor, limits, on_stage, builds)) as running:
            for outcome in chain(failed, self._fresh.values(), running):
                outcomes[outcome.target] = finished = self._finished(outcome)
                self._listener.on_outcome(finished)
                if self._options.fail_fast and finished.failure is not None:
                    break
        return outcomes

    def _finished(self, outcome: Outcome) -> Outcome:
        """Replace the outputs of a target, add it to the index and start its upload."""
        name = outcome.target
        if outcome.staged:
            outcome = _commit(self._tasks[name], outcome)
        if self._use is not None and name in self._waiting:
            self._use.add(self._waiting[name], outcome)
        if outcome.status == "built" and outcome.report is not None:
            self._uploads.add(outcome.report)
        return replace(outcome, traced_because=self._because.get(name, ()))


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
