"""The process that traces, lowers and compiles: whatever happens to it happens to one target.

Tasks enter through a pipe; the name of each stage and, in the end, an `Outcome` leave by it.  All
that the program and the compiler print goes to the task's log, so that stdout stays for data.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli.build.compilation import Compilation, Say
from olympus_cli.build.outcome import Failure, Outcome, Status
from olympus_cli.build.outputs import write_outputs
from olympus_cli.build.plan import Task
from olympus_cli.frontends.python import load_program

__all__ = ["perform", "serve"]


def serve(pipe: Connection) -> None:
    """Work on the tasks that come through `pipe` until its other end is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while (task := _receive(pipe)) is not None:
        _print_to(task.log)
        pipe.send("load")
        start = time.perf_counter()
        try:
            outcome = perform(task, pipe.send)
        except BaseException as error:  # also a SystemExit of the user's module: report, go on
            seconds = time.perf_counter() - start
            outcome = Outcome(task.spec.name, "failed", None, seconds, Failure.of(error))
        sys.stdout.flush()  # the log is read when the outcome comes
        pipe.send(outcome)


def perform(task: Task, say: Say) -> Outcome:
    """Bring one target up to date in this process; `say` gets the name of each stage."""
    start = time.perf_counter()
    compilation = Compilation(load_program(task.spec), say)
    compilation.trace()
    compilation.lower()
    reason = task.reason_to_build(compilation.keys())
    status: Status = "fresh" if reason is None else "stale" if task.staging is None else "built"
    if reason is not None and task.staging is not None:
        compilation.compile()
        _write(compilation, task.staging, say)
    return Outcome(task.spec.name, status, reason, time.perf_counter() - start)


def _write(compilation: Compilation, directory: Path, say: Say) -> None:
    say("write")
    try:
        write_outputs(compilation, directory)
    except OSError as error:
        raise UsageError(f"the outputs cannot be written: {error}") from error


def _receive(pipe: Connection) -> Task | None:
    try:
        task: Task | None = pipe.recv()
    except EOFError:
        return None
    return task


def _end_with_parent() -> None:
    """End this process when the parent is gone: nobody is left to take what it makes."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _print_to(log: Path) -> None:
    """Send what this process, Python or not, prints from now on to the file `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
