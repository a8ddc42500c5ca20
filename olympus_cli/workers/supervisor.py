"""The process between the command and the one that works: it ends what is left of the work.

    command  <- leash ->  supervisor  --- forks --->  worker  ... and what the program starts
       ^------------------- results --------------------'

The supervisor runs nothing of the user's.  It adopts what the worker leaves behind, a process with
a session of its own too, and kills all of it when the worker has ended, or when the command lets go
of the leash: on purpose, or because it is dead.  Then it reports on the leash how the worker ended,
and ends itself.  Should it be killed, the kernel kills the worker.

The worker has the streams 0, 1 and 2, and of other descriptors only the one for its messages and
the one that a fatal signal writes the Python stack to.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
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
from os import _exit, write  # what the program does to the module `os` is not heard here
from typing import NoReturn, TextIO, cast

from olympus_cli.faults.failure import Failure
from olympus_cli.process import interrupts
from olympus_cli.workers import ending
from olympus_cli.workers.messages import Channel, Data
from olympus_cli.workers.patched import Snapshot

__all__ = ["Job", "Say", "fork_quietly", "main", "supervise"]

Say = Callable[[str], None]

_ASKED_TO_END = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LAST_BREATH = 5.0  # seconds in which the killed must be gone
_HEAD, _TAIL = 1 << 14, 1 << 16  # bytes that are kept of what is printed


@dataclass(frozen=True)
class Job:
    """What to do: `work` is called with a `Channel`, which is a `Say`, and with `args`.

    A `quiet` one has no stdin and a session of its own, and what it prints is kept for the report.
    """

    work: Callable[..., Data]
    args: tuple[object, ...]
    quiet: bool
    token: bytes


def main(leash: int, results: int) -> NoReturn:
    """Supervise the job that comes over the leash: the start of a fresh interpreter."""
    ours = socket.socket(fileno=leash)
    with ours.makefile("rb") as stream:
        job = pickle.load(stream)
    supervise(ours, socket.socket(fileno=results), job, Snapshot.taken())


def supervise(
    leash: socket.socket, results: socket.socket, job: Job, snapshot: Snapshot
) -> NoReturn:
    """Fork a worker for `job` and wait for its end; the report goes to `leash`.

    `snapshot` is of the modules as the job finds them.  It was taken before the first fork: to copy
    a reference writes to its object, and what a forked process writes to has to be copied.
    """
    try:
        try:
            report = _watch(leash, results, job, snapshot)
        except OSError as error:
            report = {"refused": os.strerror(error.errno or 0)}
        with suppress(OSError):  # nobody listens any more
            leash.sendall(pickle.dumps(report))
    finally:
        _exit(0)


def _watch(
    leash: socket.socket, results: socket.socket, job: Job, snapshot: Snapshot
) -> dict[str, Data]:
    ignored: set[int] = {n for n in _ASKED_TO_END if signal.getsignal(n) == signal.SIG_IGN}
    for number in _ASKED_TO_END:  # the command hears of them
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _close_all_but(0, 1, 2, leash.fileno(), results.fileno())
    bell = _bell()
    output, printed = os.pipe()
    stack, dumped = os.pipe()
    worker = fork_quietly()
    if worker == 0:
        _work(results, printed, dumped, job, snapshot, ignored)
    results.close()
    os.close(printed)
    os.close(dumped)
    kept = _Kept()
    exitcode = _until_the_end(worker, leash, bell, output, kept)
    ended = _end_all(worker)
    if exitcode is None:
        exitcode = ended
    os.set_blocking(output, False)
    with suppress(BlockingIOError):  # one that could not be killed may hold it
        while kept.take(os.read(output, 1 << 16)):
            pass
    return {"exitcode": exitcode, "output": kept.content(), "stack": _whole(stack)}


def _whole(pipe: int) -> bytes:
    """The bytes that are in a pipe, whose writers may live on."""
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        return os.read(pipe, _TAIL)
    return b""


def _until_the_end(
    worker: int, leash: socket.socket, bell: int, output: int, kept: _Kept
) -> int | None:
    """Wait until the worker has ended, or the command has let go; the exit code if it has one."""
    waiting = select.poll()
    for descriptor in (leash.fileno(), bell, output):
        waiting.register(descriptor, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in waiting.poll()}
        if output in ready and not kept.take(os.read(output, 1 << 16)):
            waiting.unregister(output)
        if leash.fileno() in ready:
            return None
        if bell in ready:
            os.read(bell, 1 << 10)
            if (exitcode := (_ended() or {}).get(worker)) is not None:
                return exitcode


def _bell() -> int:
    """A descriptor that can be read when a child has ended."""
    bell, rings = os.pipe()
    os.set_blocking(rings, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(rings, warn_on_full_buffer=False)
    return bell


def _ended() -> dict[int, int] | None:
    """The exit codes of the children that have ended since; None if there are no children."""
    found: dict[int, int] = {}
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found or None
        if child == 0:
            return found
        found[child] = os.waitstatus_to_exitcode(status)


def _end_all(worker: int) -> int | None:
    """Kill the worker and all that it started, as far as that is allowed; its exit code if new."""
    exitcode = None
    deadline = time.monotonic() + _LAST_BREATH
    while (ended := _ended()) is not None and time.monotonic() < deadline:
        exitcode = ended.get(worker, exitcode)
        if not _kill_children(worker):
            break
        time.sleep(0.002)  # what the killed leave become children of this process
    return exitcode


def _kill_children(worker: int) -> bool:
    """Whether there was one that could be killed, or is still about to end."""
    if sys.platform != "linux":  # where a process cannot adopt orphans, a quiet one has its group
        with suppress(OSError):
            os.killpg(worker, signal.SIGKILL)
    killed = [_kill(child) for child in _children()]
    return any(killed)


def _kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:  # it is gone, or another user's
        return False
    return True


def _children() -> list[int]:
    """The processes whose parent this one is."""
    found = []
    own = str(os.getpid())
    with suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                _state, parent = file.read().rpartition(b")")[2].split()[:2]
                if parent.decode() == own:
                    found.append(int(name))
    return found


class _Kept:
    """The beginning and the end of what a worker printed: that may have no end."""

    def __init__(self) -> None:
        self._head, self._tail, self._dropped = b"", b"", 0

    def take(self, piece: bytes) -> bool:
        """Keep a piece; whether there was any."""
        room = _HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room > 0 else piece
        if (over := len(self._tail) - _TAIL) > 0:
            self._tail = self._tail[over:]
            self._dropped += over
        return bool(piece)

    def content(self) -> bytes:
        """All of it, or its two ends and how much there was between."""
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
    """Be the worker: do the job, say what became of it, and end.

    A fatal signal, such as a segmentation fault, writes the Python stack to `dumped`.
    """
    try:
        _begin(results, printed, dumped, job.quiet, ignored)
        channel = Channel(results, job.token)
        atexit._clear()  # what the command registered
        gc.freeze()  # nor is it collected here, with descriptors that are closed
        try:
            message = ("done", job.work(channel, *job.args))
        except BaseException as error:  # also what the program raises in place of an Exception
            message = ("failed", vars(snapshot.blamed(Failure.of(error))))
        channel.end(*message)
        ending.finish_process(0, 1, 2, results.fileno(), dumped)
    except BaseException as error:  # what the program did to Python may be behind it
        write(2, f"olympus cannot go on in this process: {type(error).__name__}\n".encode())
    finally:
        _exit(1)  # the message says what became of the work, if it has come


def _begin(
    results: socket.socket, printed: int, dumped: int, quiet: bool, ignored: set[int]
) -> None:
    """Make this process as a program expects one to be that is started from a shell."""
    supervisor = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        _exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in set(_ASKED_TO_END) - ignored:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    interrupts.left_to_another_process()
    if quiet:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 2)
    os.dup2(2, 1)  # what a program prints is not data
    _close_all_but(0, 1, 2, results.fileno(), dumped)
    faulthandler.enable(dumped, all_threads=False)
    sys.stdin = _text(0, "r")
    sys.stdout, sys.stderr = _text(1, "w"), _text(2, "w")


_replaced: list[object] = []  # the command's streams, which would close descriptors as they go


def _text(descriptor: int, mode: str) -> TextIO:
    _replaced.extend((sys.stdin, sys.stdout, sys.stderr))
    opened = open(  # noqa: SIM115
        descriptor, mode, 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    return cast(TextIO, opened)


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/dev/fd"):
        if int(name) not in kept:
            with suppress(OSError):  # that of the listing itself
                os.close(int(name))


def fork_quietly() -> int:
    """`os.fork` without the warning that NumPy's library has threads: it knows how to be forked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _prctl(option: int, value: int) -> None:
    """Ask the kernel for what Linux alone has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
