"""The supervisor: a process between the command and the worker that ends the worker's processes.

    command  <- leash ->  supervisor  --- forks --->  worker  ... and what the program starts
       ^------------------- results --------------------'

The supervisor runs no user code.  It adopts the processes that the worker leaves, including those
with their own session.  It kills them all when the worker has ended, or when the command closes the
leash, on purpose or because it has died.  Then it reports the worker's end on the leash, and ends.
If the supervisor is killed, the kernel kills the worker.

The worker has the streams 0, 1 and 2 and two other descriptors: one for its messages, and one to
which a fatal signal writes the Python stack.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import functools
import gc
import os
import pickle
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from os import _exit, write  # changes of the program to the module `os` have no effect here
from typing import NoReturn, TextIO, cast

from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts
from olympus_cli.process.process_tree import children
from olympus_cli.workers import program_exit
from olympus_cli.workers.memory_limit import MemoryLimit
from olympus_cli.workers.messages import Channel, Data
from olympus_cli.workers.module_changes import Snapshot

OnStage = Callable[[str], None]

_END_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_END_TIMEOUT = 5.0  # seconds in which killed processes must have ended
_HEAD, _TAIL = 1 << 14, 1 << 16  # bytes of the output that are saved


@dataclass(frozen=True)
class Job:
    """The work of a worker: `work` is called with a `Channel` and with `args`.

    A `quiet` job has no stdin and its own session, and its output is saved for the report.
    `memory_limit` is in bytes, for the worker and all processes that it started. With `has_helper`
    a helper answers the requests of the job.
    """

    work: Callable[..., Data]
    args: tuple[object, ...]
    quiet: bool
    token: bytes
    memory_limit: int | None = None
    has_helper: bool = False


def fork_supervisor(supervise: Callable[[], NoReturn]) -> int:
    """Fork a process that calls `supervise`, and return its id.

    This process has imported all modules and has no threads.

    Raises:
        OSError: the system has no process left.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        with interrupts.deferred() as came:
            if (child := fork_quietly()) == 0:
                came.clear()  # the parent ends, and with it the child
        if child == 0:
            supervise()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return child


def main(leash: int, results: int) -> NoReturn:
    """Supervise the job that arrives on the leash; the entry point of a fresh interpreter."""
    ours = socket.socket(fileno=leash)
    with ours.makefile("rb") as stream:
        job = pickle.load(stream)
    supervise(ours, socket.socket(fileno=results), job, Snapshot.take())


def supervise(
    leash: socket.socket, results: socket.socket, job: Job, snapshot: Snapshot
) -> NoReturn:
    """Fork a worker for `job`, wait for its end, and write the report to `leash`.

    `snapshot` has the modules before the job.  It was taken before the first fork: copying a
    reference writes to its object, and the pages that a forked process writes to are copied.
    """
    try:
        _Supervisor(snapshot, leash, results).do(leash, results, job)
    finally:
        _exit(0)


def serve_jobs(control: socket.socket, snapshot: Snapshot) -> NoReturn:
    """Do one job after the other, as `supervise` does one, until the command closes `control`.

    A message is the length of a pickled job in 8 bytes, sent with the descriptors of the leash and
    of the results, and then the job.
    """
    try:
        this = _Supervisor(snapshot, control)
        while True:
            length, descriptors, *_ = socket.recv_fds(control, 8, 2)
            if not length:
                break
            leash, results = (socket.socket(fileno=number) for number in descriptors)
            content = control.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
            this.do(leash, results, pickle.loads(content))
    finally:
        _exit(0)


class _Supervisor:
    """This process as a supervisor, which forks a worker for each job.

    `snapshot` has the modules before the jobs. `used` are the sockets that stay open.
    """

    def __init__(self, snapshot: Snapshot, *used: socket.socket) -> None:
        self._snapshot = snapshot
        self._ignored: set[int] = {n for n in _END_SIGNALS if signal.getsignal(n) == signal.SIG_IGN}
        for number in _END_SIGNALS:  # the command handles them
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _close_all_but(0, 1, 2, *(end.fileno() for end in used))
        self._bell = _bell()

    def do(self, leash: socket.socket, results: socket.socket, job: Job) -> None:
        """Fork a worker for `job`, wait for its end, write the report to `leash`, and close it."""
        with leash, results:
            try:
                report = self._watch(leash, results, job)
            except OSError as error:
                report = {"refused": os.strerror(error.errno or 0)}
            with suppress(OSError):  # the command has closed the leash
                leash.sendall(pickle.dumps(report))

    def _watch(self, leash: socket.socket, results: socket.socket, job: Job) -> dict[str, Data]:
        output, printed = os.pipe()
        stack, dumped = os.pipe()
        try:
            try:
                worker = fork_quietly()
                if worker == 0:
                    _work(results, printed, dumped, job, self._snapshot, self._ignored)
            finally:
                results.close()
                os.close(printed)
                os.close(dumped)
            ends = _OutputEnds()
            memory = MemoryLimit(job.memory_limit)
            exitcode, used = _until_the_end(worker, leash, self._bell, output, ends, memory)
            ended = _end_all(worker)
            os.set_blocking(output, False)
            with suppress(BlockingIOError):  # a process that was not killed may have it open
                while ends.take(os.read(output, 1 << 16)):
                    pass
            code = ended if exitcode is None else exitcode
            report = {"exitcode": code, "output": ends.content(), "stack": _whole(stack)}
            return report if used is None else {**report, "memory": used}
        finally:
            os.close(output)
            os.close(stack)


