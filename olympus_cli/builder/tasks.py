"""The tasks of a build, several at a time, each in its own process.

An abort, a kill or an exceeded time limit fails only the task of that process.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from olympus.files import to_data, typed
from olympus_cli.builder.freshness.recording import recording
from olympus_cli.builder.key import device_figures
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Task
from olympus_cli.builder.preparation import prepare_for
from olympus_cli.builder.results.compile_process import serve
from olympus_cli.builder.schedule import LastBuild, last_build, longest_first
from olympus_cli.builder.update import bring_up_to_date
from olympus_cli.program.stages import Program
from olympus_cli.reports.build_report import REPORT_FORMS
from olympus_cli.workers.call import OnStage
from olympus_cli.workers.executor import Done, Executor, Limits, OnTargetStage, Work

# The last program, kept until the process ends, because that frees all memory in one step. XLA and
# MLIR free a large program piece by piece, which takes as long as writing it.
_LAST: list[Program] = []


def run_tasks(
    tasks: Mapping[str, Task],
    executor: Executor,
    limits: Limits,
    on_stage: OnTargetStage,
    builds: Mapping[str, LastBuild],
) -> Generator[Outcome, None, None]:
    """Run the tasks of targets by `executor`, the longest first; `limits` are for each task.

    `builds` are the last builds of the targets that have one. Outcomes come in the order in which
    tasks end. No process is left, even if the iteration ends early.
    """
    if len(tasks) > 1 and executor.forks:  # a single process does this while its compiler runs
        prepare_for(task.spec for task in tasks.values())
    order = longest_first(tasks, builds, limits.memory)
    works = [
        Work(name, _run_task, (tasks[name],), memory, helper=serve)
        for name, memory in order.items()
    ]
    with closing(executor.run(works, limits, on_stage)) as running:
        for done in running:
            yield _outcome(done)


def last_builds(tasks: Mapping[str, Task], past: Mapping[str, LastBuild]) -> dict[str, LastBuild]:
    """Return the last builds of the tasks' targets; none for a single target, which has no order.

    Those of the outputs have precedence over `past`.
    """
    if len(tasks) < 2:
        return {}
    builds = {name: last_build(task.place.final) or past.get(name) for name, task in tasks.items()}
    return {name: build for name, build in builds.items() if build is not None}


def _outcome(done: Done) -> Outcome:
    """Return the outcome of a task whose process has ended."""
    ended = done.ended
    if ended.failure is not None:
        failure, log = ended.failure, ended.output
        return Outcome(done.name, "failed", seconds=done.seconds, failure=failure, log=log)
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
    with recording(str(task.place.final)) as recorder:
        program = Program.of(
            task.spec, on_stage, until="lower", labels=task.labels, stacks=task.page
        )
        _ = program.general  # its trace reads inputs too
        for unit in program.units:
            device_figures(unit.backend)  # they are in a file
    reads = recorder.reads()
    _LAST.append(program)
    outcome = bring_up_to_date(program, task, on_stage)
    warnings = outcome.report.warnings if outcome.report else ()
    seconds = time.perf_counter() - start
    return to_data(replace(outcome, seconds=seconds, warnings=warnings, reads=reads), REPORT_FORMS)
