"""The tasks of a build, several at a time, each in its own process.

An abort, a kill or an exceeded time limit fails only the task of that process.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

import olympus
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Task
from olympus_cli.builder.worker import build_in_worker
from olympus_cli.faults.failure import Failure
from olympus_cli.process.fast_imports import unhindered
from olympus_cli.reports.build_report import Report
from olympus_cli.workers.pool import Done, OnTargetStage, Work, run_all

#: Names of `olympus.analysis` whose modules every build imports.
_ANALYSES = ("Cost", "Memory", "SourceMap", "fits")


def run_tasks(
    tasks: Sequence[Task], jobs: int, time_limit: float | None, on_stage: OnTargetStage
) -> Generator[Outcome, None, None]:
    """Run `tasks` in at most `jobs` processes; `time_limit` is in seconds for each task.

    Outcomes come in the order in which tasks end. No process is left, even if the iteration ends
    early.
    """
    if len(tasks) > 1:  # a single process imports it while its compiler runs
        with unhindered():
            for name in _ANALYSES:
                getattr(olympus.analysis, name)
    works = [Work(task.spec.name, build_in_worker, (task,)) for task in tasks]
    started = run_all(works, jobs, does="compiles", time_limit=time_limit, on_stage=on_stage)
    with closing(started) as running:
        for done in running:
            yield _outcome(done)


def _outcome(done: Done) -> Outcome:
    """Return the outcome of a task whose process has ended."""
    ended = done.ended
    if ended.failure is not None:
        failed = ended.failure
        return Outcome(done.name, "failed", None, done.seconds, failure=failed, log=ended.output)
    failure = ended.data["failure"] and Failure(**ended.data["failure"])
    report = ended.data["report"] and Report.from_data(ended.data["report"])
    found = {**ended.data, "failure": failure, "report": report}
    return Outcome(done.name, **found, log=ended.output)
