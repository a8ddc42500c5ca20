"""A process that has imported the command line, and forks itself to start a worker of a test.

A command runs a program in a worker, which it forks from itself. A test runner has
threads, so it starts a fresh interpreter instead, which spends most of its time on imports.
Tests of other subjects fork their workers from one process of the session.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import olympus_cli.commands
from olympus_cli.process import own_process
from olympus_cli.workers import supervisor
from olympus_cli.workers.supervisor import Job, fork_quietly

Spawn = Callable[[socket.socket, socket.socket, Job, socket.socket], Any]

_BOOT = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "  # the session ends it
    "sys.path[:] = {path!r}; from tests.cli.forking import serve; serve({door})"
)
#: Modules that most programs load at their first use.
_LOADED_LATE = (
    "email.parser",
    "jaxlib.mlir.dialects.chlo",
    "jaxlib.mlir.dialects.func",
    "jaxlib.mlir.dialects.sdy",
    "jaxlib.mlir.dialects.stablehlo",
    "jaxlib.mlir.ir",
    "jaxlib.mlir.passmanager",
    "numpy.random",
)
#: Read as modules are imported: with other values, a process must import them itself.
_READ_ONCE = ("JAX_", "LD_", "MALLOC_", "OLYMPUS_", "OMP_", "PYTHON", "TF_", "XLA_")
#: Of these, the variables of the stores of results, which are read for each project.
_READ_LATER = ("OLYMPUS_CACHE_DIR", "OLYMPUS_REMOTE_CACHE")


@contextlib.contextmanager
def forking(spawn: Spawn) -> Iterator[Spawn]:
    """A replacement for `spawn`, which it calls if the environment differs from the server's."""
    if not _can_wait_for_any_process():
        yield spawn
        return
    with contextlib.ExitStack() as stack:
        servers: list[_Server] = []

        def start(*arguments: Any) -> Any:
            if not servers:
                servers.append(stack.enter_context(_started()))
            (server,) = servers
            return (
                server.start(*arguments)
                if server.environment == read_once(os.environ)
                else spawn(*arguments)
            )

        yield start


def _can_wait_for_any_process() -> bool:
    """Return True if a process can wait for one that is no child, as on Linux since 5.3."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


@contextlib.contextmanager
def _started() -> Iterator[_Server]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        code = _BOOT.format(path=own_process.safe_path(sys.path), door=theirs.fileno())
        command = [sys.executable, "-P", "-c", code]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    with process, ours:  # it ends when the socket is closed
        yield _Server(ours, read_once(os.environ))


def read_once(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process reads as it imports modules."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_ONCE) and not name.startswith(_READ_LATER)
    }


@dataclass(frozen=True)
class _Server:
    door: socket.socket
    environment: dict[str, str]

    def start(
        self, leash: socket.socket, results: socket.socket, job: Job, ours: socket.socket
    ) -> _Child:
        """Fork a process with the streams, directory, paths and environment of this one."""
        content = pickle.dumps((dict(os.environ), own_process.safe_path(sys.path)))
        directory = os.open(".", os.O_RDONLY)
        answer, theirs = socket.socketpair()
        with answer:
            descriptors = [0, 1, 2, directory, leash.fileno(), results.fileno(), theirs.fileno()]
            with theirs:
                socket.send_fds(self.door, [content], descriptors)
            os.close(directory)
            _, (child,), _, _ = socket.recv_fds(answer, 1, 1)
        ours.setblocking(True)
        ours.sendall(pickle.dumps(job))
        ours.setblocking(False)
        return _Child(child)


@dataclass(frozen=True)
class _Child:
    """A process of the server, with the methods of `subprocess.Popen` that callers use."""

    descriptor: int

    @property
    def pid(self) -> int:
        """The id of the process, from the kernel's description of the descriptor."""
        with open(f"/proc/self/fdinfo/{self.descriptor}", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))

    def kill(self) -> None:
        signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def wait(self) -> None:
        ends = select.poll()
        ends.register(self.descriptor, select.POLLIN)
        ends.poll()
        os.close(self.descriptor)


def import_all() -> None:
    """Import the commands, and the modules that most programs load at their first use."""
    for module in pkgutil.iter_modules(olympus_cli.commands.__path__, "olympus_cli.commands."):
        importlib.import_module(module.name)
    for name in _LOADED_LATE:
        importlib.import_module(name)


def serve(door: int) -> None:
    """Fork a supervisor for each message from the socket, until it is closed."""
    import_all()
    gc.freeze()
    children: list[int] = []
    with socket.socket(fileno=door) as messages:
        while (message := socket.recv_fds(messages, 1 << 17, 7))[0]:
            content, descriptors, _flags, _address = message
            if (child := fork_quietly()) == 0:
                _supervise(content, descriptors)
            _answer(descriptors[-1], child)
            for descriptor in descriptors:
                os.close(descriptor)
            children = [pid for pid in children if os.waitpid(pid, os.WNOHANG) == (0, 0)]
            children.append(child)


def _answer(to: int, child: int) -> None:
    """Send a descriptor that becomes readable when the child ends, unless the caller has ended."""
    ends = os.pidfd_open(child)
    with socket.socket(fileno=os.dup(to)) as caller, suppress(OSError):
        socket.send_fds(caller, [b"."], [ends])
    os.close(ends)


def _supervise(content: bytes, descriptors: list[int]) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream in (0, 1, 2):
            os.dup2(descriptors[stream], stream)
        directory, leash, results, _caller = descriptors[3:]
        os.fchdir(directory)
        environment, path = pickle.loads(content)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = path
        importlib.invalidate_caches()
        supervisor.main(leash, results)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)
