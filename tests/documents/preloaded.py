"""A process that has imported the command line, and forks itself to run a command of a document.

A fresh `olympus` spends most of its time on imports. `command.py` sends each command to this
process; tests/cli/process/test_start.py tests the start of a fresh one.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import olympus_cli.__main__
from olympus_cli.workers.supervisor import fork_quietly
from tests.cli.forking import import_all, read_once


@contextlib.contextmanager
def preloaded(folder: Path, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Start the process with `environment`; yield the variables by which a command finds it.

    Without them, as on systems other than Linux, a command is a fresh process.
    """
    if sys.platform != "linux":
        yield {}
        return
    address = str(folder / "preloaded")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(address)
        door.listen()
        code = f"from tests.documents.preloaded import serve; serve({door.fileno()})"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], pass_fds=[door.fileno()], env=environment
        )
    with process:
        yield {"PRELOADED": address}
        process.kill()


def serve(door: int) -> NoReturn:
    """Fork a process for each connection, forever."""
    import_all()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets children that have ended
    with socket.socket(fileno=door) as connections:
        while True:
            connection, _address = connections.accept()
            with connection:
                if fork_quietly() == 0:
                    connections.close()
                    _answer(connection)


def _answer(connection: socket.socket) -> NoReturn:
    """Run the command that `command.py` sends, and send its exit code."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        content, descriptors, _flags, _address = socket.recv_fds(connection, 1 << 17, 4)
        arguments, environment = ast.literal_eval(content.decode())
        if read_once(environment) != read_once(os.environ):
            connection.send(b"start")
            os._exit(0)
        if (child := fork_quietly()) == 0:
            connection.close()
            _run(arguments, environment, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.send(str(code if code >= 0 else 128 - code).encode())  # as in a shell
    finally:
        os._exit(0)


def _run(arguments: list[str], environment: dict[str, str], descriptors: list[int]) -> NoReturn:
    """Run a command with these streams, and with the last of `descriptors` as directory."""
    code: object = 70
    try:
        for stream in (0, 1, 2):
            os.dup2(descriptors[stream], stream)
        os.fchdir(descriptors[3])
        for descriptor in descriptors:
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[1:] = arguments
        olympus_cli.__main__.main()
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
