"""Mistakes in the user's own code: exit 3 during tracing, 2 at import, with the line and a hint."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import olympus
import olympus_core.api.jit
from olympus.errors import InternalError, TraceError, why_absent
from olympus.extend import mark_caller
from olympus_cli.faults.blame import reportable
from olympus_cli.frontends import python
from olympus_core.base import source
from olympus_core.base.torch_names import EXPRESSIONS

Invoke = Callable[..., Result]

TOP = """\
import dataclasses
import olympus as ox
import olympus.numpy as np
"""

#: A body for `def f(x, p)`, and the text of its error.
MISTAKES = {
    "ox.nn.reluu(x)": ["'olympus.nn' has no attribute 'reluu'", "did you mean relu"],
    "np.dott(x, x)": ["did you mean dot or"],
    "np.linalg.invv(x)": ["did you mean inv or"],
    "ox.device_put_sharded": [
        "no attribute 'device_put_sharded': it is deprecated; use `device_put`",
        "docs/",
    ],
    "ox.scan(x)": ["did you mean olympus.lax.scan?"],
    "ox.nosuchthing": ["module 'olympus' has no attribute 'nosuchthing'"],
    "x.summ()": ["'Array' object has no attribute 'summ'", "did you mean sum"],
    "x.relu()": ["olympus.nn.relu is a function: olympus.nn.relu(x)"],
    "x.T @ x.t": ["no attribute 't'", "hint: arrays have no t: write x.T"],
    "x.float()": ["hint: arrays have no float: write x.astype('float32')"],
    "x.view(-1)": ["view takes a dtype, and got the size or shape -1", "hint: x.reshape(2, -1)"],
    "x.view(-1, 2)": ["view takes a dtype", "hint: x.reshape(2, -1)"],
    "x.view((2, 2))": ["view takes a dtype", "hint: x.reshape(2, -1)"],
    "x.size(0)": ["hint: size is an attribute of an array", "x.shape[0] is the length of axis 0"],
    "x.ndim()": ["hint: ndim is an attribute of an array, not a method: x.ndim"],
    "x.permute(1, 0)": ["hint: arrays have no permute: write x.transpose(1, 0)"],
    "x.cuda()": ["hint: a traced array has no device: the target's backend"],
    "x.to('cuda')": ["hint: x.astype('float32') converts the dtype; a traced array has no device"],
    "x.detach()": ["hint: olympus.lax.stop_gradient(x)"],
    "x.sum().backward()": ["hint: olympus.grad(loss)"],
    "x.contiguous()": ["hint: use x as it is"],
    "x.relu_()": ["hint: arrays do not change in place"],
    "x.uniform()": ["no attribute 'uniform'"],
    "x.sum(dim=0)": ["hint: did you mean axis?"],
    "x.sum(0, keepdim=True)": ["hint: did you mean keepdims?"],
    "x.at[0].sett(1)": ["did you mean set?"],
    "np.sum(x, axs=0)": ["did you mean axis?"],
    "x.astype('flot32')": ["data type 'flot32' not understood", "did you mean float32?"],
    "ox.random.normal(0, (3,))": ["create a key with olympus.random.key"],
    "np.sum(\n        x,\n        axs=0,\n    )": ["did you mean axis?"],
    "ox.grad(lambda y: y.foo)(x)": ["'Array' object has no attribute 'foo'"],
    "x + {}": ["'Array'"],
    "undefinedd": ["NameError", "'undefinedd' is not defined"],
    "jnp.sin(x)": ["did you mean np?"],
    "lax.sin(x)": ["hint: from olympus import lax"],
    "p['ww']": ["KeyError", "did you mean w?"],
    "[1][3]": ["IndexError"],
    "1 / 0": ["ZeroDivisionError"],
    "f(x, p)": ["RecursionError"],
    "__import__('olympus.numpyy')": ["did you mean numpy?"],
    "exec('from olympus.numpy import dott')": ["did you mean dot or"],
    "exec('from olympus import device_put_sharded')": ["`device_put` with a sharding"],
    "__import__('nosuch')": ["install 'nosuch' in the environment"],
    "__import__('jax.nosuch')": ["pip install 'olympus[jax]'", "`import olympus as jax`"],
    "exec('raise RuntimeError(\"jaxlib version 9 is newer\")')": ["pip install 'olympus[jax]'"],
    "exec('raise ModuleNotFoundError(name=\"torch\")')": ["pip install 'olympus[torch]'"],
    "__import__('json').loads('{')": ["JSONDecodeError"],
}


def lines(expression: str) -> str:
    return f"{TOP}\ndef f(x, p):\n    return {expression}\n"


@pytest.mark.parametrize("expression", MISTAKES)
def test_a_mistake_during_tracing_has_its_line(
    folder: Path, invoke: Invoke, expression: str
) -> None:
    (folder / "m.py").write_text(lines(expression))
    result = invoke("trace", "m:f", "--shapes", "x=f32[3], p={w=f32[2]}")
    assert result.exit_code == 3, result.stderr
    assert "  m.py:" in result.stderr
    assert expression.split("\n")[0] in result.stderr
    for word in MISTAKES[expression]:
        assert word in result.stderr


@pytest.mark.parametrize("expression", MISTAKES)
def test_a_mistake_at_import_has_its_line(folder: Path, invoke: Invoke, expression: str) -> None:
    called = "\nx, p = np.zeros(3), {'w': np.zeros(2)}\ny = f(x, p)\n"
    (folder / "m.py").write_text(lines(expression) + called)
    result = invoke("trace", "m:f", "--shapes", "x=f32[3], p={w=f32[2]}")
    assert result.exit_code == 2, result.stderr
    assert "while it is imported" in result.stderr
    assert "  m.py:" in result.stderr
    assert expression.split("\n")[0] in result.stderr
    for word in MISTAKES[expression]:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("class E(BaseException): pass\ndef f(x): raise E('own')", ["f raised E", "own"]),
        ("def f(x): raise GeneratorExit", ["f raised GeneratorExit while it was traced\n"]),
        ("def f(x): raise SystemExit(0)", ["f raised SystemExit"]),
        (
            "class E(Exception):\n def __str__(self): raise GeneratorExit\ndef f(x): raise E",
            ["f raised E", "(its __str__ raised GeneratorExit)"],
        ),
        ("def f(x): assert x.shape == (\n 9,)", ["AssertionError", ": assert x.shape == (9,)\n"]),
        ("def f(x): assert x.ndim == 9, 'nine'", [": nine\n"]),
        ("class C:\n @property\n def a(self): return 1 / 0\ndef f(x): return C().a", ["Zero"]),
        ("import statistics\nf = statistics.mean", ["mean raised TypeError", "'Array'"]),
    ],
)
def test_unusual_exceptions_are_reported(
    folder: Path, invoke: Invoke, program: str, words: list[str]
) -> None:
    (folder / "m.py").write_text(program + "\n")
    result = invoke("trace", "m:f", "--shapes", "f32[3]")
    assert result.exit_code == 3
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("command", ["trace", "lower", "compile", "build", "run", "bench"])
@pytest.mark.parametrize(("place", "code"), [("return ox.nn.reluu(x)", 3), ("ox.nn.reluu", 2)])
def test_every_command_reports_an_undefined_name(
    folder: Path, invoke: Invoke, command: str, place: str, code: int
) -> None:
    body = f"def f(x):\n    {place}\n" if code == 3 else f"{place}\ndef f(x): return x\n"
    (folder / "m.py").write_text(TOP + body)
    (folder / "olympus.toml").write_text('[target.t]\nentry = "m:f"\nargs = ["f32[3]"]\n')
    result = invoke(command, "t")
    assert result.exit_code == code, result.stderr
    assert "reluu" in result.stderr
    assert f"  m.py:{4 if code == 2 else 5}\n    {place}\n" in result.stderr
    assert "did you mean relu" in result.stderr
    assert "defect" not in result.stderr


@pytest.mark.parametrize("command", ["trace", "compile"])
def test_a_mistake_in_the_function_for_shapes(folder: Path, invoke: Invoke, command: str) -> None:
    (folder / "m.py").write_text(TOP + "def init(): return np.zeross(3)\ndef f(x): return x\n")
    result = invoke(command, "m:f", "--shapes", "x={from=m:init}")
    assert result.exit_code == 3
    assert "did you mean zeros" in result.stderr
    assert "  m.py:4" in result.stderr


@pytest.mark.parametrize("command", ["trace", "compile"])
def test_a_defect_of_olympus_is_reported_with_the_users_line(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    code = "def wrong(*args): return args.nosuch\n"
    inside = olympus_core.api.jit.__file__
    (folder / "m.py").write_text(
        f"{TOP}exec(compile({code!r}, {inside!r}, 'exec'))\ndef f(x):\n    return wrong(x)\n"
    )
    result = invoke(command, "m:f", "--shapes", "f32[3]")
    assert result.exit_code == 70
    assert "this is a defect of olympus: " in result.stderr
    assert "'tuple' object has no attribute 'nosuch'" in result.stderr
    if command == "trace":
        assert "  m.py:6\n    return wrong(x)\n" in result.stderr


def test_a_keyboardinterrupt_of_a_program_is_its_error(folder: Path) -> None:
    (folder / "m.py").write_text("def f(x): raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "olympus_cli", "trace", "m:f", "--shapes", "f32[3]"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "f raised KeyboardInterrupt while it was traced\n  m.py:1\n" in done.stderr


def test_any_exception_can_be_reported() -> None:
    class Odd(BaseException):
        def __str__(self) -> str:
            raise KeyboardInterrupt

    assert isinstance(reportable(Odd()), InternalError)
    try:
        raise Odd
    except Odd as error:
        report = reportable(error)
    assert isinstance(report, TraceError)
    assert str(report) == "the program raised Odd: (its __str__ raised KeyboardInterrupt)"
    assert report.location is not None and report.location.startswith(__file__)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_expression_for_a_method_of_a_tensor_works(name: str) -> None:
    """In a traced function, and for a name that arrays lack."""
    assert not hasattr(olympus.Array, name)

    def f(x: Any, y: Any, i: Any) -> Any:
        return eval(EXPRESSIONS[name], {"olympus": olympus}, {"x": x, "y": y, "i": i, "mask": mask})

    mask = np.array([[True, False, True], [False, True, True]])
    matrix = np.ones((2, 3), np.float32)
    with olympus.enable_x64(True):
        assert olympus.jit(f).trace(matrix, matrix, np.zeros((2, 3), np.int32))


def test_a_distribution_is_no_method(folder: Path, invoke: Invoke) -> None:
    (folder / "m.py").write_text("def f(x): return x.uniform()\n")
    result = invoke("trace", "m:f", "--shapes", "x=f32[2]")
    assert "olympus.random" not in result.stderr and "initializers" not in result.stderr


def test_an_absent_name_has_its_reason() -> None:
    assert "`device_put`" in str(why_absent("olympus", "device_put_sharded"))
    assert why_absent("olympus", "nosuch") is None
    with pytest.raises(AttributeError, match="'device_put_sharded': it is deprecated"):
        olympus.device_put_sharded  # noqa: B018
    assert not hasattr(olympus, "nosuch")


def test_code_that_calls_the_users_function_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source.is_internal(python.__file__) is None
    monkeypatch.setattr(source, "_callers", set(source._callers))
    monkeypatch.setattr(source, "_internal", {})
    tool, program = str(tmp_path / "tool" / "call.py"), str(tmp_path / "tools.py")
    assert source.is_internal(tool) is False
    mark_caller(tmp_path / "tool")
    assert source.is_internal(tool) is None
    assert source.is_internal(program) is False
