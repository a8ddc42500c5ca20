"""The update of a target's built files: compare content keys, then refresh lines or compile."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import olympus
from olympus.errors import ArtifactError, BackendError, OlympusError, UsageError
from olympus_cli.builder.key import FIGURES, content_keys, device_figures
from olympus_cli.builder.manifest import Manifest
from olympus_cli.builder.outcome import Outcome, Status
from olympus_cli.builder.outputs import compile_and_write
from olympus_cli.builder.plan import Task
from olympus_cli.builder.reasons import Forced, OutputMissing, Reason, Renewed
from olympus_cli.builder.record import Record, read_record, reasons_to_build
from olympus_cli.builder.refreshing import Moves, moves_of, refresh
from olympus_cli.builder.results.compile_process import has_helper
from olympus_cli.faults.failure import Failure
from olympus_cli.program.stages import Program
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.json import PAGE
from olympus_cli.workers.call import OnStage

_MOVED = Renewed("its source lines were renewed")
_SPLIT = Renewed("operations of one source line, or of one name scope, are at several now")
_FIGURES = Renewed("its estimates were renewed: the figures of a device have changed")
_QUIET: tuple[Reason, ...] = (_MOVED, _FIGURES)  # updates that the user did not request
_MEASURED = Renewed("it was measured again")


def bring_up_to_date(program: Program, task: Task, on_stage: OnStage) -> Outcome:
    """Bring the built files of a target up to date with `program`, lowered for its backends.

    New files are written to a staging folder; the caller moves them into place. Backends whose
    compiler is not installed are removed from `program`.

    Raises:
        UsageError: the outputs cannot be written.
        OlympusError: the errors of `Program.compile`.
    """
    name = program.spec.name
    with program.clock.part("compare"):
        record = read_record(task.place.final)
        if not task.frozen and (task.force or record is None):
            _start_runtime(program, on_stage)
        wanted = content_keys(program)
    # outputs that would be built with all compilers installed are stale, even if some are absent
    absent = None if task.frozen else program.leave_out_absent()
    keys = {unit.label: wanted[unit.label] for unit in program.units}
    others = task.spec.all_labels.keys() - keys.keys()
    failure = _incomplete(absent, wanted.keys() - keys.keys())
    explain = partial(_explained, program, record, task)
    reasons = [Forced()] if task.force else reasons_to_build(record, keys, others, explain)
    if reasons:
        because = Outcome.because(name, reasons)
        if task.frozen:
            return replace(because, status="stale", failure=failure)
        report = _built(program, keys, task, on_stage)
        return replace(because, status="built", failure=failure, report=report, staged=True)
    assert record is not None
    return replace(_refreshed(program, record, task, on_stage), failure=failure)


def _explained(program: Program, record: Record | None, task: Task, label: str) -> Sequence[Reason]:
    """Return the reasons why the key of a backend differs.

    If no source file explains it, the program is traced again in other processes. A warning is
    added if these traces differ, because such a program is stale at every build.
    """
    # imported here because only a build with a reason to explain needs to compare programs
    from olympus_cli.builder.differences import are_of_operations, are_of_program, reasons_of
    from olympus_cli.builder.retracing import unstable_warning
    from olympus_cli.builder.source_digest import source_digest

    assert record is not None and record.report is not None
    reasons = reasons_of(program, label, record.report, task.place.final)
    has_reason = task.has_changed_input  # a data file, for example, explains the other program
    unchanged = not has_reason and Manifest.read(task.place.final).sources == source_digest()
    if not task.frozen and (are_of_program if unchanged else are_of_operations)(reasons):
        warning = unstable_warning(program, label, golden=False, elsewhere=unchanged)
        program.warnings += [warning] if warning else []
    return reasons


def is_outdated(program: Program, directory: Path) -> bool:
    """Return True if the outputs in `directory` need new source lines or new estimates of time.

    Their content key is that of the program. Estimates depend on the calibration of the CPU and on
    the table of devices, which are not in the key.
    """
    moves = _moves(program, directory)
    has_moved = moves is not None and moves.are_needed
    return has_moved or not _has_figures(program, directory)


def _has_figures(program: Program, directory: Path) -> bool:
    """Return True if the estimates use the present figures of the devices."""
    try:
        parts = Manifest.read(directory).parts
    except ArtifactError:
        return False
    return all(
        parts.get(unit.label, {}).get(FIGURES) == device_figures(unit.backend)
        for unit in program.units
    )


def _refreshed(program: Program, record: Record, task: Task, on_stage: OnStage) -> Outcome:
    """Refresh outputs with the program's key: update source lines, add a requested page."""
    fresh = Outcome(program.spec.name, "fresh", report=record.report)
    lacks_page = task.page and not record.has_page
    if task.frozen:
        stale = Outcome.because(fresh.target, [OutputMissing(PAGE)])
        return replace(stale, report=record.report) if lacks_page else fresh
    whole = _with_all_backends(program, record)
    moves = None if whole is None else _moves(whole, task.place.final)
    reason = _reason_to_refresh(program, moves, record, task)
    if reason is None:
        return fresh
    if whole is not None and moves is not None and moves.are_exact:
        try:
            directory, project = task.place.stage(), task.place.path_to(task.spec.root)
        except UsageError:
            if reason in _QUIET:  # a folder that is in use or read-only is not changed
                return fresh
            raise
        options = directory, project, on_stage, task.page, task.profile
        if (task.page or record.has_page) and not whole.has_stacks:
            whole = whole.lowered_for(record.keys, stacks=True)
        try:
            report = refresh(whole, record, moves, task.place.final, *options)
            status: Status = "fresh" if reason in _QUIET else "built"
            because = Outcome.because(fresh.target, [reason])
            return replace(because, status=status, report=report, staged=True)
        except OSError as error:
            raise _unwritable(error) from error
        except ArtifactError:  # the compiler's files have an unknown form
            pass
    keys = content_keys(program)
    report = _built(program, keys, task, on_stage)
    because = Outcome.because(fresh.target, [reason])
    return replace(because, status="built", report=report, staged=True)


