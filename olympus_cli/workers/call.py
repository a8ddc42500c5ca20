"""Start work in a separate process, and get its result or its failure.

The work is a function that can be pickled, with its arguments; its result is plain data.  A process
that dies for any reason has failed.  When this process ends, for any reason, the worker and all
processes that it started end too.

    document = call(trace_document, spec, action="traces")
"""

from __future__ import annotations

import os
import pickle
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from io import UnsupportedOperation

from olympus.errors import ArtifactError, CompileError, OlympusError
from olympus_cli.faults.blame import is_users
from olympus_cli.faults.failure import Failure, shortage
from olympus_cli.process import interrupts, own_process
from olympus_cli.process.process_tree import descendants, resident_memory
from olympus_cli.text.escaping import visible
from olympus_cli.text.paths import quoted
from olympus_cli.text.units import limit_texts
from olympus_cli.workers import supervisor
from olympus_cli.workers.messages import Data, Receiver, datagrams, loads
from olympus_cli.workers.module_changes import Snapshot
from olympus_cli.workers.slots import SlotJob, Slots
from olympus_cli.workers.supervisor import Job, OnStage, fork_supervisor, supervise

__all__ = ["READING", "WAITING", "Ended", "Isolated", "OnStage", "call", "wait"]

#: The start of the name of a stage that reads a file with native code, before the file's name: the
#: file is damaged if the process dies there.
READING = "read "
#: The beginning of the name of a stage that waits for another process; its time is not limited.
WAITING = "wait for "
# The compiler's log marks a fatal error with F, then month and day.
_FATAL = re.compile(r"F\d{4} |.*Check failed:")
_FATAL_LINE = re.compile(rf"^\s*(?:{_FATAL.pattern})", re.M)
# A frame in a stack from `faulthandler`; the innermost is first.
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_MAX_DATAGRAMS = 256  # the most datagrams of one `look`: a program may write without end
_EVERY_DATAGRAM = 1 << 20  # no process is left that writes more
_END_TIMEOUT = 10.0  # seconds in which a supervisor must end its processes
_BOOT = (
    "import sys; sys.path[:] = {path!r}; "
    "from olympus_cli.workers.supervisor import main; main({leash}, {results})"
)

_PATH = list(sys.path)  # before a program's folders are added


@dataclass(frozen=True)
class Ended:
    """The end of the work: `data` is its result if `failure` is None; `output` is its prints."""

    data: Data
    failure: Failure | None
    output: str

    def returned(self) -> Data:
        """Write the prints of the work to stderr, and return its result or raise its error.

        Raises:
            OlympusError: the error of the work, or one of class `death` if the process has died.
        """
        if self.output:
            sys.stderr.write(visible(self.output))  # it may contain names from a bundle
        if self.failure is not None:
            raise self.failure.error()
        return self.data


