"""The processes that trace, lower and compile: whatever happens in one happens to one target.

Tasks enter through a pipe; the name of each stage and, in the end, an `Outcome` leave by it.  All
that the program and the compiler print goes to the task's log, so that stdout stays for data.

The process that takes the tasks has imported OLYMPUS and nothing of the user's.  Each task runs in
a child forked from it, which costs some 40 ms where a new interpreter costs half a second: what one
program imports, sets or leaves behind cannot be seen by the next.  To fork is safe here, for no
client exists yet, and hence no thread of the compiler's.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli.build.compilation import Compilation, Say
from olympus_cli.build.outcome import Failure, Outcome, Status
from olympus_cli.build.outputs import write_outputs
from olympus_cli.build.plan import Task, read_record, reason_to_build
from olympus_cli.frontends.python import load_program

__all__ = ["perform", "serve"]


def serve(pipe: Connection) -> None:
    """Work on the tasks that come through `pipe` until its other end is gone."""
    with suppress(OSError):  # it leads a session, hence a group, already
        os.setpgid(0, 0)  # it and its children can be ended together
    while (task := _receive(pipe)) is not None:
        _in_a_child(lambda task=task: _work(task, pipe))  # type: ignore[misc]


def _in_a_child(work: Callable[[], None]) -> None:
    """Run `work` in a child of this process; if it does not come to its end, end as it did."""
    done = mmap.mmap(-1, 1)  # shared with the child
    here, gone = os.pipe()  # at its end when this process is
    with warnings.catch_warnings():  # that NumPy's library has threads, which it knows to fork
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(gone)
            threading.Thread(target=_end_with_parents, args=(here,), daemon=True).start()
            work()
            done[0] = 1
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if not done[0]:
        _end_with(os.waitstatus_to_exitcode(status))
    done.close()
    os.close(here)
    os.close(gone)


def _end_with(exitcode: int) -> None:
    """End as a process did that had this exit code, or was ended by the signal `-exitcode`."""
    if exitcode < 0:
        os.kill(os.getpid(), -exitcode)
    os._exit(exitcode)


def _work(task: Task, pipe: Connection) -> None:
    _print_to(task.log)
    pipe.send("load")
    start = time.perf_counter()
    try:
        outcome = perform(task, pipe.send)
    except BaseException as error:  # also a SystemExit of the user's module
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
    reason = "asked for by --force" if task.force else None
    reason = reason or reason_to_build(read_record(task.place.final), compilation.keys())
    status: Status = "fresh" if reason is None else "stale" if task.frozen else "built"
    if status == "built":
        directory = task.place.stage()
        compilation.compile()
        _write(compilation, directory, say)
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


def _end_with_parents(here: int) -> None:
    """End this process with the one that forked it or the build: nobody takes what it makes."""
    build = parent_process()
    connection.wait([here] if build is None else [here, build.sentinel])
    os._exit(1)


def _print_to(log: Path) -> None:
    """Send what this process, Python or not, prints from now on to the file `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