def _reason_to_refresh(
    program: Program, moves: Moves | None, record: Record, task: Task
) -> Reason | None:
    if task.profile:
        return _MEASURED
    if task.page and not record.has_page:
        return OutputMissing(PAGE)
    if moves is None:
        return None
    if moves.are_needed:
        return _MOVED if moves.are_exact else _SPLIT
    return None if _has_figures(program, task.place.final) else _FIGURES


def _with_all_backends(program: Program, record: Record) -> Program | None:
    """Return the program with a unit for each backend that `record` has.

    Return None if `record` has outputs of another program for a backend that this build skips.
    """
    missing = record.keys.keys() - {unit.label for unit in program.units}
    if not missing:
        return program
    if not missing <= program.spec.all_labels.keys():
        return None
    whole = program.lowered_for(record.keys)
    return whole if content_keys(whole) == record.keys else None


def _moves(program: Program, directory: Path) -> Moves | None:
    try:
        return moves_of(program, directory)
    except ArtifactError:
        return None


def _start_runtime(program: Program, on_stage: OnStage) -> None:
    """Start the CPU's runtime in a thread, while the keys are computed.

    The compilation for one device needs it, unless a helper compiles. It also reports errors in
    the runtime's settings.
    """
    if has_helper(on_stage):
        return

    def start() -> None:
        with suppress(OlympusError):
            olympus.devices("cpu")

    if any(unit.kind == "cpu" and unit.lowered.num_devices == 1 for unit in program.units):
        Thread(target=start, name="olympus-runtime", daemon=True).start()


def _incomplete(absent: BackendError | None, labels: Collection[str]) -> Failure | None:
    """Return the failure of a target that was not built for the backends of `labels`."""
    if absent is None:
        return None
    failure = Failure.of(absent)
    return replace(failure, message=f"not built for {', '.join(sorted(labels))}: {absent}")


def _built(program: Program, keys: Mapping[str, str], task: Task, on_stage: OnStage) -> Report:
    program.check_trips()
    directory, project = task.place.stage(), task.place.path_to(task.spec.root)
    try:
        return compile_and_write(
            program, keys, directory, project, on_stage, task.page, task.profile, task.use
        )
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> UsageError:
    return UsageError(f"the outputs cannot be written: {error}")
