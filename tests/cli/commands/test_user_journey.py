"""The first hour of a new user: new processes, another folder, several kinds of terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
#: Makes the terminal the controlling one of a process, for Ctrl-C, and executes the rest.
LOGIN = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
OLYMPUS = [sys.executable, "-m", "olympus_cli"]


def environment(**more: str) -> dict[str, str]:
    """A user's environment, without options of colours and width unless `more` sets them.

    A CI system sets CI, where terminals show no progress.
    """
    unset = ("NO_COLOR", "COLUMNS", "FORCE_COLOR", "CI")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return {**inherited, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **more}


def olympus(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `olympus` in a folder, without a terminal."""
    return subprocess.run(
        [*OLYMPUS, *args],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class Terminal:
    """`olympus` in a terminal of `columns`; the output is read up to an expected text."""

    def __init__(self, folder: Path, *args: str, columns: int = 80, **more: str) -> None:
        self.written = ""
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOGIN, *OLYMPUS, *args],
            cwd=folder,
            env=environment(**more),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)

    def read(self, until: str | None = None) -> str:
        """The output so far, after `until` appears or the process ends."""
        while until is None or until not in self.written:
            ready, _, _ = select.select([self._ours], [], [], 120)
            if not ready:  # it hangs, and must end with the test
                self._process.kill()
            assert ready, self.written
            try:
                piece = os.read(self._ours, 65536)
            except OSError:  # the error of a terminal without processes
                break
            if not piece:
                break
            self.written += piece.decode(errors="replace")
        return self.written

    def press(self, keys: bytes) -> None:
        """Type into the terminal."""
        os.write(self._ours, keys)

    def leave(self) -> int:
        """Wait for the end and return the exit code."""
        self.read()
        os.close(self._ours)
        return self._process.wait(timeout=120)


def in_terminal(folder: Path, *args: str, **more: Any) -> tuple[int, str]:
    """Run `olympus` in a terminal to its end; return the exit code and the output."""
    terminal = Terminal(folder, *args, **more)
    return terminal.leave(), terminal.written


SLOW = """\
import time
from pathlib import Path


def f(x):
    while not Path("go").exists():
        time.sleep(0.01)
    return 2 * x
"""


