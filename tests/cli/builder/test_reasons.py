"""The reason of a rebuild names the changed part; a program that differs by trace has a warning."""

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


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
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
def test_the_reason_names_the_changed_part(
    work: Path, invoke: Invoke, file: str, old: str, new: str, expected: str
) -> None:
    edit(work / file, old, new)
    assert reason(invoke, "--frozen") == expected
    assert reason(invoke) == expected
    assert reason(invoke) == "None"


def test_the_reason_names_an_environment_variable(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = os.environ.get("XLA_FLAGS")
    flags = f"{previous or ''} --xla_cpu_enable_fast_math=true".strip()
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert reason(invoke, "--frozen") == f"XLA_FLAGS: {previous or 'none'} -> {flags}"


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
    data["parts"] = {}  # as in a report of an earlier version of OLYMPUS
    path.write_text(json.dumps(data))
    assert reason(invoke, "--frozen") == "the program, or what compiles it, has changed"
    del data["parts"]
    path.write_text(json.dumps(data))
    assert reason(invoke, "--frozen") == "the program, or what compiles it, has changed"


def test_a_text_has_at_most_three_reasons() -> None:
    reasons = [PartChanged("a", "1", None), *(VersionChanged("b", None, str(i)) for i in range(4))]
    assert reasons_text(reasons) == "a: 1 -> none; b none -> 0; b none -> 1; and 2 more"


def test_a_program_that_differs_on_every_trace_has_a_warning(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text(RANDOM)
    result = invoke("build")
    warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    (warning,) = warnings
    assert "program.py:8: the program differs on every trace" in warning
    assert "multiply: operand 1: constant" in warning
    assert result.stderr.count("tracing") == 1  # the second trace has no output
    (work / "program.py").write_text(PROGRAM)
    assert "differs on every trace" not in invoke("build").stderr


SET = """\
import olympus.numpy as np

PARTS = {"wq", "wk", "wv", "wo", "up", "down"}


def f(p):
    x = 1.0
    for name in PARTS:
        x = np.tanh(x * p[name])
    return x
"""

PARTS = """\
[target.f]
entry = "program.py:f"
args.p = { wq = "f32[]", wk = "f32[]", wv = "f32[]", wo = "f32[]", up = "f32[]", down = "f32[]" }
golden = true
"""

OF_SEED = "the program depends on Python's hash seed, which differs in each process, so that"
REMEDY = "; iterate over sorted(...) where the program iterates over a set of strings"


def warnings_of(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("warning: ")]


@pytest.fixture
def seeded(folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with the order of a set, built with one hash seed; another seed is set now."""
    (folder / "program.py").write_text(SET)
    (folder / "olympus.toml").write_text(PARTS)
    monkeypatch.setenv("PYTHONHASHSEED", "5")
    result = invoke("build")
    assert result.exit_code == 0 and not warnings_of(result)
    monkeypatch.setenv("PYTHONHASHSEED", "6")
    return folder


def test_a_program_that_depends_on_the_hash_seed_has_a_warning(
    seeded: Path, invoke: Invoke
) -> None:
    (warning,) = warnings_of(invoke("build"))
    assert f"program.py:9: {OF_SEED} it is built every time: multiply: operand 1: " in warning
    assert warning.endswith(REMEDY)
    edit(seeded / "program.py", "in PARTS", "in sorted(PARTS)")
    assert not warnings_of(invoke("build"))
    assert reason(invoke) == "None"


def test_another_order_of_independent_operations_has_a_warning(
    seeded: Path, invoke: Invoke
) -> None:
    edit(seeded / "program.py", "    x = 1.0\n", "    x = {}\n")
    edit(seeded / "program.py", "x = np.tanh(x * p[name])", "x[name] = np.tanh(p[name])")
    assert not warnings_of(invoke("build"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONHASHSEED", "5")
        (warning,) = warnings_of(invoke("build"))
    assert f"program.py:9: {OF_SEED} it is built every time: the order of its op" in warning
    assert not warnings_of(
        invoke("check", "--update")
    )  # a golden program has no order of independent operations


def test_results_in_the_order_of_a_set_have_a_warning(
    seeded: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(seeded / "program.py", "    x = 1.0\n", "    x = ()\n")
    edit(seeded / "program.py", "x = np.tanh(x * p[name])", "x += (np.zeros(ord(name[0])),)")
    assert not warnings_of(invoke("build"))
    monkeypatch.setenv("PYTHONHASHSEED", "5")
    result = invoke("build")
    assert "(result[" in result.stdout
    (warning,) = warnings_of(result)
    assert f"{OF_SEED} it is built every time" in warning


def test_a_value_drawn_during_import_has_a_warning(seeded: Path, invoke: Invoke) -> None:
    text = SET.replace("PARTS = ", "import random\nDRAWN = random.random()\nPARTS = ")
    (seeded / "program.py").write_text(
        text.replace("in PARTS", "in ['up']").replace("1.0", "DRAWN")
    )
    assert not warnings_of(invoke("build"))
    (warning,) = warnings_of(invoke("build"))
    assert "program.py:11: the program differs in each process, so that it is built " in warning
    assert "; a module draws a value while it is imported" in warning


def test_a_changed_source_is_not_traced_in_other_processes(seeded: Path, invoke: Invoke) -> None:
    log = seeded / "imported.txt"
    edit(seeded / "program.py", "PARTS = ", f"open({str(log)!r}, 'a').write('once ')\nPARTS = ")
    assert not warnings_of(invoke("build"))
    assert log.read_text() == "once "


@pytest.mark.night
def test_a_golden_program_that_depends_on_the_hash_seed_fails(
    seeded: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (warning,) = warnings_of(invoke("check", "--update"))
    assert f"{OF_SEED} it equals its golden program only by chance: multiply: " in warning
    assert invoke("check").exit_code == 0
    monkeypatch.setenv("PYTHONHASHSEED", "5")
    result = invoke("check")
    assert result.exit_code == 1
    first, second, third = result.stderr.splitlines()
    assert first == (
        f"error: target 'f' on cpu: {OF_SEED} it equals its golden program only by chance"
    )
    assert second.startswith("  program.py:9  multiply: operand 1: ")
    assert third == f"  {REMEDY[2:]}"
    edit(seeded / "program.py", "in PARTS", "in sorted(PARTS)")
    assert not warnings_of(invoke("check", "--update"))
    monkeypatch.setenv("PYTHONHASHSEED", "6")
    assert invoke("check").exit_code == 0


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
