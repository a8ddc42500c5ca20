"""The up-to-date build of a target, for every command that needs an executable or its figures.

A traced and lowered program is looked up by its content key among the outputs of its target. If it
is not up to date, it is compiled and becomes the build of the target. A program without its own
folder, such as an entry, is compiled but not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from olympus.errors import ArtifactError, CompileError, OlympusError, UsageError
from olympus.files import read_regular
from olympus_cli.builder.folder_locks import Lock, own_lock
from olympus_cli.builder.key import content_keys
from olympus_cli.builder.output_place import locate, locked
from olympus_cli.builder.plan import Task
from olympus_cli.builder.record import Record, read_record
from olympus_cli.builder.refreshing import moves_of
from olympus_cli.builder.results.compiling import compiling
from olympus_cli.builder.update import bring_up_to_date, is_outdated
from olympus_cli.program.inputs import check_input_memory
from olympus_cli.program.runnable import Runnable, label_to_run, runnable
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.json import REPORT
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage

_MAX_BYTES = 2**40  # of an executable


@dataclass(frozen=True)
class Build:
    """The outputs of a program in a folder, with the report on them.

    If not `is_current`, source lines or the device figures that the estimates use have changed
    since the build: the executables are valid, but the figures may be outdated.
    """

    folder: Path
    report: Report
    is_current: bool = True


class Store(Protocol):
    """A place with builds by content key: the folder of a target, or a shared one."""

    def up_to_date(self, program: Program, on_stage: OnStage) -> Build | None:
        """Return the build of a lowered program, compiled if need be; None if it has no place."""


class TargetFolder:
    """The store of one target: the folder of its outputs, which has one build of it.

    `lock` is the lock under which the folder is replaced; by default this process takes its own.
    """

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock

    def up_to_date(self, program: Program, on_stage: OnStage) -> Build | None:
        """Return the build of a lowered program in its target's folder, up to date.

        None for a program that is not a target's, whose folder cannot be written or has up-to-date
        outputs for other backends, or whose arguments no bundle can store.

        Raises:
            OlympusError: the errors of `Program.compile`.
        """
        outputs = program.spec.outputs
        if outputs is None:
            return None
        labels = tuple(unit.label for unit in program.units)
        build = None
        with suppress(UsageError):
            place = locate(
                outputs.path.parent, outputs.path.name, program.spec.name + BUNDLE_SUFFIX
            )
            place.check_owner(program.spec.root)
            task = Task(program.spec, place, labels)
            build = _usable(program, place.final)
            if build is None:
                build = _built(program, task, on_stage, self._lock or own_lock(on_stage))
            elif not build.is_current:
                build = (
                    _refreshed(program, task, on_stage, self._lock or own_lock(on_stage)) or build
                )
        return build


def _usable(program: Program, folder: Path) -> Build | None:
    """Return the build in the folder if its key is the program's and its executables are intact.

    Files that no command needs may differ, such as a bundle that was signed in place.
    """
    record = read_record(folder)
    keys = content_keys(program)
    if record is None or record.report is None or not keys.items() <= record.keys.items():
        return None
    needed = {REPORT, *(f"{label}/{name}" for label in keys for name in _NEEDED)}
    if not needed.isdisjoint(record.damaged):
        return None
    return Build(folder, record.report, not is_outdated(program, folder))


_NEEDED = ("executable.bin", "optimized.hlo.txt")


def _built(program: Program, task: Task, on_stage: OnStage, lock: Lock) -> Build | None:
    """Return the build in the folder after compiling it; None if other builds would be lost.

    Raises:
        UsageError: the folder cannot be written.
    """
    folder = task.place.final
    with lock(folder, None):
        build = _usable(program, folder)  # another build may have made it in the meantime
        if build is not None or not _may_write(program, read_record(folder)):
            return build
        return _brought_up_to_date(program, task, on_stage)


def _refreshed(program: Program, task: Task, on_stage: OnStage, lock: Lock) -> Build | None:
    """Return the build in the folder with the present lines; None if another build is running."""
    folder = task.place.final
    try:
        with lock(folder, 0):
            record = read_record(folder)
            if record is None or record.damaged or record.trouble:  # it would be compiled
                return None
            return _brought_up_to_date(program, task, on_stage)
    except (CompileError, UsageError):  # it is locked, or cannot be written
        return None


def _brought_up_to_date(program: Program, task: Task, on_stage: OnStage) -> Build | None:
    outcome = bring_up_to_date(program, task, on_stage)
    if outcome.staged:
        task.place.commit()
    return None if outcome.report is None else Build(task.place.final, outcome.report)


def _may_write(program: Program, record: Record | None) -> bool:
    """Return True if new outputs replace no up-to-date outputs for other backends."""
    own = {unit.label for unit in program.units}
    others = (
        set() if record is None else (record.keys.keys() - own) & program.spec.all_labels.keys()
    )
    if record is None or not others:
        return True
    keys = content_keys(program.lowered_for(others))
    return all(record.keys[label] != key for label, key in keys.items())


_TARGET_FOLDER = TargetFolder()


def up_to_date(program: Program, on_stage: OnStage, store: Store = _TARGET_FOLDER) -> Build | None:
    """Return the up-to-date build of a lowered program, compiled and stored if necessary.

    None for a program that `store` does not keep up to date. Units whose compiler is not installed
    are left out.

    Raises:
        OlympusError: the errors of `Program.compile`.
    """
    program.leave_out_absent()
    build = store.up_to_date(program, on_stage)
    return build if build is not None and build.is_current else None


def give_executables(program: Program, on_stage: OnStage, store: Store = _TARGET_FOLDER) -> None:
    """Give each unit of a lowered program its executable, from its up-to-date build if it has one.

    Raises:
        OlympusError: the errors of `Program.compile`.
    """
    build = store.up_to_date(program, on_stage)
    waiting = [unit for unit in program.units if unit.compiled is None]
    if not waiting:  # they were compiled just now
        return
    if build is None or not _load(build, program, waiting, on_stage):
        compiling(program, runs=True).compile(program, on_stage)


def ready_to_run(spec: TargetSpec, on_stage: OnStage = lambda _stage: None) -> Runnable:
    """Return the program of a target, with its executable for an available backend.

    `on_stage` gets the stages.

    Raises:
        BackendError: no device of its backends is available; nothing is imported then.
        MemoryError: its arguments need more memory than is available; nothing is compiled then.
        OlympusError: the errors of the stages.
    """
    program = lowered_to_run(spec, on_stage)
    give_executables(program, on_stage)
    return runnable(program)


def lowered_to_run(spec: TargetSpec, on_stage: OnStage) -> Program:
    """Return the program of a target, lowered for its first available backend.

    Raises the errors of `ready_to_run`.
    """
    label = label_to_run(spec)
    program = Program.of(spec, on_stage, until="trace")
    if spec.labels[label].backend == "cpu":
        check_input_memory(program.arguments)
    program.lower([label])
    return program


def _load(build: Build, program: Program, units: Sequence[Unit], on_stage: OnStage) -> bool:
    """Load the executables of a build; return False if it was replaced or cannot be read."""
    try:
        moves = moves_of(program, build.folder)
        for unit in units:
            on_stage(f"load for {unit.label}")
            content = _executable(build, unit.label)
            if unit.kind == "cpu":  # the folder may have been built elsewhere, or before a comment
                content = moves.relocations[unit.label].in_executable(content)
            unit.compiled = unit.lowered.load(content)
    except (OSError, ArtifactError):
        return False
    return True


def _executable(build: Build, label: str) -> bytes:
    """Return the bytes of an executable, and check that their digest is that of the report."""
    name = f"{label}/executable.bin"
    content = read_regular(build.folder / name, _MAX_BYTES)
    known = {file.path: file.sha256 for file in build.report.outputs}
    if hashlib.sha256(content).hexdigest() != known.get(name):
        raise ArtifactError(f"{name} is not the one that was built")
    return content


@contextmanager
def clearing(spec: TargetSpec | None) -> Iterator[None]:
    """A context for work in another process that may build; a failure leaves no partial files.

    If the work fails, unfinished files are removed, unless another build is running there.
    """
    try:
        yield
    except BaseException:
        if spec is not None and spec.outputs is not None:
            with suppress(OlympusError), locked(spec.outputs.path.parent, make=False, time_limit=0):
                pass  # the lock removes it
        raise
