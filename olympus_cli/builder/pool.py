"""A build's tasks, some at a time, each in a process of its own.

An abort, a kill or a passed time limit fails the task that was being worked on, and nothing else.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial

from olympus.errors import OlympusError
from olympus_cli import interrupts
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Task
from olympus_cli.builder.worker import perform
from olympus_cli.faults.failure import Failure
from olympus_cli.isolated.call import Ended, Isolated, wait
from olympus_cli.loading import unhindered
from olympus_cli.reports.model import Report

__all__ = ["OnStage", "run_tasks"]

OnStage = Callable[[str, str], None]  # target, what is being done to it


def run_tasks(
    tasks: Sequence[Task], jobs: int, time_limit: float | None, on_stage: OnStage
) -> Generator[Outcome, None, None]:
    """Work on `tasks` in at most `jobs` processes; `time_limit` is in seconds for each task.

    Outcomes come in the order in which tasks end.  However the iteration ends, no process is left.
    """
    if len(tasks) > 1:  # once for all; a process alone imports it while its compiler works
        with unhindered():
            importlib.import_module("olympus.analysis")
    waiting = list(reversed(tasks))
    under_way: list[_UnderWay] = []
    try:
        while waiting or under_way:
            while waiting and len(under_way) < jobs:
                task = waiting.pop()
                try:
                    with interrupts.held():  # till it is among those that are ended
                        under_way.append(_UnderWay(task, time_limit, on_stage))
                except OlympusError as error:  # the system has no more processes
                    yield Outcome(task.spec.name, "failed", failure=Failure.of(error))
            if under_way:
                wait([each.process for each in under_way])
            for each in list(under_way):
                if (ended := each.process.look()) is not None:
                    under_way.remove(each)
                    yield each.outcome(ended)
    finally:
        for each in under_way:
            each.process.close()


class _UnderWay:
    """One task, and the process that works on it."""

    def __init__(self, task: Task, time_limit: float | None, on_stage: OnStage) -> None:
        self._target = task.spec.name
        self._start = time.perf_counter()
        self.process = Isolated(
            perform,
            task,
            does="compiles",
            quiet=True,
            time_limit=time_limit,
            on_stage=partial(on_stage, self._target),
        )

    def outcome(self, ended: Ended) -> Outcome:
        """The outcome that the end of the process is."""
        seconds = time.perf_counter() - self._start
        if ended.failure is not None:
            return Outcome(
                self._target, "failed", None, seconds, failure=ended.failure, log=ended.output
            )
        failure = ended.data["failure"] and Failure(**ended.data["failure"])
        report = ended.data["report"] and Report.from_data(ended.data["report"])
        found = {**ended.data, "failure": failure, "report": report}
        return Outcome(self._target, **found, log=ended.output)
