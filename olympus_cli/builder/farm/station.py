"""The part of a farm that runs in a Dask worker: it starts an isolated process for each work.

The Dask worker unpickles no part of a work and imports no module of a user. The isolated process is
a fresh interpreter, because a Dask worker has threads that a fork would lose.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from olympus.files import typed
from olympus_cli.builder.farm.inputs import states_of
from olympus_cli.builder.freshness.inputs import common_variables
from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.workers.call import Ended, Isolated, wait
from olympus_cli.workers.executor import Limits
from olympus_cli.workers.supervisor import OnStage

_BETWEEN_LOOKS = 0.25  # seconds between two looks for a cancellation
_END_LIMIT = 15.0  # seconds in which the processes of a cancelled run must end

_PLACES = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH")

_running: dict[str, int] = {}  # the number of works by run, in this Dask worker
_cancelled: set[str] = set()


@dataclass(frozen=True)
class Assignment:
    """A work for a Dask worker: `payload` is the pickled function with its arguments.

    `run` identifies the run, and is the topic of the stages. `variables` are the caller's
    environment variables that change the compiler or a package: its process has no others of these.
    """

    run: str
    name: str
    attempt: int
    payload: bytes
    limits: Limits
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Result:
    """The end of a work: the fields of `Ended`, `seconds`, and the states of what it read."""

    ended: Ended
    seconds: float
    states: Any = None


def run_assignment(assignment: Assignment) -> Result | None:
    """Run a work in an isolated process, and return its end; None if it was cancelled."""
    from distributed import get_worker

    worker = get_worker()
    start = time.perf_counter()

    def on_stage(stage: str) -> None:
        worker.log_event(assignment.run, [assignment.name, assignment.attempt, stage])

    run = assignment.run
    _running[run] = _running.get(run, 0) + 1
    try:
        process = Isolated(
            run_pickled,
            assignment.payload,
            os.path.dirname(worker.local_directory),
            action="compiles",
            quiet=True,
            time_limit=assignment.limits.time,
            memory_limit=assignment.limits.memory,
            on_stage=on_stage,
            environment={**dict.fromkeys(farm_variables()), **assignment.variables},
        )
        with closing(process):
            while (ended := process.look()) is None:
                if run in _cancelled or worker.status.name not in ("running", "paused"):
                    return None
                wait([process], _BETWEEN_LOOKS)
    finally:
        _running[run] -= 1
    seconds = time.perf_counter() - start
    if ended.failure is not None:
        return Result(ended, seconds)
    data, states = ended.data
    return Result(Ended(data, None, ended.output), seconds, states)


def farm_variables() -> dict[str, str]:
    """Return the variables of this process that change the compiler, a package or Python.

    Those with the places of Python's files are those of each machine.
    """
    return {name: os.environ[name] for name in common_variables() if name not in _PLACES}


def run_pickled(on_stage: OnStage, payload: bytes, scratch: str) -> list[Any]:
    """Run a pickled work in this process; return its result, and the states of what it read.

    Dask adds folders of `scratch` to the import path, which exist as long as its workers.
    """
    sys.path[:] = [place for place in sys.path if not f"{place}/".startswith(f"{scratch}/")]
    function, args = pickle.loads(payload)
    data = function(on_stage, *args)
    reads = data.get("reads") if isinstance(data, dict) else None
    return [data, None if reads is None else list(states_of(typed(reads, Reads)))]


async def stop(run: str) -> int:
    """End the processes of a run in this Dask worker; return the number of the others."""
    _cancelled.add(run)
    deadline = time.monotonic() + _END_LIMIT
    while _running.get(run) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    return _running.get(run, 0)
