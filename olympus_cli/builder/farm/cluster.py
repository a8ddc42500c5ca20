"""The connection to a Dask cluster, and its workers that may build."""

from __future__ import annotations

import logging
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from olympus.errors import BackendError
from olympus_cli.builder.farm import machine
from olympus_cli.builder.farm.address import SCHEME
from olympus_cli.workers.pool import default_jobs

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

OnNote = Callable[[str], None]

_INSTALL = 'pip install "olympus[dask]"'
_CONNECT_LIMIT = 10.0  # seconds
_SETTINGS = {
    "distributed.comm.timeouts.connect": f"{_CONNECT_LIMIT:g}s",
    "distributed.nanny.pre-spawn-environ": {},  # variables that change the compiler
}
_LOGGERS = ("distributed", "tornado", "asyncio", "bokeh")
_STATED = 3  # the number of unusable workers that a message describes


@contextmanager
def connected(executor: str, jobs: int | None, on_note: OnNote) -> Iterator[Client]:
    """A client of the scheduler that `executor` names; with "dask", of a new local cluster.

    A local cluster has `jobs` workers; None is one for each processor.

    Raises:
        BackendError: Dask is not installed, or the scheduler does not answer.
    """
    with ExitStack() as stack:
        try:
            with _same_environment():
                import dask
                import distributed
        except ImportError:
            raise BackendError(f"--executor {executor} needs Dask: {_INSTALL}") from None
        stack.enter_context(_silent())
        stack.enter_context(dask.config.set(_SETTINGS))
        address = None
        if executor == "dask":
            with _same_environment():
                cluster = stack.enter_context(_local_cluster(jobs or default_jobs()))
            address = cluster.scheduler_address
        try:
            client = distributed.Client(
                address or _dask_address(executor), timeout=_CONNECT_LIMIT, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError, ImportError) as error:
            raise BackendError(
                f"the Dask scheduler {executor} cannot be reached: {_reason(error)}",
                hint="`dask scheduler` starts one, and prints its address",
            ) from None
        stack.enter_context(client)
        on_note(f"the dashboard of the Dask cluster: {client.dashboard_link}")
        yield client


@contextmanager
def _same_environment() -> Iterator[None]:
    """A context after which the variables of this process are as before: Dask sets some."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _local_cluster(workers: int) -> Iterator[LocalCluster]:
    """A cluster of processes on this machine, which Ctrl-C does not reach."""
    from distributed import LocalCluster

    before = None
    with suppress(ValueError):  # another thread than the main one has no handlers
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        raise BackendError(f"a local Dask cluster cannot be started: {_reason(error)}") from None
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    with cluster:
        yield cluster


def _dask_address(executor: str) -> str:
    """Return Dask's form of an address; its protocol is that of Dask's settings."""
    import dask

    is_encrypted = dask.config.get("distributed.comm.require-encryption", None)
    return f"{'tls' if is_encrypted else 'tcp'}://{executor.removeprefix(SCHEME)}"


@contextmanager
def _silent() -> Iterator[None]:
    """A context in which Dask and its libraries write no log."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(_LOGGERS)]
    loggers = [logger for name in names if not (logger := logging.getLogger(name)).disabled]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def _reason(error: BaseException) -> str:
    """Return the first line of an error's text."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


class Roster:
    """The workers of a cluster that may build. Each equals this machine.

    `kinds` are those of the backends to build for, and `folder` is the build folder, which the
    workers must share.
    """

    def __init__(self, client: Client, kinds: Sequence[str], folder: Path, on_note: OnNote) -> None:
        self._client, self._kinds, self._on_note = client, kinds, on_note
        self._probe = folder / f".olympus-new-farm-{uuid.uuid4().hex}"
        self._ours: dict[str, str] = {}
        self._why_not: dict[str, str] = {}  # the differences of the workers that are not used
        self.threads: dict[str, int] = {}  # of each worker that may build

    def look(self) -> list[str]:
        """Compare new workers with this machine; return the workers that were lost since.

        Raises:
            BackendError: the scheduler is lost, or it has workers and none may build.
        """
        try:
            present: dict[str, int] = dict(self._client.nthreads())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise BackendError(f"the Dask scheduler was lost: {_reason(error)}") from None
        lost = [worker for worker in self.threads if worker not in present]
        for worker in lost:
            del self.threads[worker]
        new = [w for w in present if w not in self.threads and w not in self._why_not]
        if new:
            self._compare(new, present)
        if present and not self.threads and self._why_not.keys() >= present.keys():
            raise BackendError(
                f"no worker of the Dask cluster may build: {self._differences(present)}",
                hint="a worker needs the versions, the processor and the build folder of this "
                "machine",
            )
        return lost

    def _compare(self, new: Sequence[str], present: Mapping[str, int]) -> None:
        self._write_probe()
        answers = self._client.run(
            machine.facts, self._kinds, str(self._probe), workers=list(new), on_error="return"
        )
        refused = []
        for worker, answer in answers.items():
            if isinstance(answer, OSError):  # it was lost meanwhile
                continue
            if isinstance(answer, BaseException):
                why: str | None = f"olympus cannot be imported there: {_reason(answer)}"
            else:
                why = machine.difference(self._ours, answer)
            if why is None:
                self.threads[worker] = present[worker]
            else:
                self._why_not[worker] = why
                refused.append(worker)
        if refused and self.threads:
            self._on_note(f"warning: workers are not used: {self._differences(refused)}")

    def _write_probe(self) -> None:
        if not self._ours:
            self._probe.write_text(uuid.uuid4().hex, encoding="ascii")
            self._ours = machine.facts(self._kinds, str(self._probe))

    def _differences(self, workers: Sequence[str] | Mapping[str, int]) -> str:
        texts = [f"{worker}: {self._why_not[worker]}" for worker in workers]
        more = [f"and {len(texts) - _STATED} more"] if len(texts) > _STATED else []
        return "; ".join([*texts[:_STATED], *more])

    def close(self) -> None:
        """Remove the file that this machine and the workers share."""
        self._probe.unlink(missing_ok=True)