class Isolated:
    """Work that runs in a separate process; `close` ends it.

    `work` is called with a `Channel`, which takes the name of each stage, and with `args`.
    `action` is a verb for messages: "compiles".  `send` sends a request to the work; `answers` are
    the answers received.  A `quiet` process has no stdin and its own session, and its prints are
    saved for `Ended`. Any other has this process's stdin, and prints to stderr if this process
    can. A process that dies, or runs for more than `time_limit` seconds after its first stage,
    fails with the class `death`; one that dies in a stage that reads a file, with ArtifactError.
    So does one that uses more than `memory_limit` bytes with the processes that it started.
    With `environment`, the process is a fresh interpreter, started with these variables in
    addition to those of this process, and without the variables of value None: Python
    reads `PYTHONHASHSEED` only at the start. With `has_helper`, the caller passes the requests in
    `answers` to a helper, and sends its answers. With `slots`, a slot runs the work.

    Raises:
        CompileError: the system has no process or no descriptor left.
    """

    def __init__(
        self,
        work: Callable[..., Data],
        *args: object,
        action: str,
        quiet: bool = False,
        death: type[OlympusError] = CompileError,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        on_stage: OnStage = lambda _stage: None,
        environment: Mapping[str, str | None] | None = None,
        has_helper: bool = False,
        slots: Slots | None = None,
    ) -> None:
        self._slots = slots
        self._environment = environment
        self._action, self._death = action, death
        self._time_limit, self._memory_limit = time_limit, memory_limit
        self._time_left = time_limit
        self._on_stage = on_stage
        self._stage = "start"
        self._message: tuple[str, Data] | None = None
        self._report = b""
        self._sent = 0
        self.answers: list[Data] = []
        self.deadline: float | None = None
        is_quiet = quiet or not _has_stderr()
        job = Job(work, args, is_quiet, os.urandom(16), memory_limit, has_helper)
        try:
            self._start(job)
        except OSError as error:
            raise _refused(error) from error

    def _start(self, job: Job) -> None:
        with ExitStack() as unless_started, ExitStack() as theirs:
            self._leash, leash = socket.socketpair()
            unless_started.enter_context(self._leash)
            theirs.enter_context(leash)
            ours, results = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            unless_started.enter_context(ours)
            theirs.enter_context(results)
            self._results = Receiver(ours, job.token)
            self._leash.setblocking(False)
            # `multiprocessing` has no such supervisor: its forkserver does not end the processes
            # that a program leaves, and imports all modules again, also from the working directory
            start: Callable[..., _Child | SlotJob | subprocess.Popen[bytes]]
            start = _fork if own_process.is_own() else _spawn
            if self._slots is not None:
                start = self._slots.start
            if self._environment is not None:
                merged = {**os.environ, **self._environment}
                variables = {name: value for name, value in merged.items() if value is not None}
                start = partial(_spawn_with, variables, _PATH)
            self._supervisor = start(leash, results, job, self._leash)
            unless_started.pop_all()

    @property
    def descriptors(self) -> tuple[int, int]:
        """The descriptors that become readable when `look` has something to read."""
        return self._leash.fileno(), self._results.socket.fileno()

    def used_memory(self) -> int:
        """Return the resident memory of the process and of all processes below it, in bytes."""
        return resident_memory(descendants(self._supervisor.pid))

    def send(self, request: Data) -> None:
        """Send a request; `look` returns an `Ended` if the process ends without an answer."""
        with suppress(OSError):  # it has ended
            for datagram in datagrams(request, self._results.token, self._sent):
                self._results.socket.send(datagram)
        self._sent += 1

    def look(self) -> Ended | None:
        """Return the end of the work, or None if it still runs; end it if its time is over."""
        self._listen()
        if self._has_ended():
            self._listen(_EVERY_DATAGRAM)
            return self._end()
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.close()
            reason = f"the time limit of {self._time_limit:g} s has passed"
            return self._failed(reason, self._reported().get("output", b""))
        return None

    def _listen(self, at_most: int = _MAX_DATAGRAMS) -> None:
        for kind, content in self._results.receive(at_most):
            if kind == "stage":
                self._enter(content)
            elif kind == "answer":
                self.answers.append(content)
            else:
                self._message = (kind, content)

    def _enter(self, stage: str) -> None:
        now = time.monotonic()
        if stage.startswith(WAITING):  # for another process, which is not counted, as the start
            if self.deadline is not None:
                self._time_left, self.deadline = self.deadline - now, None
        elif self.deadline is None and self._time_left is not None:
            self.deadline = now + self._time_left
        self._stage = stage
        self._on_stage(stage)

    def _has_ended(self) -> bool:
        """Read more of the supervisor's report; return True if the supervisor has ended.

        The report is complete then.
        """
        while True:
            try:
                piece = self._leash.recv(1 << 16)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not piece:
                return True
            self._report += piece

    def _end(self) -> Ended:
        self.close()
        report = self._reported()
        output = report.get("output", b"")
        if self._message is None:
            if "refused" in report:
                return self._failed(f"a process cannot be started: {report['refused']}", output)
            if "memory" in report and self._memory_limit is not None:
                return self._failed(_exceeds(self._memory_limit, report["memory"]), output)
            exitcode = report.get("exitcode")
            if self._stage.startswith(READING) and exitcode != -signal.SIGKILL:
                file = self._stage.removeprefix(READING)
                message = f"{file} cannot be read: {_death('reads it', exitcode)}"
                return Ended(None, Failure.of(ArtifactError(message)), "")
            reason = _death(self._action, exitcode)
            return self._failed(reason, output, _last_line(_text(report.get("stack", b""))))
        kind, content = self._message
        failure = Failure(**content) if kind == "failed" else None
        return Ended(content if failure is None else None, failure, _text(output))

    def _reported(self) -> dict[str, Data]:
        """Return the supervisor's report; an empty one if the supervisor was killed."""
        try:
            report: dict[str, Data] = loads(self._report)
        except (EOFError, pickle.UnpicklingError):  # the supervisor was killed
            return {}
        return report

    def _failed(self, reason: str, output: bytes, place: str | None = None) -> Ended:
        printed = _text(output)
        message = f"{reason} (stage: {self._stage})"
        if place is not None and not _FATAL_LINE.search(printed):  # that line gives the reason
            message += f"; the last line of the program that ran:\n{quoted(place)}"
        failure = Failure(self._death.__name__, message, _last_words(printed), None, printed)
        return Ended(None, failure, "")

    def close(self) -> None:
        """End the process, if it still runs, and all processes that it started."""
        if self._leash.fileno() == -1:
            return
        with suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _END_TIMEOUT
        while not self._has_ended():
            left = deadline - time.monotonic()
            if left <= 0:  # it is stopped, or cannot kill a process
                self._supervisor.kill()
                break
            _readable([self._leash.fileno()], left)
        self._leash.close()
        self._results.socket.close()
        self._supervisor.wait()


