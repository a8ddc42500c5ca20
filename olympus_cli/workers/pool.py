"""Several pieces of work, a limited number at a time, each in a separate process.

An abort, a kill or a passed time limit fails only the work of one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial

from olympus.errors import OlympusError
from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts
from olympus_cli.workers.call import Ended, Isolated, wait
from olympus_cli.workers.messages import Data

OnTargetStage = Callable[[str, str], None]  # the name of the work, its stage
OnRequest = Callable[[str, Data], Data]  # the name of the work, its request; returns the answer


@dataclass(frozen=True)
class Work:
    """A function that can be pickled, with its arguments; `name` is unique in a run."""

    name: str
    function: Callable[..., Data]
    args: tuple[object, ...]


@dataclass(frozen=True)
class Done:
    """The end of the work called `name`, after `seconds`."""

    name: str
    ended: Ended
    seconds: float = 0.0


def run_all(
    works: Sequence[Work],
    jobs: int,
    *,
    action: str,
    quiet: bool = True,
    time_limit: float | None = None,
    on_stage: OnTargetStage = lambda _name, _stage: None,
    on_request: OnRequest = lambda _name, _request: None,
) -> Generator[Done, None, None]:
    """Do `works` in at most `jobs` processes; yield them in the order in which they end.

    `action`, `quiet` and `time_limit` are as for `Isolated`.  For each request that work sends with
    `Channel.answer`, its next `Channel.request` returns the result of `on_request`.  When the
    iteration ends, for any reason, no process is left.
    """
    waiting = list(reversed(works))
    running: list[_Running] = []
    options = {"action": action, "quiet": quiet, "time_limit": time_limit}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                work = waiting.pop()
                try:
                    with interrupts.deferred():  # until it is in the list of processes to end
                        running.append(_Running(work, on_stage, options))
                except OlympusError as error:  # the system has no process left
                    yield Done(work.name, Ended(None, Failure.of(error), ""))
            if running:
                wait([worker.process for worker in running])
            for worker in list(running):
                ended = worker.process.look()
                worker.answer(on_request)
                if ended is not None:
                    running.remove(worker)
                    yield Done(worker.name, ended, time.perf_counter() - worker.start)
    finally:
        for worker in running:
            worker.process.close()


class _Running:
    """A piece of work, and the process that runs it."""

    def __init__(self, work: Work, on_stage: OnTargetStage, options: dict[str, Data]) -> None:
        self.name = work.name
        self.start = time.perf_counter()
        stage = partial(on_stage, work.name)
        self.process = Isolated(work.function, *work.args, on_stage=stage, **options)

    def answer(self, on_request: OnRequest) -> None:
        """Answer the requests that have arrived."""
        while self.process.answers:
            self.process.send(on_request(self.name, self.process.answers.pop(0)))


def default_jobs() -> int:
    """Return the number of processors of this process, which a container or `taskset` limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