@pytest.fixture(scope="module")
def initialized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project from `init`, built."""
    folder = tmp_path_factory.mktemp("home")
    result = olympus(folder, "init")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1] == "next: olympus build"
    built = olympus(folder, *result.stderr.split()[-1:])  # the next command that it names
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    assert [line.split()[:2] for line in built.stdout.splitlines()] == [
        ["built", "predict@batch=1"],
        ["built", "predict@batch=32"],
    ]
    return folder


def test_a_build_runs_without_its_source(initialized: Path, tmp_path: Path) -> None:
    bundle = initialized / "build" / "predict@batch=32" / "predict@batch=32.olympus"
    elsewhere = olympus(tmp_path, "run", str(bundle), "--json", "-o", "probabilities.npz")
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert elsewhere.stderr == "wrote probabilities.npz\n"
    (output,) = json.loads(elsewhere.stdout)["outputs"]
    assert (output["shape"], output["dtype"]) == ([32, 10], "float32")
    assert output["mean"] == pytest.approx(0.1, rel=1e-5)  # probabilities of ten classes
    with_source = olympus(initialized, "run", "predict@batch=32", "--json")
    assert json.loads(with_source.stdout)["outputs"] == [output]


def test_bench_reports_times_of_every_stage(initialized: Path) -> None:
    measured = olympus(initialized, "bench", "predict@batch=1", "--json", "--time-limit", "0.2")
    assert measured.returncode == 0, measured.stderr
    (target,) = json.loads(measured.stdout)["targets"]
    stages = ("trace", "lower", "compile", "first-call", "steady-call")
    assert all(target["metrics"][stage]["median"] > 0 for stage in stages)


def test_a_change_is_built_and_a_mistake_is_an_error_with_its_line(
    initialized: Path, tmp_path: Path
) -> None:
    for name in ("model.py", "olympus.toml"):
        (tmp_path / name).write_text((initialized / name).read_text())
    source = (tmp_path / "model.py").read_text()
    (tmp_path / "model.py").write_text(source.replace("np.tanh(x @", "np.tanh(x.T @"))
    failed = olympus(tmp_path, "build", "predict@batch=32")
    assert failed.returncode == 3
    assert failed.stdout.split()[:2] == ["failed", "predict@batch=32"]
    assert "in matmul of" in failed.stderr
    assert 'np.tanh(x.T @ layer["w"] + layer["b"])' in failed.stderr
    assert "Traceback" not in failed.stderr
    (tmp_path / "model.py").write_text(source.replace("np.tanh(", "np.sin("))
    assert olympus(tmp_path, "build", "predict@batch=32").stdout.split()[0] == "built"


def visible(text: str) -> list[str]:
    """The lines that remain on a terminal: later output overwrites a progress line."""
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").splitlines()]


def test_a_narrow_terminal_shows_lists_instead_of_tables(initialized: Path) -> None:
    command = ("run", "predict@batch=1", "--json")
    (output,) = json.loads(olympus(initialized, *command).stdout)["outputs"]
    code, text = in_terminal(initialized, *command[:2], columns=40, NO_COLOR="1", TERM="dumb")
    assert code == 0
    assert visible(text) == [
        "output      result",
        "shape       [1, 10]",
        "dtype       float32",
        f"mean        {output['mean']:.6g}",
        f"min         {output['minimum']:.6g}",
        f"max         {output['maximum']:.6g}",
        "non-finite  0",
    ]


def test_a_folded_table_does_not_break_words(initialized: Path) -> None:
    code, text = in_terminal(initialized, "doctor", columns=60, NO_COLOR="1", TERM="dumb")
    assert code == 0
    table = text.partition("\r\ncache")[0]
    assert all(len(line) <= 60 for line in visible(table))
    assert {"backend", "available", "28:", "cpu:0"} <= set(table.split())


def test_columns_of_the_environment_set_the_width(initialized: Path) -> None:
    code, text = in_terminal(initialized, "doctor", columns=200, COLUMNS="60", TERM="dumb")
    assert code == 0
    table = text.partition("cache")[0].partition("backend")[2]
    assert all(len(line) <= 60 for line in visible(table))


def test_a_terminal_shows_progress_and_a_pipe_does_not(initialized: Path) -> None:
    code, text = in_terminal(initialized, "build", "--force")
    assert code == 0
    assert re.search(r"predict@batch=1 +compile for ", text)  # the stage of a target
    assert "\033[" in text
    lines = [line for line in visible(text) if "built" in line]
    assert len(lines) == 2
    piped = olympus(initialized, "build", "--force")
    assert piped.stderr == ""
    assert "\033" not in piped.stdout


def test_colours_are_used_on_terminals_that_have_them(initialized: Path) -> None:
    _, colourful = in_terminal(initialized, "build", "predikt")
    assert "\033[1;31merror\033[0m: no target is named 'predikt'" in colourful
    _, plain = in_terminal(initialized, "build", "predikt", NO_COLOR="1")
    assert "\033[1;31m" not in plain
    assert "did you mean predict" in plain


def test_ctrl_c_ends_a_build_and_restores_the_terminal(initialized: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SLOW)
    (tmp_path / "olympus.toml").write_text('[target.f]\nentry = "model:f"\nargs = ["f32[2]"]\n')
    terminal = Terminal(tmp_path, "build")
    terminal.read(until="trace")
    terminal.press(b"\x03")
    assert terminal.leave() == 130
    assert visible(terminal.written)[-1].endswith("interrupted")
    assert "\033[?25l" not in terminal.written  # the cursor is never hidden
    assert not (tmp_path / "build").exists()
    (tmp_path / "go").touch()
    again = olympus(tmp_path, "build")
    assert again.returncode == 0, again.stderr
    names = {path.name for path in (tmp_path / "build").iterdir()}
    assert names == {".olympus-index.json", "f", "history.sqlite"}


def test_the_commands_that_init_names_work(initialized: Path) -> None:
    comments = [
        line for line in (initialized / "olympus.toml").read_text().splitlines() if "#" in line
    ]
    text = " ".join(line.partition("#")[2].strip() for line in comments)
    named = re.findall(r"`olympus ([^`]*)`", text)
    assert {line.split()[0] for line in named} == {
        "build",
        "trace",
        "lower",
        "run",
        "check",
        "doctor",
    }
    for line in named:
        done = olympus(initialized, *line.split())
        assert done.returncode == 0, done.stderr