def wait(processes: Sequence[Isolated], at_most: float | None = None) -> None:
    """Sleep until `look` of a process has something to read, or a time limit has passed.

    `at_most` is the longest sleep, in seconds.
    """
    ends = [process.deadline for process in processes if process.deadline is not None]
    timeouts = [max(0.0, min(ends) - time.monotonic())] if ends else []
    timeout = min([*timeouts, *([] if at_most is None else [at_most])], default=None)
    _readable([number for process in processes for number in process.descriptors], timeout)


def call(
    work: Callable[..., Data],
    *args: object,
    action: str,
    quiet: bool = False,
    death: type[OlympusError] = CompileError,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    on_stage: OnStage = lambda _stage: None,
) -> Data:
    """Do the work in a separate process and return its result; Ctrl-C and SIGTERM end it.

    So do `time_limit`, in seconds after its first stage, and `memory_limit`, in bytes.

    Raises:
        OlympusError: the error of the work, or one of class `death` if the process has died.
    """
    with (
        interrupts.interrupts_raised(),
        interrupts.terminations_raised(),
        ExitStack() as stack,
    ):
        with interrupts.deferred():  # until the exit stack can end it
            process = Isolated(
                work,
                *args,
                action=action,
                quiet=quiet,
                death=death,
                time_limit=time_limit,
                memory_limit=memory_limit,
                on_stage=on_stage,
            )
            stack.enter_context(closing(process))
        while (ended := process.look()) is None:
            wait([process])
    return ended.returned()


class RequestProcess:
    """A process whose work `work(channel, *args)` reads requests from the channel and answers them.

    Ctrl-C and SIGTERM raise an exception during the wait for an answer.

    Example:
        `with closing(RequestProcess(Isolated(serve, work, action="measures"))) as process:
        process.request(["sample", 10])`
    """

    def __init__(self, process: Isolated) -> None:
        self._process = process

    def request(self, request: Data) -> Data:
        """Send a request, and return the answer of the work.

        Raises:
            OlympusError: the error of the work, or one of class `death` if the process has ended.
        """
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            self._process.send(request)
            while True:
                ended = self._process.look()
                if self._process.answers:
                    return self._process.answers.pop(0)
                if ended is not None:
                    return ended.returned()
                wait([self._process])

    def end(self, request: Data) -> Data:
        """Send the last request, and return the result of the work.

        Raises:
            OlympusError: as in `request`.
        """
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            self._process.send(request)
            while (ended := self._process.look()) is None:
                wait([self._process])
        return ended.returned()

    def close(self) -> None:
        """End the process, if it still runs, and all processes that it started."""
        self._process.close()


