"""The up-to-date build of a target, for every command that needs an executable or its figures.

A program that was traced and lowered is looked up by its content key among the outputs of its
target.  What is not up to date is compiled and becomes the build of the target.  A program without
a folder of its own, such as an entry, is compiled and not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from olympus.errors import ArtifactError, UsageError
from olympus.files import read_regular
from olympus_cli.builder.key import content_keys
from olympus_cli.builder.plan import Task
from olympus_cli.builder.record import Record, read_record
from olympus_cli.builder.store import locate, locked
from olympus_cli.builder.update import bring_up_to_date, is_outdated
from olympus_cli.frontends.python import load_target
from olympus_cli.isolated.call import Say
from olympus_cli.program.bundle import SUFFIX
from olympus_cli.program.inputs import check_memory
from olympus_cli.program.runnable import Runnable, label_to_run, runnable
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.model import Report
from olympus_cli.spec.model import TargetSpec

__all__ = [
    "Build",
    "Store",
    "TargetFolder",
    "give_executables",
    "lowered_to_run",
    "ready_to_run",
    "up_to_date",
]


_MOST_BYTES = 2**40  # of an executable


@dataclass(frozen=True)
class Build:
    """The outputs of a program in a folder, with the report on them."""

    folder: Path
    report: Report


class Store(Protocol):
    """A place that has builds by content key: the folder of a target, or one that is shared."""

    def up_to_date(self, program: Program, say: Say) -> Build | None:
        """Return the build of a lowered program, compiled if need be; None if it has no place."""


class TargetFolder:
    """The store of one target: the folder of its outputs, which has one build of it."""

    def up_to_date(self, program: Program, say: Say) -> Build | None:
        """Return the build of a lowered program in its target's folder, up to date.

        None for a program that is no target's, whose folder cannot be written or has outputs for
        other backends that are up to date, or whose arguments no bundle can store.

        Raises:
            OlympusError: what `Program.compile` raises.
        """
        outputs = program.spec.outputs
        if outputs is None:
            return None
        labels = tuple(unit.label for unit in program.units)
        try:
            place = locate(outputs.path.parent, outputs.path.name, program.spec.name + SUFFIX)
            place.check_owner(program.spec.root)
            task = Task(program.spec, place, labels)
            found = _fresh(program, task, say)
            if found is None or is_outdated(program, found.report, place.final):
                found = _renewed(program, task, say) or found
        except UsageError:
            return None
        return found


def _fresh(program: Program, task: Task, say: Say) -> Build | None:
    """The build in the folder if it has the key of the program; nothing is written."""
    found = bring_up_to_date(program, replace(task, frozen=True), say)
    return None if found.report is None else Build(task.place.final, found.report)


def _renewed(program: Program, task: Task, say: Say) -> Build | None:
    """The build in the folder after it was compiled, or its source lines were renewed.

    Raises:
        UsageError: the folder cannot be written.
    """
    folder = task.place.final
    with locked(folder.parent, lambda _root: say("wait for another build")):
        if not _may_write(program, read_record(folder)):
            return None
        found = bring_up_to_date(program, task, say)
        if found.staged:
            task.place.commit()
    return None if found.report is None else Build(folder, found.report)


def _may_write(program: Program, record: Record | None) -> bool:
    """Whether new outputs for these backends replace none for others that are up to date."""
    if record is None:
        return True
    own = content_keys(program)
    others = (record.keys.keys() - own.keys()) & program.spec.all_labels.keys()
    if not others or own.items() <= record.keys.items():  # only its lines or its page are new
        return True
    keys = content_keys(program.lowered_for(others))
    return all(record.keys[label] != key for label, key in keys.items())


_TARGET_FOLDER = TargetFolder()


def up_to_date(program: Program, say: Say, store: Store = _TARGET_FOLDER) -> Build | None:
    """Return the build of a lowered program, which is compiled and kept if it is not up to date.

    None for a program that `store` does not keep.  Units that no compiler is here for are left out.

    Raises:
        OlympusError: what `Program.compile` raises.
    """
    program.leave_out_absent()
    return store.up_to_date(program, say)


def give_executables(program: Program, say: Say, store: Store = _TARGET_FOLDER) -> None:
    """Give each unit of a lowered program its executable, from its up-to-date build if it has one.

    Raises:
        OlympusError: what `Program.compile` raises.
    """
    found = store.up_to_date(program, say)
    waiting = [unit for unit in program.units if unit.compiled is None]
    if not waiting:  # they were compiled just now
        return
    if found is None or not _load(found, waiting, say):
        program.compile()


def ready_to_run(spec: TargetSpec, say: Say = lambda _stage: None) -> Runnable:
    """The program of a target, with its executable for a backend of it that is here.

    `say` gets the stages.

    Raises:
        BackendError: no device of its backends is here; nothing is imported then.
        MemoryError: its arguments need more memory than is available; nothing is compiled then.
        OlympusError: what the stages raise.
    """
    program = lowered_to_run(spec, say)
    give_executables(program, say)
    return runnable(program)


def lowered_to_run(spec: TargetSpec, say: Say) -> Program:
    """The program of a target, lowered for the first backend of it that is here.

    Raises what `ready_to_run` does.
    """
    label = label_to_run(spec)
    say("import")
    program = Program(load_target(spec), say)
    program.trace()
    if spec.labels[label].backend == "cpu":
        check_memory(program.arguments)
    program.lower([label])
    return program


def _load(build: Build, units: Sequence[Unit], say: Say) -> bool:
    """Whether the executables of a build could be loaded: it may be replaced meanwhile."""
    try:
        for unit in units:
            say(f"load for {unit.label}")
            unit.compiled = unit.lowered.load(_executable(build, unit.label))
    except (OSError, ArtifactError):
        return False
    return True


def _executable(build: Build, label: str) -> bytes:
    """The bytes of an executable, which must be those that the report is on."""
    name = f"{label}/executable.bin"
    content = read_regular(build.folder / name, _MOST_BYTES)
    known = {file.path: file.sha256 for file in build.report.outputs}
    if hashlib.sha256(content).hexdigest() != known.get(name):
        raise ArtifactError(f"{name} is not the one that was built")
    return content
