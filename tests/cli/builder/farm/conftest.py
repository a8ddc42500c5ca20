"""A Dask cluster of processes: a scheduler and workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed")

ROOT = Path(__file__).parents[4]


class Farm:
    """A scheduler at `address`, and its workers by their processes."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        options = ["--port", str(self.port), "--host", "127.0.0.1", "--no-dashboard"]
        self.scheduler = self._start("scheduler", options)
        self.workers: list[subprocess.Popen[bytes]] = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                break
            time.sleep(0.05)

    @property
    def executor(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def add(self, number: int, processors: Iterable[int] | None = None) -> None:
        """Start workers with one thread each, on some processors alone if they are given."""
        options = [f"tcp://127.0.0.1:{self.port}", "--nthreads", "1", "--no-nanny"]
        options += ["--no-dashboard", "--local-directory", str(self._folder)]
        for _ in range(number):
            self.workers.append(self._start("worker", options, processors))

    def _start(
        self, kind: str, options: list[str], processors: Iterable[int] | None = None
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        if processors is not None:
            code = f"import os, sys; os.sched_setaffinity(0, {[*processors]}); "
            command[:0] = [sys.executable, "-c", code + "os.execv(sys.executable, sys.argv[1:])"]
        log = self._stack.enter_context((self._folder / f"{kind}.log").open("ab"))
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}  # the works are functions of tests
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, env=variables)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A scheduler without workers."""
    with ExitStack() as stack:
        yield Farm(tmp_path_factory.mktemp("farm"), stack)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker of a farm."""
    os.kill(process.pid, signal.SIGKILL)
