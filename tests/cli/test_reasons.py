"""The reason of a rebuild names the part that changed; a program that differs on every trace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.builder.reasons import PartChanged, VersionChanged, reasons_text

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as np


def f(x, layers=1):
    for _ in range(layers):
        x = np.sin(x) * 2.0
    return x
"""

TOML = """\
[target.f]
entry = "program.py:f"
args = ["f32[4]"]
static = { layers = 2 }
golden = true
"""

RANDOM = """\
import random

import olympus


@olympus.jit
def noisy(x):
    return x * random.random()


def f(x, layers=1):
    print("tracing")
    return noisy(x)
"""

CONSTANT = "operand 1: constant 2.000000e+00 : f32[4] -> constant 3.000000e+00 : f32[4]  (2 times)"


@pytest.fixture
def work(folder: Path, invoke: Invoke) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    assert invoke("build").exit_code == 0
    return folder


def reason(invoke: Invoke, *options: str) -> str:
    document = json.loads(invoke("build", "--json", *options).stdout)
    return str(document["targets"][0]["reason"])


def edit(path: Path, before: str, after: str) -> None:
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        ("program.py", "2.0", "3.0", f"program.py:6: multiply: {CONSTANT}"),
        ("program.py", "sin", "cos", "program.py:6: sine -> cosine  (2 times)"),
        ("program.py", " * 2.0", "", "program.py:6: multiply removed  (2 times)"),
        ("olympus.toml", "layers = 2", "layers = 3", "static layers: 2 -> 3"),
        (
            "olympus.toml",
            "f32[4]",
            "f32[5]",
            "argument x: float32[4] -> float32[5]; result: float32[4] -> float32[5]",
        ),
        (
            "olympus.toml",
            "golden = true",
            'golden = true\noptimize = "fast-build"',
            "optimize: default -> fast-build",
        ),
        (
            "olympus.toml",
            "golden = true",
            "golden = true\ncompiler-options = { xla_cpu_enable_fast_math = true }",
            "compiler option xla_cpu_enable_fast_math: none -> True",
        ),
    ],
)
def test_the_reason_names_what_changed(
    work: Path, invoke: Invoke, file: str, before: str, after: str, expected: str
) -> None:
    edit(work / file, before, after)
    assert reason(invoke, "--frozen") == expected
    assert reason(invoke) == expected
    assert reason(invoke) == "None"


def test_the_reason_names_a_variable_of_the_environment(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.environ.get("XLA_FLAGS")
    flags = f"{before or ''} --xla_cpu_enable_fast_math=true".strip()
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert reason(invoke, "--frozen") == f"XLA_FLAGS: {before or 'none'} -> {flags}"


def test_the_reason_names_a_version_and_the_processor(work: Path, invoke: Invoke) -> None:
    path = work / "build" / "f" / "olympus-build.json"
    data = json.loads(path.read_text())
    parts = data["parts"]["cpu"]
    jaxlib, features = parts["package jaxlib"], parts["processor features"]
    parts["package jaxlib"] = "0.1"
    parts["processor features"] = f"{features.partition(' ')[2]} zz1 zz2"
    path.write_text(json.dumps(data))
    report = work / "build" / "f" / "report.json"
    text = report.read_text()
    key = json.loads(text)["backends"][0]["key"]
    report.write_text(text.replace(key, "0" * 64))
    first = features.partition(" ")[0]
    expected = [f"jaxlib 0.1 -> {jaxlib}", f"processor features: zz1 zz2 -> {first}"]
    assert sorted(reason(invoke, "--frozen").split("; ")) == expected
    data["parts"] = {}  # as an earlier version of OLYMPUS wrote it
    path.write_text(json.dumps(data))
    assert reason(invoke, "--frozen") == "the program, or what compiles it, has changed"
    del data["parts"]
    path.write_text(json.dumps(data))
    assert reason(invoke, "--frozen") == "the program, or what compiles it, has changed"


def test_a_text_names_three_reasons() -> None:
    many = [PartChanged("a", "1", None), *(VersionChanged("b", None, str(i)) for i in range(4))]
    assert reasons_text(many) == "a: 1 -> none; b none -> 0; b none -> 1; and 2 more"


def test_a_program_that_differs_on_every_trace_is_warned_of(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text(RANDOM)
    result = invoke("build")
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    (warning,) = warnings
    assert "program.py:8: the program differs on every trace" in warning
    assert "multiply: operand 1: constant" in warning
    assert result.stderr.count("tracing") == 1  # the second trace is silent
    (work / "program.py").write_text(PROGRAM)
    assert "differs on every trace" not in invoke("build").stderr


def test_a_golden_check_shows_both_values_and_the_command(work: Path, invoke: Invoke) -> None:
    assert invoke("check", "--update").exit_code == 0
    edit(work / "program.py", "2.0", "3.0")
    result = invoke("check")
    assert result.exit_code == 1
    assert f"\n  program.py:6  multiply: {CONSTANT}\n" in result.stderr
    command = "olympus diff goldens/f.cpu.mlir f --backend cpu"
    assert f"\n  {command} shows the difference\n" in result.stderr
    shown = invoke(*command.split()[1:])
    assert shown.exit_code == 1
    assert "operand 1: constant 2.000000e+00" in shown.stdout
