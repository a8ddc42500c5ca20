"""One target brought up to date, in the process that a build has for it."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from olympus.errors import BackendError, UsageError
from olympus_cli.build.compilation import Compilation, Say
from olympus_cli.build.durable import sync_tree
from olympus_cli.build.outcome import Failure, Status
from olympus_cli.build.outputs import write_outputs
from olympus_cli.build.plan import Task, backend_labels, read_record, reason_to_build
from olympus_cli.frontends.python import load_program
from olympus_cli.reports.model import Report

__all__ = ["perform"]


def perform(say: Say, task: Task) -> dict[str, Any]:
    """Bring one target up to date in this process; `say` gets the name of each stage.

    The fields of its `Outcome` are returned, a failure as those of a `Failure`.
    """
    say("load")
    start = time.perf_counter()
    if not task.force:
        task.place.check_owner(task.spec.root)
    compilation = Compilation(load_program(task.spec), say)
    compilation.trace()
    compilation.lower(task.labels)
    record = read_record(task.place.final)
    wanted = compilation.keys()
    # what would have to be built with all compilers here is stale, whether or not they are
    absent = None if task.frozen else compilation.leave_out_absent()
    keys = {unit.label: wanted[unit.label] for unit in compilation.units}
    others = backend_labels(task.spec.backends).keys() - keys.keys()
    reason = "asked for by --force" if task.force else reason_to_build(record, keys, others)
    status: Status = "fresh" if reason is None else "stale" if task.frozen else "built"
    told = record.warnings if record is not None and status == "fresh" else ()
    if status == "built":
        directory = task.place.stage()
        compilation.compile()
        told = _write(compilation, directory, task, say).warnings
    failure = _incomplete(absent, wanted.keys() - keys.keys())
    return {
        "status": status,
        "reason": reason,
        "seconds": time.perf_counter() - start,
        "failure": failure and asdict(failure),
        "warnings": told,
    }


def _incomplete(absent: BackendError | None, labels: Collection[str]) -> Failure | None:
    """The failure of a target that is up to date but for the backends of `labels`."""
    if absent is None:
        return None
    failure = Failure.of(absent)
    return replace(failure, message=f"not built for {', '.join(sorted(labels))}: {absent}")


def _write(compilation: Compilation, directory: Path, task: Task, say: Say) -> Report:
    say("write")
    try:
        report = write_outputs(compilation, directory, task.place.path_to(task.spec.root))
        sync_tree(directory)
    except OSError as error:
        raise UsageError(f"the outputs cannot be written: {error}") from error
    return report
