"""The checks of targets, each in a separate process, several at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from olympus.errors import ArtifactError, CompileError, OlympusError
from olympus_cli.builder.folder_locks import FolderLocks
from olympus_cli.check.check import Checked, check_in_worker
from olympus_cli.check.golden import check_golden
from olympus_cli.check.golden_files import program_path, read_program
from olympus_cli.spec.model import TargetSpec
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import Ended, call
from olympus_cli.workers.executor import Limits, OnTargetStage, Work
from olympus_cli.workers.pool import run_all


@dataclass(frozen=True)
class CheckEnd:
    """The end of the check of one target: its result, or the error that it failed with.

    `log` is the text that the program printed, if it did not go to stderr already.
    """

    target: str
    seconds: float
    log: str = ""
    checked: Checked | None = None
    error: OlympusError | None = None

    def result(self) -> Checked:
        """Return the result of the check.

        Raises:
            OlympusError: the error that the check failed with.
        """
        if self.error is not None:
            raise self.error
        assert self.checked is not None
        return self.checked


def check_targets(
    specs: Sequence[TargetSpec],
    update: bool,
    jobs: int,
    limits: Limits,
    locks: FolderLocks,
    on_stage: OnTargetStage,
) -> Generator[CheckEnd, None, None]:
    """Check targets in at most `jobs` processes; yield the checks in the order in which they end.

    Each process traces its target once, rebuilds it if a limit needs the executable and the build
    is stale, and checks it. The process of a single target has this process's stdin, and its
    program prints to stderr. All processes are ended when the iteration ends, also early.
    """
    works = [Work(spec.name, check_in_worker, (spec, update, True)) for spec in specs]
    by_name = {spec.name: spec for spec in specs}
    running = run_all(
        works,
        jobs,
        action="checks",
        quiet=len(specs) > 1,
        limits=limits,
        on_stage=on_stage,
        on_request=locks.answer,
    )
    with closing(running):
        for done in running:
            log = done.ended.output
            try:
                checked = _returned(done.ended, by_name[done.name], update)
            except OlympusError as error:
                yield CheckEnd(done.name, done.seconds, log, error=error)
            else:
                yield CheckEnd(done.name, done.seconds, log, checked)


def _returned(ended: Ended, spec: TargetSpec, update: bool) -> Checked:
    """Return the result of `check_in_worker`.

    Raises:
        ArtifactError: the golden program is damaged; the message names its file.
        OlympusError: the check raised an error, which has the same class here.
        CompileError: the process died.
    """
    if ended.failure is None:
        return Checked.from_data(ended.data)
    error = ended.failure.error()
    if isinstance(error, CompileError) and spec.golden and not update:
        _check_goldens(spec)  # the parser may have crashed on the golden program
    raise error


def check_target(spec: TargetSpec) -> Checked:
    """Check a target in a separate process; errors include the program's output.

    Raises:
        ArtifactError: the golden program is damaged; the message names its file.
        OlympusError: the check raised an error, which has the same class here.
        CompileError: the process died.
    """
    try:
        work = call(check_in_worker, spec, False, False, action="checks", quiet=True)
    except CompileError:  # the parser may have crashed on the golden program
        if spec.golden:
            _check_goldens(spec)
        raise
    return Checked.from_data(work)


def _check_goldens(spec: TargetSpec) -> None:
    """Read each golden program of a target in a separate process.

    Raises:
        ArtifactError: one cannot be read, or its process died; the message names the file.
    """
    for label in spec.labels:
        path = program_path(spec.root, spec.name, label)
        saved = read_program(spec.root, spec.name, label)
        if saved is None:
            continue
        does = f"reads the golden program {display_path(path)}"
        try:
            call(check_golden, saved, action=does, quiet=True, death=ArtifactError)
        except ArtifactError as error:
            hint = f"olympus check {spec.name} --update saves it again, or git restore {path}"
            raise ArtifactError(str(error), hint=hint) from error
