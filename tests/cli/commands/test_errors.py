"""Bad input: one clear message on stderr, the documented exit code, a traceback only with -v."""

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

P = "{w=f32[3,4], b=f32[4]}"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["nosuch:f"], 2, ["no module 'nosuch'"]),
        (["model:forwrd"], 2, ["no function 'forwrd'", "did you mean forward?"]),
        (["model:net"], 2, ["a value of type Net, not a function"]),
        (["model.py"], 2, ["'model.py' names no function", "model.py:forward"]),
        (["add", "--shapes", "f32[2"], 2, ["  f32[2\n       ^"]),
        (["add", "--shapes", "g32[2]"], 2, ["no dtype is named 'g32'", "hint: did you mean"]),
        (["model:add", "--shapes", "x=" + "[" * 2000], 2, ["nested more than 100 deep"]),
        (["model:add", "--static", "x=" + "[" * 2000], 2, ["is not a TOML value"]),
        (["model:add", "--shapes", "f32[2]"], 2, ["add needs argument 'y'"]),
        (["model:add", "--shapes", "f32[2], f32[], f32[]"], 2, ["3 shapes are given"]),
        (["model:forward", "--shapes", "z=f32[]"], 2, ["no argument 'z'"]),
        (["model:forward", "--shapes", "x=f32[]", "--static", "x=1"], 2, ["both as a shape and"]),
        (["model:forward", "--static", "scale=[1]"], 2, ["is an array", "no annotation"]),
        (["model:forward", "--static", "scale={a=1}"], 2, ["is a table", "no annotation"]),
        (["model:forward", "--static", "scale=fast"], 2, ["""'scale="fast"'"""]),
        (["model:forward", "--static", "relu=True"], 2, ["TOML writes true"]),
        (["model:forward", "--static", "scale=1\nb=2"], 2, ["is not a TOML value"]),
        (["model:forward", "--static", "scale"], 2, ["must be NAME=VALUE"]),
        (["model:forward", "--static", "a=1", "--static", "a=2"], 2, ["'a' is given twice"]),
        (["forwrd"], 2, ["no target is named 'forwrd'", "did you mean forward"]),
        (["forward"], 2, ["has a matrix", "forward@batch=1, forward@batch=8"]),
        (["add", "--project", "nowhere"], 2, ["nowhere does not exist"]),
        (["model:add", "--project", "nowhere"], 2, ["the folder does not exist"]),
        (
            ["model:fails", "--shapes", "f32[2]"],
            3,
            ["the width is odd", "  model.py:28\n    raise"],
        ),
        (["model:mismatched", "--shapes", "f32[2,3], f32[2,3]"], 3, ["model.py:38", "x @ y"]),
        (["model:branches", "--shapes", "f32[]"], 3, ["model.py:32", "if x > 0"]),
        (["model:leaves", "--shapes", "f32[]"], 3, ["leaves raised SystemExit", "model.py:42"]),
        (["leaving:f"], 2, ["leaving exits while it is imported", "leaving.py:1"]),
        (["leaving.py:f"], 2, ["leaving exits while it is imported", "leaving.py:1"]),
        (
            ["model:worded", "--shapes", "f32[]"],
            3,
            ["at result['y']", "\n    def worded(x):"],
        ),
        (
            ["model:nowhere", "--shapes", "f32[]"],
            3,
            ["'nowhere'", "\n    return olympus.target"],
        ),
        (
            ["model:repeated", "--shapes", "f32[], i32[]"],
            2,
            ["'n' of repeated is static", "--static n="],
        ),
        (["math:sin", "--shapes", "x={from=m:}"], 2, ["expected the name of a function after ':'"]),
        (
            ["math:sin", "--shapes", "f32[]"],
            3,
            ["float of a traced array float32[] was asked for\n"],
        ),
        (["add", "-o", "nowhere/f"], 2, ["nowhere/f cannot be written"]),
        (["add", "-o", "."], 2, ["cannot be written"]),
    ],
)
def test_bad_input(
    project: Path, invoke: Invoke, args: list[str], code: int, words: list[str]
) -> None:
    (project / "leaving.py").write_text("raise SystemExit(0)\n")
    result = invoke("trace", *args)
    assert result.exit_code == code
    assert result.stdout == ""
    assert "error: " in result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_no_project_and_no_entry(folder: Path, invoke: Invoke) -> None:
    result = invoke("trace", "mlp")
    assert result.exit_code == 2
    assert "'mlp' has no ':', so that it is not an entry but a target" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[target.t]\nentri = 'm:f'\n", ["olympus.toml:2:", "'entri'", "did you mean entry?"]),
        ("[target.t]\nargs = " + "[" * 150 + "]" * 150, ["olympus.toml:2:", "more than 100 deep"]),
        ("x = " + "[" * 5000, ["olympus.toml is nested too deeply"]),
        ("[target.t]\nentry = \n", ["olympus.toml:2:9:", "line 2, column 9", "^"]),
    ],
)
def test_a_wrong_project(folder: Path, invoke: Invoke, text: str, words: list[str]) -> None:
    (folder / "olympus.toml").write_text(text)
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert all(word in result.stderr for word in words)


