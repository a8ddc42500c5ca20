"""One target brought up to date, in the process that a build has for it."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from threading import Thread
from typing import Any

import olympus
from olympus.errors import BackendError, OlympusError, UsageError
from olympus_cli.builder.key import content_keys
from olympus_cli.builder.outcome import Status
from olympus_cli.builder.outputs import compile_and_write
from olympus_cli.builder.plan import Task
from olympus_cli.builder.record import read_record, reason_to_build
from olympus_cli.faults.failure import Failure
from olympus_cli.frontends.python import load_target
from olympus_cli.isolated.call import Say
from olympus_cli.program.stages import Program
from olympus_cli.program.stopwatch import Stopwatch
from olympus_cli.reports.model import Report
from olympus_cli.spec.backends import backend_labels

__all__ = ["perform"]

# The last program, until the process ends, which frees all at once: XLA and MLIR free a large
# program piece by piece, which takes as long as to write it does.
_LAST: list[Program] = []


def perform(say: Say, task: Task) -> dict[str, Any]:
    """Bring one target up to date in this process; `say` gets the name of each stage.

    The fields of its `Outcome` are returned, failure and report as plain data.
    """
    say("import")
    start, clock = time.perf_counter(), Stopwatch()
    with clock.part("load"):
        if not task.force:
            task.place.check_owner(task.spec.root)
        program = Program(load_target(task.spec), say, clock)
    _LAST[:] = [program]
    program.trace(stacks=task.page)
    program.lower(task.labels)
    with clock.part("compare"):
        record = read_record(task.place.final)
        if not task.frozen and (task.force or record is None):
            _start_runtime(program)
        wanted = content_keys(program)
    # what would have to be built with all compilers here is stale, whether or not they are
    absent = None if task.frozen else program.leave_out_absent()
    keys = {unit.label: wanted[unit.label] for unit in program.units}
    others = backend_labels(task.spec.backends).keys() - keys.keys()
    reason = (
        "asked for by --force" if task.force else reason_to_build(record, keys, others, task.page)
    )
    status: Status = "fresh" if reason is None else "stale" if task.frozen else "built"
    report = record.report if record is not None and status == "fresh" else None
    if status == "built":
        report = _built(program, keys, task, say)
    failure = _incomplete(absent, wanted.keys() - keys.keys())
    return {
        "status": status,
        "reason": reason,
        "seconds": time.perf_counter() - start,
        "failure": failure and asdict(failure),
        "report": report and report.to_data(),
    }


def _start_runtime(program: Program) -> None:
    """Start the CPU's runtime meanwhile, as the compilation of a program for one device would.

    What is wrong with its settings is told by the compilation.
    """

    def start() -> None:
        with suppress(OlympusError):
            olympus.devices("cpu")

    if any(unit.kind == "cpu" and unit.lowered.num_devices == 1 for unit in program.units):
        Thread(target=start, name="olympus-runtime", daemon=True).start()


def _incomplete(absent: BackendError | None, labels: Collection[str]) -> Failure | None:
    """The failure of a target that is up to date but for the backends of `labels`."""
    if absent is None:
        return None
    failure = Failure.of(absent)
    return replace(failure, message=f"not built for {', '.join(sorted(labels))}: {absent}")


def _built(program: Program, keys: Mapping[str, str], task: Task, say: Say) -> Report:
    directory, project = task.place.stage(), task.place.path_to(task.spec.root)
    try:
        return compile_and_write(program, keys, directory, project, say, task.page, task.profile)
    except OSError as error:
        raise UsageError(f"the outputs cannot be written: {error}") from error
