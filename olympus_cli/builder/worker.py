"""The update of one target, in its worker process of a build."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from olympus_cli.builder.plan import Task
from olympus_cli.builder.update import bring_up_to_date
from olympus_cli.frontends.python import load_target
from olympus_cli.program.stages import Program
from olympus_cli.program.stopwatch import Stopwatch
from olympus_cli.workers.call import OnStage

# The last program, kept until the process ends, because that frees all memory in one step. XLA and
# MLIR free a large program piece by piece, which takes as long as writing it.
_LAST: list[Program] = []


def build_in_worker(on_stage: OnStage, task: Task) -> dict[str, Any]:
    """Bring one target up to date in this process; `on_stage` gets the name of each stage.

    Returns the fields of its `Outcome`, with failure and report as plain data.
    """
    on_stage("import")
    start, clock = time.perf_counter(), Stopwatch()
    with clock.part("load"):
        if not task.force:
            task.place.check_owner(task.spec.root)
        program = Program(load_target(task.spec), on_stage, clock)
    _LAST[:] = [program]
    program.trace(stacks=task.page)
    program.lower(task.labels)
    found = bring_up_to_date(program, task, on_stage)
    return {
        "status": found.status,
        "reason": found.reason,
        "seconds": time.perf_counter() - start,
        "failure": found.failure and asdict(found.failure),
        "report": found.report and found.report.to_data(),
        "staged": found.staged,
    }
