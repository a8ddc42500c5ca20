"""Several pieces of work, a limited number at a time, each in a separate process.

An abort, a kill or a passed limit fails only the work of one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from olympus.errors import OlympusError
from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts, own_process
from olympus_cli.process.memory import available_memory
from olympus_cli.workers.call import Ended, Isolated, wait
from olympus_cli.workers.executor import Done, Limits, OnTargetStage, Work
from olympus_cli.workers.helpers import Helpers
from olympus_cli.workers.messages import Data
from olympus_cli.workers.slots import Slots

OnRequest = Callable[[str, Data], Data]  # the name of the work, its request; returns the answer

_FEW_WORKS = 4  # for which the start of a helper takes longer than it saves
_BETWEEN_TRIES = 1.0  # seconds, while work waits for memory that other programs may free


@dataclass(frozen=True)
class LocalPool:
    """The processes of this machine, at most `jobs` at a time; None is one per processor."""

    jobs: int | None = None
    forks: ClassVar[bool] = True

    def run(
        self, works: Sequence[Work], limits: Limits, on_stage: OnTargetStage
    ) -> Generator[Done, None, None]:
        """Run works, as `Executor.run` describes."""
        jobs = self.jobs or default_jobs()
        return run_all(works, jobs, action="compiles", limits=limits, on_stage=on_stage)


def run_all(
    works: Sequence[Work],
    jobs: int,
    *,
    action: str,
    quiet: bool = True,
    limits: Limits | None = None,
    on_stage: OnTargetStage = lambda _name, _stage: None,
    on_request: OnRequest = lambda _name, _request: None,
) -> Generator[Done, None, None]:
    """Do `works` in at most `jobs` processes; yield them in the order in which they end.

    `action` and `quiet` are as for `Isolated`. Works start in their order, but one whose memory
    does not fit beside the running ones waits. For each request that work sends with
    `Channel.answer`, its next `Channel.request` returns the result of `on_request`, or of a helper
    if the work has one.  When the iteration ends, for any reason, no process is left.
    """
    waiting = list(works)
    running: list[_Running] = []
    helpers = Helpers() if _are_helped(works, limits) else None
    slots = Slots() if own_process.is_own() else None
    start = partial(
        _Running,
        on_stage=on_stage,
        action=action,
        quiet=quiet,
        limits=limits,
        helpers=helpers,
        slots=slots,
    )
    try:
        while waiting or running:
            while len(running) < jobs and (work := _next(waiting, running)) is not None:
                waiting.remove(work)
                try:
                    with interrupts.deferred():  # until it is in the list of processes to end
                        running.append(start(work))
                except OlympusError as error:  # the system has no process left
                    yield Done(work.name, Ended(None, Failure.of(error), ""))
            _wait(running, helpers, for_memory=bool(waiting) and len(running) < jobs)
            if helpers is not None:
                helpers.answer()
            for worker in list(running):
                ended = worker.process.look()
                worker.answer(on_request)
                if ended is not None:
                    worker.close()
                    running.remove(worker)
                    yield Done(worker.work.name, ended, time.perf_counter() - worker.start)
    finally:
        for worker in running:
            worker.close()
        if helpers is not None:
            helpers.close()
        if slots is not None:
            slots.close()


def _are_helped(works: Sequence[Work], limits: Limits | None) -> bool:
    """Return True if helpers take part: their memory is not that of one work."""
    is_limited = limits is not None and limits.memory is not None
    return own_process.is_own() and len(works) > _FEW_WORKS and not is_limited


def _wait(running: Sequence[_Running], helpers: Helpers | None, for_memory: bool) -> None:
    """Wait until a process ends or sends; `for_memory` limits the wait, as memory may be free."""
    if running:
        processes = [worker.process for worker in running]
        processes += [] if helpers is None else helpers.processes
        wait(processes, _BETWEEN_TRIES if for_memory else None)


class _Running:
    """A piece of work, and the process that runs it."""

    def __init__(
        self,
        work: Work,
        on_stage: OnTargetStage,
        action: str,
        quiet: bool,
        limits: Limits | None,
        helpers: Helpers | None,
        slots: Slots | None,
    ) -> None:
        self.work = work
        self._helpers = helpers if work.helper is not None else None
        self.start = time.perf_counter()
        limits = limits or Limits()
        self.process = Isolated(
            work.function,
            *work.args,
            action=action,
            quiet=quiet,
            time_limit=limits.time,
            memory_limit=limits.memory,
            on_stage=partial(on_stage, work.name),
            has_helper=self._helpers is not None,
            slots=slots,
        )

    def answer(self, on_request: OnRequest) -> None:
        """Answer the requests that have arrived."""
        while self.process.answers:
            request = self.process.answers.pop(0)
            if self._helpers is not None and self.work.helper is not None:
                self._helpers.forward(self.process, self.work.helper, request)
            else:
                self.process.send(on_request(self.work.name, request))

    def close(self) -> None:
        """End the process, if it still runs, and the helper that serves it."""
        self.process.close()
        if self._helpers is not None:
            self._helpers.forget(self.process)


def _next(waiting: Sequence[Work], running: Sequence[_Running]) -> Work | None:
    """Return the first work that fits into the memory beside the running ones.

    If none is running, it is the first of all.
    """
    if not running or not waiting or waiting[0].memory is None:
        return next(iter(waiting), None)
    room = _room_beside(running)
    return next((work for work in waiting if room is None or (work.memory or 0) <= room), None)


def _room_beside(running: Sequence[_Running]) -> int | None:
    """Return the bytes available to more work when the running ones use what they are expected to.

    None if the system does not report the available memory.
    """
    available = available_memory()
    if available is None:
        return None
    return available - sum(
        max(0, worker.work.memory - worker.process.used_memory())
        for worker in running
        if worker.work.memory is not None
    )


def default_jobs() -> int:
    """Return the number of processors of this process, which a container or `taskset` limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