def _has_stderr() -> bool:
    """Return True if `sys.stderr` writes to descriptor 2; a caller may have replaced it."""
    try:
        return sys.stderr.fileno() == 2
    except (AttributeError, ValueError, UnsupportedOperation):
        return False


@dataclass(frozen=True)
class _Child:
    """A forked process, with the methods of `subprocess.Popen` that are used here."""

    pid: int

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> object:
        return os.waitpid(self.pid, 0)


def _fork(leash: socket.socket, results: socket.socket, job: Job, _ours: socket.socket) -> _Child:
    """Fork the supervisor from this process, which has imported all modules and has no threads."""
    snapshot = Snapshot.of_now()
    return _Child(fork_supervisor(lambda: supervise(leash, results, job, snapshot)))


def _spawn(
    leash: socket.socket, results: socket.socket, job: Job, ours: socket.socket
) -> subprocess.Popen[bytes]:
    """Start the supervisor in a fresh interpreter: a fork would lose the threads of a client."""
    return _spawn_with(None, sys.path, leash, results, job, ours)


def _spawn_with(
    environment: Mapping[str, str] | None,
    path: list[str],
    leash: socket.socket,
    results: socket.socket,
    job: Job,
    ours: socket.socket,
) -> subprocess.Popen[bytes]:
    """Start the supervisor in a fresh interpreter.

    Its environment is `environment`, or that of this process if that is None.
    """
    descriptors = (leash.fileno(), results.fileno())
    safe = own_process.safe_path(path)
    code = _BOOT.format(path=safe, leash=descriptors[0], results=descriptors[1])
    command = [sys.executable, "-P", "-c", code]
    process = subprocess.Popen(command, pass_fds=descriptors, env=environment)
    ours.setblocking(True)
    ours.sendall(pickle.dumps(job))
    ours.setblocking(False)
    return process


def _readable(descriptors: Sequence[int], timeout: float | None) -> None:
    waiting = select.poll()
    for descriptor in descriptors:
        waiting.register(descriptor, select.POLLIN)
    waiting.poll(None if timeout is None else timeout * 1000 + 1)


def _refused(error: OSError) -> CompileError:
    why = shortage(error)
    hint = why.hint if why is not None else None
    return CompileError(f"a process cannot be started: {error.strerror}", hint=hint)


def _death(action: str, exitcode: int | None) -> str:
    """Return a description of the unexpected end of a process."""
    if exitcode is None:
        return f"the process that {action} was lost: its supervisor was killed"
    if exitcode >= 0:
        return f"the process that {action} ended with exit code {exitcode}"
    known = {number.value: number.name for number in signal.Signals}
    name = known.get(-exitcode, f"signal {-exitcode}")
    why = ", most likely because the machine ran out of memory" if name == "SIGKILL" else ""
    return f"the process that {action} was ended by {name}{why}"


def _exceeds(limit: int, used: int) -> str:
    """Return the message for a process that uses more memory than its limit."""
    most, amount = limit_texts(limit, used)
    return f"the memory limit of {most} was exceeded: the process and its children use {amount}"


def _last_line(stack: str) -> str | None:
    """Return the "file:line" of the innermost user frame in the stack of a fatal signal."""
    for file, line in _FRAME.findall(stack):
        if file == supervisor.__file__:  # the frames that follow are those of the command
            return None
        if is_users(file):
            return f"{file}:{line}"
    return None


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _last_words(printed: str) -> str | None:
    """Return the line with the reason of a process's death, or its last line if it has none."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    fatal = [line for line in lines if _FATAL.match(line)]
    return f"it printed: {(fatal or lines)[-1]}" if lines else None