def _whole(pipe: int) -> bytes:
    """Return the bytes in a pipe, whose writers may still run."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        return os.read(pipe, _TAIL)
    return b""


def _until_the_end(
    worker: int,
    leash: socket.socket,
    bell: int,
    output: int,
    output_ends: _OutputEnds,
    memory: MemoryLimit,
) -> tuple[int | None, int | None]:
    """Wait until the worker has ended or is to be ended.

    Return the worker's exit code, and the bytes in use that exceed the limit. Both are None if the
    command has closed the leash.
    """
    waiting = select.poll()
    for descriptor in (leash.fileno(), bell, output):
        waiting.register(descriptor, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in waiting.poll(memory.timeout)}
        if output in ready and not output_ends.take(os.read(output, 1 << 16)):
            waiting.unregister(output)
        if leash.fileno() in ready:
            return None, None
        if bell in ready:
            os.read(bell, 1 << 10)
            if (exitcode := (_ended() or {}).get(worker)) is not None:
                return exitcode, None
        if (used := memory.exceeded()) is not None:
            return None, used


def _bell() -> int:
    """Return a descriptor that becomes readable when a child has ended."""
    bell, rings = os.pipe()
    os.set_blocking(rings, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(rings, warn_on_full_buffer=False)
    return bell


def _ended() -> dict[int, int] | None:
    """Return the exit codes of children that have ended since; None if there are no children."""
    statuses: dict[int, int] = {}
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses or None
        if child == 0:
            return statuses
        statuses[child] = os.waitstatus_to_exitcode(status)


def _end_all(worker: int) -> int | None:
    """Kill the worker and all processes that it started, as far as the system allows it.

    Return the worker's exit code; None if it was already collected.
    """
    exitcode = None
    deadline = time.monotonic() + _END_TIMEOUT
    while (ended := _ended()) is not None and time.monotonic() < deadline:
        exitcode = ended.get(worker, exitcode)
        if not _kill_children(worker):
            break
        time.sleep(0.002)  # the children of a killed process become children of this one
    return exitcode


def _kill_children(worker: int) -> bool:
    """Kill the children; return True if any could be killed or is still ending."""
    if sys.platform != "linux":  # no adoption of orphans: kill the group of a quiet worker
        with suppress(OSError):
            os.killpg(worker, signal.SIGKILL)
    killed = [_kill(child) for child in children(os.getpid())]
    return any(killed)


def _kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:  # it has ended, or is another user's
        return False
    return True


class _OutputEnds:
    """The beginning and the end of a worker's output, which may be unlimited."""

    def __init__(self) -> None:
        self._head, self._tail, self._dropped = b"", b"", 0

    def take(self, piece: bytes) -> bool:
        """Add a piece of output; return True if it is not empty."""
        room = _HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room > 0 else piece
        if (over := len(self._tail) - _TAIL) > 0:
            self._tail = self._tail[over:]
            self._dropped += over
        return bool(piece)

    def content(self) -> bytes:
        """Return the whole output, or its two ends with the number of bytes omitted between."""
        gap = f"\n... {self._dropped} bytes ...\n".encode() if self._dropped else b""
        return self._head + gap + self._tail


def _work(
    results: socket.socket,
    printed: int,
    dumped: int,
    job: Job,
    snapshot: Snapshot,
    ignored: set[int],
) -> NoReturn:
    """Run the job as the worker, report its end, and exit.

    A fatal signal, such as a segmentation fault, writes the Python stack to `dumped`.
    """
    try:
        _begin(results, printed, dumped, job.quiet, ignored)
        channel = Channel(results, job.token, has_helper=job.has_helper)
        atexit._clear()  # the functions that the command registered
        gc.freeze()  # do not free the command's objects: their descriptors are closed
        try:
            message = ("done", job.work(channel, *job.args))
        except BaseException as error:  # a program may raise any of these
            message = ("failed", vars(snapshot.blamed(Failure.of(error))))
        channel.end(*message)
        program_exit.finish_process(0, 1, 2, results.fileno(), dumped)
    except BaseException as error:  # the program may have changed Python
        write(2, f"olympus cannot continue in this process: {type(error).__name__}\n".encode())
    finally:
        _exit(1)  # the message, if sent, reports the result of the work


def _begin(
    results: socket.socket, printed: int, dumped: int, quiet: bool, ignored: set[int]
) -> None:
    """Set up this process as a program expects it when it is started from a shell."""
    supervisor = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        _exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in set(_END_SIGNALS) - ignored:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    interrupts.left_to_another_process()
    if quiet:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 2)
    os.dup2(2, 1)  # the prints of a program are not data
    _close_all_but(0, 1, 2, results.fileno(), dumped)
    faulthandler.enable(dumped, all_threads=False)
    sys.stdin = _text(0, "r")
    sys.stdout, sys.stderr = _text(1, "w"), _text(2, "w")


_replaced: list[object] = []  # the command's streams, which would close descriptors if freed


def _text(descriptor: int, mode: str) -> TextIO:
    _replaced.extend((sys.stdin, sys.stdout, sys.stderr))
    opened = open(  # noqa: SIM115
        descriptor, mode, 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    return cast(TextIO, opened)


def _close_all_but(*descriptors: int) -> None:
    for name in os.listdir("/dev/fd"):
        if int(name) not in descriptors:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(int(name))


def fork_quietly() -> int:
    """Call `os.fork` without the warning about threads: those of NumPy's library support a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _prctl(option: int, value: int) -> None:
    """Set a process option of the Linux kernel; do nothing on other systems."""
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


@functools.cache
def _libc() -> ctypes.CDLL:
    """Return the C library, loaded once: a library makes a class, which the workers have too."""
    return ctypes.CDLL(None)