def test_branching_says_what_to_use_instead(project: Path, invoke: Invoke) -> None:
    result = invoke("trace", "model:branches", "--shapes", "f32[]")
    assert "where" in result.stderr or "cond" in result.stderr


@pytest.mark.parametrize("args", [["-v", "trace", "model:none"], ["trace", "model:none", "-v"]])
def test_verbose_adds_the_traceback(project: Path, invoke: Invoke, args: list[str]) -> None:
    result = invoke(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert "no function 'none'" in result.stderr


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["trac"], "did you mean trace"),
        (
            ["trace"],
            "missing argument 'ENTRY|TARGET'\nhint: olympus trace --help lists its arguments",
        ),
        (["run"], "missing argument 'ENTRY|TARGET|FILE.olympus'"),
        (["trace", "m:f", "--shape", "x"], "no option '--shape'\nhint: did you mean --shapes"),
        (["trace", "m:f", "--shap=x"], "olympus trace has no option '--shap'"),
        (["run", "m:f", "--recompil"], "did you mean --recompile or --no-recompile?"),
        (["build", "--job", "3"], "did you mean --jobs"),
        (["trace", "m:f", "-x"], "olympus trace has no option '-x'\nhint: olympus trace --help"),
        (["--nope"], "olympus has no option '--nope'\nhint: olympus --help"),
        (["trace", "m:f", "x"], "got unexpected extra argument (x)\nhint: olympus trace --help"),
        (["trace", "m:f", "--shapes"], "option '--shapes' requires an argument"),
        (["lower", "m:f", "--format", "mlir"], "invalid value for '--format': 'mlir' is not one"),
        (["build", "-j", "0"], "invalid value for '-j'"),
    ],
)
def test_wrong_usage(invoke: Invoke, args: list[str], word: str) -> None:
    result = invoke(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert word in result.stderr
    assert "Usage" not in result.stderr
    assert "Error" not in result.stderr
    assert not result.stderr.endswith(".\n")


def test_the_command_alone_shows_its_help(invoke: Invoke) -> None:
    result = invoke()
    assert result.exit_code == 2
    assert "Commands:" in result.output


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["trace", "model.forward"], ["did you mean model:forward?"]),
        (["trace", "model.py.forward"], ["did you mean model.py:forward?"]),
        (["build", "model:add"], ["'model:add' is an entry", "olympus compile model:add"]),
        (["trace", "add.olympus"], ["is a bundle", "olympus run add.olympus"]),
        (["trace", "odd:later"], ["odd:later is an async function", "`def`"]),
        (["trace", "odd:stream"], ["odd:stream is an async function"]),
        (["trace", "odd:items"], ["odd:items is a generator function", "list or a tuple"]),
        (["trace", "odd:jitted"], ["odd:jitted is a generator function"]),
        (["trace", "odd:Net"], ["odd:Net is a class, not a function"]),
        (["trace", "odd:Net.forward"], ["is a method, and needs an object of Net", "odd:it.forw"]),
        (["run", "odd:Net.forward", "--shapes", "f32[2]"], ["needs an object of Net"]),
    ],
)
def test_what_was_meant(project: Path, invoke: Invoke, args: list[str], words: list[str]) -> None:
    (project / "odd.py").write_text(ODD)
    result = invoke(*args)
    assert result.exit_code == 2
    for word in words:
        assert word in result.stderr


ODD = """\
import dataclasses
import olympus

async def later(x): return x
async def stream(x): yield x
def items(x): yield x
jitted = olympus.jit(items)

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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pair", "olympus.tree_util.register_dataclass(Pair) makes Pair a container"),
        ("awaits", "an async function cannot be staged: write it with `def`"),
        ("plain", "olympus.tree_util.register_pytree_node(Net, ...) makes Net a container"),
    ],
)
def test_a_result_that_is_not_an_array(project: Path, invoke: Invoke, name: str, hint: str) -> None:
    (project / "odd.py").write_text(ODD)
    result = invoke("trace", f"odd:{name}", "--shapes", "x=f32[2]")
    assert result.exit_code == 3
    assert f"hint: {hint}" in result.stderr
    assert "never awaited" not in result.stderr


@pytest.mark.parametrize("args", [["trace", "m:f"], ["build"], ["doctor"], ["init"]])
def test_a_working_directory_that_is_gone(
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
        assert "there is no " in result.stderr


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
def test_exit_codes(
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


def test_an_exception_of_our_own_code_is_a_defect(
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
    made = subprocess.run(
        [*COMMAND, "trace", "add"],
        env=ENVIRONMENT,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (made.returncode, made.stderr) == (141, "")


def test_names_that_stdout_cannot_write_are_escaped(project: Path) -> None:
    (project / "naïve.py").write_text("def größe(x):\n    return {'é': x}\n", encoding="utf-8")
    made = {}
    for more in ((), ("--json",)):
        command = [*COMMAND, "run", "naïve:größe", "--shapes", "f32[2]", *more]
        environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        made[more] = done.stdout
    assert "result['\\xe9']" in made[()]
    (output,) = json.loads(made["--json",])["outputs"]
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
