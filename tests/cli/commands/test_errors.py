"""Bad input: a clear message on stderr, the documented exit code, and a traceback only with -v."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from olympus import errors
from olympus_cli import main
from olympus_cli.commands import init

Invoke = Callable[..., Result]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--shapes", "x=" + "[" * 2000], "nested more than 100 deep"),
        (["--static", "x=" + "[" * 2000], "is not a TOML value"),
        (["--static", "scale=1\nb=2"], "is not a TOML value"),
    ],
)
def test_an_option_of_many_brackets_or_lines(
    project: Path, invoke: Invoke, args: list[str], words: str
) -> None:
    result = invoke("trace", "model:add", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert words in result.stderr


def test_no_project_and_no_entry(folder: Path, invoke: Invoke) -> None:
    result = invoke("trace", "mlp")
    assert result.exit_code == 2
    assert "'mlp' has no ':', so that it is not an entry but a target" in result.stderr


def test_a_project_of_many_brackets(folder: Path, invoke: Invoke) -> None:
    (folder / "olympus.toml").write_text("x = " + "[" * 5000)
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "olympus.toml is nested too deeply" in result.stderr


@pytest.mark.parametrize("args", [["-v", "trace", "model:none"], ["trace", "model:none", "-v"]])
def test_verbose_adds_the_traceback(project: Path, invoke: Invoke, args: list[str]) -> None:
    result = invoke(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "no function 'none'" in result.stderr


def test_the_command_alone_shows_its_help(invoke: Invoke) -> None:
    result = invoke()
    assert result.exit_code == 2
    assert "Commands:" in result.output


ODD = """\
import dataclasses
import olympus

async def later(x): return x
async def stream(x): yield x
def items(x): yield x

class Net:
    def forward(self, x): return x + 1
    @classmethod
    def make(cls, x): return x + 2
    def __call__(self, x): return x + 3

net = Net()

@dataclasses.dataclass
class Pair:
    a: object

def pair(x): return Pair(x)
def awaits(x): return later(x)
def plain(x): return {"n": net}
"""


@pytest.mark.parametrize("name", ["net.forward", "Net.make", "net"])
def test_methods_of_objects_are_entries(project: Path, invoke: Invoke, name: str) -> None:
    (project / "odd.py").write_text(ODD)
    assert invoke("trace", f"odd:{name}", "--shapes", "x=f32[2]").exit_code == 0


@pytest.mark.parametrize("args", [["trace", "m:f"], ["build"], ["doctor"], ["init"]])
def test_a_removed_working_directory_is_an_error(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    result = invoke(*args)
    assert result.exit_code == 2
    assert "error: the working directory cannot be used: No such file" in result.stderr


def test_an_entry_that_is_too_long_for_a_file(folder: Path, invoke: Invoke) -> None:
    for entry in (f"{'n' * 300}.py:f", f"{'n' * 300}:f"):
        result = invoke("trace", entry)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ") and "n" * 300 in result.stderr


def raising(error: BaseException) -> click.Command:
    def callback() -> None:
        raise error

    return click.Command("trace", callback=callback)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.GateError("slower"), 1),
        (errors.UsageError("wrong"), 2),
        (errors.TraceError("failed"), 3),
        (errors.CompileError("died"), 4),
        (errors.ArtifactError("damaged"), 5),
        (errors.BackendError("absent"), 6),
        (errors.FrozenError("stale"), 7),
        (errors.InternalError("broken"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_exception_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke, error: BaseException, code: int
) -> None:
    monkeypatch.setattr(main.Commands, "get_command", lambda *_: raising(error))
    result = invoke("trace")
    assert result.exit_code == code
    assert result.stdout == ""
    assert str(error) in result.stderr
    assert ("issue tracker" in result.stderr) == (code == 70)
    assert ("interrupted" in result.stderr) == (code == 130)
    assert "Traceback" not in result.stderr


def test_an_exception_in_olympus_is_a_defect(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "TEMPLATES", None)
    result = invoke("init")
    assert result.exit_code == 70
    assert "this is a defect of olympus: TypeError: 'NoneType'" in result.stderr
    assert "issue tracker" in result.stderr


COMMAND = [sys.executable, "-m", "olympus_cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def test_a_closed_pipe_is_quiet(project: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        [*COMMAND, "trace", "add"],
        env=ENVIRONMENT,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (result.returncode, result.stderr) == (141, "")


def test_names_that_stdout_cannot_write_are_escaped(project: Path) -> None:
    (project / "naïve.py").write_text("def größe(x):\n    return {'é': x}\n", encoding="utf-8")
    outputs = {}
    for more in ((), ("--json",)):
        command = [*COMMAND, "run", "naïve:größe", "--shapes", "f32[2]", *more]
        environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        outputs[more] = done.stdout
    assert "result['\\xe9']" in outputs[()]
    (output,) = json.loads(outputs["--json",])["outputs"]
    assert output["name"] == "result['é']"


def test_an_interrupt_is_a_short_line(
    project: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    (project / "slow.py").write_text("import time\nprint('ready')\ntime.sleep(60)\n")
    process = started(
        [*COMMAND, "trace", "slow:f"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr.strip()) == (130, "interrupted")
