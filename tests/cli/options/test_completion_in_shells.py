"""Completion by the Tab key in interactive shells, each in a terminal of its own.

zsh and fish are tested if they are installed.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOML = """
[target.predict]
entry = "model:predict"
matrix.batch = [1, 32]

[target.unet]
entry = "model:unet"
"""
COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
SETUPS = {
    "bash": 'eval "$(olympus completion bash)"; bind "set bell-style none"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(olympus completion zsh)"',
    "fish": "olympus completion fish | source",
}
SHELLS = [shell for shell in COMMANDS if shutil.which(shell)]
_TIMEOUT = 60.0  # seconds: a Tab starts a process

# The command completes as usual, and prints its arguments otherwise.
_WRAPPER = """\
#!/bin/sh
if [ -n "$_OLYMPUS_COMPLETE" ] || [ "$1" = completion ]; then
    PYTHONPATH="{root}" exec "{python}" -m olympus_cli "$@"
fi
printf 'GOT'; printf '<%s>' "$@"; printf 'END\\n'
"""
# A shell controls the terminal of its session.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A shell in a pseudo-terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        ours, theirs = pty.openpty()
        path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "TERM": "xterm", "HOME": str(folder.parent)}
        environment |= {"HISTFILE": "/dev/null", "fish_history": "", "COLUMNS": "200"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *COMMANDS[shell]],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            close_fds=True,
        )
        os.close(theirs)
        self._descriptor = ours
        self.text = ""

    def send(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until `text` is in the output."""
        deadline = time.monotonic() + _TIMEOUT
        while text not in self.text:
            ready, _, _ = select.select([self._descriptor], [], [], 0.2)
            assert time.monotonic() < deadline, f"{text!r} is not in {self.text!r}"
            if ready:
                self.text += os.read(self._descriptor, 4096).decode(errors="replace")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            os.close(self._descriptor)


@contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    opened = Terminal(shell, folder)
    try:
        opened.send(f"{SETUPS[shell]}; echo 'RE''ADY'\r")
        opened.wait_for("READY")
        yield opened
    finally:
        opened.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "olympus.toml").write_text(TOML)
    (tmp_path / "project" / "inputs-a.npz").write_text("")
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "olympus"
    script.write_text(_WRAPPER.format(root=ROOT, python=sys.executable))
    script.chmod(0o755)
    return tmp_path / "project"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_tab_completes_the_line(project: Path, shell: str) -> None:
    lines = {
        "olympus buil\tun\t": "<build><unet>",
        "olympus build predict@batch=3\t": "<build><predict@batch=32>",
        "olympus check --proj\t. unet": "<check><--project><.><unet>",
        "olympus run unet --inputs inputs\t": "<run><unet><--inputs><inputs-a.npz>",
    }
    with terminal(shell, project) as opened:
        for keys, words in lines.items():
            opened.send(keys)
            time.sleep(0.1)  # a key that follows is read by the shell and not by its child
            opened.send("\r")
            opened.wait_for(f"GOT{words}END")
