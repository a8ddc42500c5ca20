"""The processes that a build's tasks run in, and what is made of the death of one.

Tasks enter; an `Outcome` for each leaves, as they come.  An abort, a kill or a passed time limit
fails the task that was being worked on; the next task gets a new process.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from olympus_cli import signals
from olympus_cli.build.outcome import Failure, Outcome
from olympus_cli.build.plan import Task
from olympus_cli.build.worker import serve

__all__ = ["OnStage", "run_tasks"]

# How the compiler's log marks what it dies of: F, then month and day.
_FATAL = re.compile(r"F\d{4} |.*Check failed:")

OnStage = Callable[[str, str], None]  # target, what is being done to it

# Not fork: the compiler's threads do not survive it.
_CONTEXT = multiprocessing.get_context("spawn")


def run_tasks(
    tasks: Sequence[Task], jobs: int, time_limit: float | None, on_stage: OnStage
) -> Iterator[Outcome]:
    """Work on `tasks` in at most `jobs` processes; `time_limit` is in seconds for each task.

    Outcomes come in the order in which tasks end.  However the iteration ends, no process is left.
    """
    waiting = list(reversed(tasks))
    workers = [_Worker(time_limit, on_stage) for _ in range(min(jobs, len(tasks)))]
    try:
        for worker in workers:
            worker.give(waiting.pop())
        while busy := [worker for worker in workers if worker.task is not None]:
            _wait(busy)
            for worker in busy:
                outcome = worker.look()
                if outcome is None:
                    continue
                if waiting:
                    worker.give(waiting.pop())
                yield outcome
    finally:
        for worker in workers:
            worker.end()


def _wait(busy: Sequence[_Worker]) -> None:
    """Sleep until a worker has something to say, has died, or has used up its time."""
    ends = [worker.deadline for worker in busy if worker.deadline is not None]
    timeout = max(0.0, min(ends) - time.monotonic()) if ends else None
    connection.wait([signal for worker in busy for signal in worker.signals], timeout)


class _Worker:
    """One process and the task it has, if any; a task starts a process if there is none alive."""

    def __init__(self, time_limit: float | None, on_stage: OnStage) -> None:
        self._time_limit = time_limit
        self._on_stage = on_stage
        self.task: Task | None = None
        self.deadline: float | None = None
        self._stage = "start"
        self._process: SpawnProcess | None = None

    def _start(self) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        resource_tracker.ensure_running()  # else it is started with the process, and unblocks
        with signals.held():  # a process that is only half started would complain of them
            self._process = _CONTEXT.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
        theirs.close()

    @property
    def signals(self) -> tuple[Connection, int]:
        """What to wait for: a message, or the process's death."""
        assert self._process is not None
        return self._pipe, self._process.sentinel

    def give(self, task: Task) -> None:
        """Hand over the next task, to a new process if the last one took the old with it."""
        if self._process is None or not self._process.is_alive():
            self._start()
        self.task, self.deadline, self._stage = task, None, "start"
        with suppress(OSError):  # it has died just now: `look` will see
            self._pipe.send(task)

    def look(self) -> Outcome | None:
        """The outcome of the task if it has one by now."""
        assert self.task is not None and self._process is not None
        alive = self._process.is_alive()  # asked first: its last words may still be in the pipe
        while (message := self._message()) is not None:
            if isinstance(message, Outcome):
                return self._done(replace(message, log=_read(self.task.log)))
            self._enter(message)
        if not alive:
            return self._failed(_death(self._process.exitcode))
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.end()
            return self._failed(f"the time limit of {self._time_limit:g} s has passed")
        return None

    def _message(self) -> str | Outcome | None:
        try:
            message: str | Outcome | None = self._pipe.recv() if self._pipe.poll() else None
        except (EOFError, OSError):
            return None
        return message

    def _enter(self, stage: str) -> None:
        if self.deadline is None and self._time_limit is not None:  # start-up is not counted
            self.deadline = time.monotonic() + self._time_limit
        self._stage = stage
        if self.task is not None:
            self._on_stage(self.task.spec.name, stage)

    def _failed(self, how: str) -> Outcome:
        assert self.task is not None
        log = _read(self.task.log)
        failure = Failure(
            "CompileError", f"{how} (stage: {self._stage})", _last_words(log), None, log
        )
        return self._done(Outcome(self.task.spec.name, "failed", failure=failure))

    def _done(self, outcome: Outcome) -> Outcome:
        self.task = None
        return outcome

    def end(self) -> None:
        """Kill the process; it has nothing to clear up, since its output is not in place yet."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()


def _death(exitcode: int | None) -> str:
    """How a process ended that was not told to."""
    if exitcode is None or exitcode >= 0:
        return f"the process that compiles ended with exit code {exitcode}"
    name = signal.Signals(-exitcode).name
    why = ", most likely because the machine ran out of memory" if name == "SIGKILL" else ""
    return f"the process that compiles was ended by {name}{why}"


def _read(log: Path) -> str:
    try:
        return log.read_text("utf-8", "replace")
    except FileNotFoundError:  # it died before it began
        return ""


def _last_words(log: str) -> str | None:
    """The line in which a process said why it died, if it did; else its last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if _FATAL.match(line)]
    return f"it printed: {(fatal or lines)[-1]}" if lines else None
