"""The workers of a Dask cluster as an executor.

This process assigns the works itself: each worker has as many as it has threads. A work is one task
that may run only on its worker. When a worker is lost, its works are assigned to others.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from olympus.errors import BackendError, CompileError, InternalError, UsageError
from olympus.files import typed
from olympus_cli.builder.farm.cluster import OnNote, Roster, connected
from olympus_cli.builder.farm.inputs import States, differing, states_of
from olympus_cli.builder.farm.station import (
    Assignment,
    Result,
    farm_variables,
    run_assignment,
    stop,
)
from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.faults.failure import Failure
from olympus_cli.workers.call import Ended
from olympus_cli.workers.executor import Done, Limits, OnTargetStage, Work

if TYPE_CHECKING:
    from distributed import Client, Future

_ATTEMPTS = 3  # of a work whose workers are lost
_BETWEEN_LOOKS = 0.5  # seconds between two looks at the workers
_PATIENCE = 60.0  # seconds without a worker
_FETCH_LIMIT = 30.0  # seconds for the result of a task that has ended


@dataclass(frozen=True)
class DaskExecutor:
    """The workers of a Dask cluster that equal this machine and share the project's folder.

    `executor` is the value of `--executor`: "dask" starts a cluster here. At most `jobs` works run
    at a time; None is one for each thread of a worker. `kinds` are the backends' kinds, and
    `folder` is the build folder. Files below `sources` must be equal on a worker. `on_note` gets
    messages for the user.

    Example:
      >>> executor = DaskExecutor("dask://10.0.0.5:8786", None, ["cpu"], folder, [root], print)
    """

    executor: str
    jobs: int | None
    kinds: Sequence[str]
    folder: Path
    sources: Sequence[Path]
    on_note: OnNote
    forks: ClassVar[bool] = False

    def run(
        self, works: Sequence[Work], limits: Limits, on_stage: OnTargetStage
    ) -> Generator[Done, None, None]:
        """Run works, as `Executor.run` describes; without works, there is no connection.

        Raises:
            BackendError: there is no cluster, no worker that may build, or all were lost.
        """
        if not works:
            return
        variables = farm_variables()  # Dask sets some
        with connected(self.executor, self.jobs, self.on_note) as client:
            roster = Roster(client, self.kinds, self.folder, self.on_note)
            with closing(roster):
                yield from _Run(self, client, roster, variables, limits, on_stage).ends(works)


@dataclass
class _Running:
    """A work on a worker."""

    work: Work
    worker: str
    future: Future
    start: float


class _Run:
    """The works of one run: some wait, and some are on workers."""

    def __init__(
        self,
        place: DaskExecutor,
        client: Client,
        roster: Roster,
        variables: Mapping[str, str],
        limits: Limits,
        on_stage: OnTargetStage,
    ) -> None:
        self._place, self._client, self._roster = place, client, roster
        self._variables, self._limits, self._on_stage = variables, limits, on_stage
        self._waiting: deque[Work] = deque()
        self._running: dict[str, _Running] = {}
        self._lost_on: dict[str, list[str]] = {}  # the workers that were lost, by work
        self._events: queue.SimpleQueue[tuple[str, int, str | None]] = queue.SimpleQueue()
        self._topic = f"olympus-{uuid.uuid4().hex}"
        self._started = time.time_ns()
        self._last_look = self._last_worker = -_PATIENCE

    def ends(self, works: Sequence[Work]) -> Generator[Done, None, None]:
        """Run works, and yield the end of each."""
        self._waiting.extend(works)
        self._last_worker = time.monotonic()
        self._client.subscribe_topic(self._topic, self._on_event)
        try:
            while self._waiting or self._running:
                yield from self._look()
                self._assign()
                yield from self._next()
        finally:
            self._stop()

    def _on_event(self, event: tuple[float, Any]) -> None:  # in a thread of Dask
        name, attempt, stage = event[1]
        self._events.put((name, attempt, stage))

    def _look(self) -> Generator[Done, None, None]:
        """Look at the workers from time to time; assign the works of lost ones again."""
        now = time.monotonic()
        if now - self._last_look < _BETWEEN_LOOKS:
            return
        self._last_look = now
        for worker in self._roster.look():
            names = [name for name, it in self._running.items() if it.worker == worker]
            for name in names:
                yield from self._lost(name)
        if self._roster.threads:
            self._last_worker = now
        elif now - self._last_worker >= _PATIENCE:
            raise BackendError(f"the Dask cluster has had no worker for {_PATIENCE:g} s")

    def _lost(self, name: str) -> Generator[Done, None, None]:
        """Let a work wait again whose worker was lost, unless that happened too often."""
        lost = self._running.pop(name)
        lost.future.cancel()
        workers = self._lost_on.setdefault(name, [])
        workers.append(lost.worker)
        if len(workers) < _ATTEMPTS:
            self._place.on_note(f"the worker {lost.worker} was lost: {name} is built by another")
            self._waiting.appendleft(lost.work)
            return
        text = f"the workers that built it were lost {_ATTEMPTS} times: {', '.join(workers)}"
        hint = "a worker that needs more memory than its machine has is killed; see its log"
        failure = Failure.of(CompileError(text, hint=hint))
        yield Done(name, Ended(None, failure, ""), time.monotonic() - lost.start)

    def _assign(self) -> None:
        """Give works to workers with a free thread, the one with the most first."""
        while self._waiting and len(self._running) < (self._place.jobs or 1 << 30):
            free = dict(self._roster.threads)
            for running in self._running.values():
                if running.worker in free:
                    free[running.worker] -= 1
            worker = max(free, key=free.__getitem__, default=None)
            if worker is None or free[worker] < 1:
                return
            self._start(self._waiting.popleft(), worker)

    def _start(self, work: Work, worker: str) -> None:
        attempt = len(self._lost_on.get(work.name, ()))
        payload = pickle.dumps((work.function, work.args))
        assignment = Assignment(
            self._topic, work.name, attempt, payload, self._limits, self._variables
        )
        future = self._client.submit(
            run_assignment,
            assignment,
            key=f"{work.name}-{attempt}-{self._topic}",
            workers=[worker],
            pure=False,
        )
        self._running[work.name] = _Running(work, worker, future, time.monotonic())
        self._on_stage(work.name, "start")
        future.add_done_callback(lambda _future: self._events.put((work.name, attempt, None)))

    def _next(self) -> Generator[Done, None, None]:
        """Wait for an event, and yield the end of a work if it is one."""
        try:
            name, attempt, stage = self._events.get(timeout=_BETWEEN_LOOKS)
        except queue.Empty:
            return
        running = self._running.get(name)
        if running is None or attempt != len(self._lost_on.get(name, ())):
            return  # of a lost worker
        if stage is not None:
            self._on_stage(name, stage)
            return
        result = self._result(running)
        if result is None:
            yield from self._lost(name)
        else:
            del self._running[name]
            yield Done(name, self._checked(running, result), result.seconds)

    def _result(self, running: _Running) -> Result | None:
        """Return the result of a task that has ended; None if its worker was lost."""
        from distributed import KilledWorker

        future = running.future
        try:
            if future.status == "finished":
                result: Result | None = future.result(timeout=_FETCH_LIMIT)
                return result
            error = future.exception(timeout=_FETCH_LIMIT)
        except Exception:  # its worker, or the connection to it, was lost
            return None
        if error is None or isinstance(error, KilledWorker):
            return None
        text = f"the task failed on {running.worker}: {type(error).__name__}: {error}"
        return Result(Ended(None, Failure.of(InternalError(text)), ""), 0.0)

    def _checked(self, running: _Running, result: Result) -> Ended:
        """Return the end of a work; a failure if its sources differ on its worker.

        Its reads are removed if this machine does not have them in the same state.
        """
        ended = result.ended
        if result.states is None or not isinstance(ended.data, dict):
            return ended
        reads = typed(ended.data["reads"], Reads)
        ours, theirs = states_of(reads), States(*result.states)
        if other := differing(ours, theirs, self._place.sources):
            text = f"{other[0]} has other contents on the worker {running.worker} than here"
            hint = "workers must share the project's folder; a file that is saved during a build is"
            return Ended(None, Failure.of(UsageError(text, hint=f"{hint} another reason")), "")
        # the clock of a worker may be wrong: a file that changes from now on is no recorded input
        known = (
            replace(reads, started=min(self._started, reads.started)) if ours == theirs else None
        )
        return replace(ended, data={**ended.data, "reads": None if known is None else vars(known)})

    def _stop(self) -> None:
        """Cancel the tasks, and wait until their processes on the workers have ended."""
        if self._running:
            with suppress(Exception):
                workers = [*{running.worker for running in self._running.values()}]
                self._client.cancel([running.future for running in self._running.values()])
                self._client.run(stop, self._topic, workers=workers, on_error="return")
        with suppress(Exception):
            self._client.unsubscribe_topic(self._topic)
