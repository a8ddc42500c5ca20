"""A build on a terminal: the lines that it shows, a resized terminal, and Ctrl-C at any moment."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = """\
import time


def f(x, n):
    time.sleep(0.2 * n)
    return x + n
"""
TOML = """\
[target.a_rather_long_name_of_a_target]
entry = "program:f"
args = ["f32[2]"]
matrix = { n = [1, 2, 3, 4] }
"""


# Python with the terminal as the controlling one: a function after the fork would run the hooks
# of the runtime
_ON_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Terminal:
    """A command on a terminal of its own, and what it wrote."""

    def __init__(self, *arguments: str) -> None:
        self._own, theirs = pty.openpty()
        self.resize(20, 80)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
        environment.pop("CI", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, "-m", "olympus_cli", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self.output = ""

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal, which sends SIGWINCH."""
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> bool:
        """Read for some time; return False if the command has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._own], [], [], left)[0]:
                try:
                    self.output += os.read(self._own, 1 << 16).decode()
                except OSError as error:
                    assert error.errno == errno.EIO, "the command has closed the terminal"
                    return False
        return True

    def press_ctrl_c(self) -> None:
        """Send the character, which the terminal turns into SIGINT for all processes on it."""
        os.write(self._own, b"\x03")

    def end(self) -> int:
        """Read until the command has ended; return its exit code."""
        while self.read(0.1):
            assert self.process.poll() is None or self.read(0.1) is False
        os.close(self._own)
        return self.process.wait()


@pytest.fixture
def project_on_terminal(folder: Path) -> Iterator[Path]:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    yield folder


def processes_of(session: int) -> list[int]:
    """Return the running processes of a session."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(name))
    return found


def check_outputs(build: Path) -> None:
    """Check that each folder of a target is complete."""
    for folder in build.iterdir() if build.exists() else ():
        if folder.is_dir():
            manifest = json.loads((folder / "olympus-build.json").read_text())
            for file in manifest["files"]:
                assert (folder / file["path"]).stat().st_size == file["bytes"]


def test_a_build_shows_its_targets_and_erases_them(project_on_terminal: Path) -> None:
    terminal = Terminal("build", "--jobs", "2")
    for rows, columns in ((20, 80), (8, 30), (30, 120)):
        terminal.resize(rows, columns)
        terminal.read(0.3)
    assert terminal.end() == 0
    assert "0/4 targets" in terminal.output
    assert "n=1" in terminal.output and "trace" in terminal.output
    after = terminal.output.rpartition("\x1b[J")[2]
    assert after.count("built   a_") == 4 and "\x1b[" not in after


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.night) for n in range(1, 20))]
)
def test_ctrl_c_ends_a_build_at_any_moment(project_on_terminal: Path, seed: int) -> None:
    terminal = Terminal("build", "--jobs", "2")
    session = terminal.process.pid
    terminal.read(random.Random(seed).uniform(0.6, 3.0))
    terminal.press_ctrl_c()
    code = terminal.end()
    assert code in (0, 128 + signal.SIGINT)
    assert processes_of(session) == []
    after = terminal.output.rpartition("\x1b[J")[2]
    if code:
        assert after.endswith("interrupted\r\n")
    else:  # the terminal may show the key after the last line of a build that was done
        assert after.removesuffix("^C").endswith("\r\n")
    assert "Traceback" not in terminal.output
    assert "\x1b[?25l" not in terminal.output, "the cursor stays visible"
    check_outputs(project_on_terminal / "build")
