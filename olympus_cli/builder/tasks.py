"""The tasks of a build, several at a time, each in its own process.

An abort, a kill or an exceeded time limit fails only the task of that process.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import olympus
from olympus.files import to_data, typed
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Task
from olympus_cli.builder.update import bring_up_to_date
from olympus_cli.process.fast_imports import unhindered
from olympus_cli.program.stages import Program
from olympus_cli.reports.build_report import REPORT_FORMS
from olympus_cli.workers.call import OnStage
from olympus_cli.workers.pool import Done, OnTargetStage, Work, run_all

#: Names of `olympus.analysis` whose modules every build imports.
_ANALYSES = ("Cost", "Memory", "SourceMap", "fits")

# The last program, kept until the process ends, because that frees all memory in one step. XLA and
# MLIR free a large program piece by piece, which takes as long as writing it.
_LAST: list[Program] = []


def run_tasks(
    tasks: Sequence[Task], jobs: int, time_limit: float | None, on_stage: OnTargetStage
) -> Generator[Outcome, None, None]:
    """Run `tasks` in at most `jobs` processes; `time_limit` is in seconds for each task.

    Outcomes come in the order in which tasks end. No process is left, even if the iteration ends
    early.
    """
    if len(tasks) > 1:  # a single process imports them while its compiler runs
        with unhindered():
            for name in _ANALYSES:
                getattr(olympus.analysis, name)
    works = [Work(task.spec.name, _run_task, (task,)) for task in tasks]
    started = run_all(works, jobs, action="compiles", time_limit=time_limit, on_stage=on_stage)
    with closing(started) as running:
        for done in running:
            yield _outcome(done)


def _outcome(done: Done) -> Outcome:
    """Return the outcome of a task whose process has ended."""
    ended = done.ended
    if ended.failure is not None:
        failure, log = ended.failure, ended.output
        return Outcome(done.name, "failed", None, done.seconds, failure=failure, log=log)
    outcome: Outcome = typed(ended.data, Outcome, forms=REPORT_FORMS)
    return replace(outcome, log=ended.output)


def _run_task(on_stage: OnStage, task: Task) -> Any:
    """Bring one target up to date in this process, and return its `Outcome` as plain data.

    `on_stage` gets the name of each stage.
    """
    start = time.perf_counter()
    _LAST.clear()
    if not task.force:
        task.place.check_owner(task.spec.root)
    program = Program.of(task.spec, on_stage, until="lower", labels=task.labels, stacks=task.page)
    _LAST.append(program)
    outcome = bring_up_to_date(program, task, on_stage)
    return to_data(replace(outcome, seconds=time.perf_counter() - start), REPORT_FORMS)
