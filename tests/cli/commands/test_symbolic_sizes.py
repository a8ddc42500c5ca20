"""Targets and entries with symbolic sizes: `f32[b,128]`, `constraints`, and `olympus cost --at`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as np


def forward(x, w):
    return np.tanh(x @ w).mean(0)


def rows(x):
    return x if x.shape[0] == 1 else x * 2


def halves(x):
    return x.reshape(2, -1)
"""

PROJECT = """\
[target.mlp]
entry = "program:forward"
args = { x = "f32[b,128]", w = "f32[128, 2*d]" }
constraints = ["1 <= b <= 1024", "b % 8 == 0"]

[target.even]
entry = "program:halves"
args = ["f32[n]"]
constraints = ["n % 2 == 0"]
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(PROJECT)
    return folder


@pytest.mark.usefixtures("work")
def test_a_target_is_traced_and_lowered(invoke: Invoke) -> None:
    traced = invoke("trace", "mlp")
    assert traced.exit_code == 0, traced.output
    assert "{ lambda ; a:f32[b,128] b:f32[128,2*d]. let" in traced.stdout
    assert "dimension_value[dimension=b dtype=int32]" in traced.stdout
    assert "tensor<?x128xf32>" in invoke("lower", "mlp").stdout
    document = json.loads(invoke("trace", "mlp", "--json").stdout)
    assert document["arguments"][1]["shape"] == [128, "2*d"]
    even = invoke("trace", "even")
    assert "f32[2,floordiv(n, 2)]" in even.stdout


@pytest.mark.usefixtures("work")
def test_an_entry_has_symbolic_sizes(invoke: Invoke) -> None:
    result = invoke("trace", "program.py:rows", "--shapes", "f32[2*b + 1, max(b, 3)]")
    assert "a:f32[2*b + 1,max(b, 3)]" in result.stdout
    result = invoke("trace", "program.py:rows", "--shapes", "f32[b]")
    assert result.exit_code == 3
    assert "'b' == '1' is inconclusive" in result.stderr
    assert "program.py:9: return x if x.shape[0] == 1" in result.stderr
    assert "hint: add one of the constraints 'b == 1' or 'b >= 2'" in result.stderr


@pytest.mark.usefixtures("work")
def test_the_cost_is_shown_as_formulas(invoke: Invoke) -> None:
    result = invoke("cost", "mlp")
    assert "for the sizes b, d\n  flops           514*b*d + 1\n" in result.stdout
    assert "transcendentals 2*b*d" in result.stdout
    assert "hint: --at b=8 --at d=8 evaluates the cost" in result.stderr
    document = json.loads(invoke("cost", "mlp", "--json").stdout)
    assert document["formulas"]["flops"] == "514*b*d + 1"
    assert document["sizes"] == ["b", "d"]


@pytest.mark.usefixtures("work")
def test_the_cost_at_sizes_is_that_of_the_formulas(invoke: Invoke) -> None:
    document = json.loads(invoke("cost", "mlp", "--at", "b=64,d=32", "--json").stdout)
    assert document["cost"]["flops"] == 514 * 64 * 32 + 1
    assert document["formulas"] is None
    assert "1.05 M" in invoke("cost", "mlp", "--at", "b=64", "--at", "d=32").stdout


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize(
    ("at", "code", "message"),
    [
        ("c=64", 2, "no shape has the symbolic size 'c'"),
        ("b=63,d=2", 2, "the sizes b = 63, d = 2 do not fulfill the constraints"),
        ("b=x", 2, "--at needs NAME=N"),
        ("b=0", 2, "--at needs NAME=N"),
    ],
)
def test_other_sizes_are_refused(invoke: Invoke, at: str, code: int, message: str) -> None:
    result = invoke("cost", "mlp", "--at", at)
    assert result.exit_code == code
    assert message in result.stderr


@pytest.mark.usefixtures("work")
def test_a_program_with_fixed_sizes_has_no_formula(invoke: Invoke) -> None:
    result = invoke("cost", "program.py:rows", "--shapes", "f32[4]", "--at", "b=3")
    assert result.exit_code == 2
    assert "no shape has the symbolic size 'b'" in result.stderr


def test_an_invalid_constraint_is_an_error_of_its_line(invoke: Invoke, work: Path) -> None:
    (work / "olympus.toml").write_text(PROJECT.replace('"b % 8 == 0"', '"b >= 2048"'))
    result = invoke("trace", "mlp")
    assert result.exit_code == 2
    assert "olympus.toml:4: target.mlp.constraints is not valid: Unsatisfiable" in result.stderr


@pytest.mark.usefixtures("work")
def test_the_memory_is_shown_as_formulas(invoke: Invoke) -> None:
    document = json.loads(invoke("cost", "mlp", "--compile", "--json").stdout)
    assert document["formulas"]["argument_memory"] == "1024*d + 512*b"
    assert {"peak_memory", "temporary_memory"} < document["formulas"].keys()
    assert document["formulas"]["flops"] == "514*b*d + 1"


BUDGET = """\
at = { b = 16, d = 2 }
budget.flops = "514*b*d + 1"
budget.bytes = "b + max(d, 3)"
"""


def test_a_budget_may_be_a_formula(invoke: Invoke, work: Path) -> None:
    (work / "olympus.toml").write_text(PROJECT.partition("\n\n")[0] + "\n" + BUDGET)
    result = invoke("check", "mlp", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    (target,) = document["targets"]
    verdicts = {x["key"]: x for x in target["verdicts"]}
    assert verdicts["flops"]["verdict"] == "kept"
    assert verdicts["flops"]["limit"] == "514*b*d + 1 = 16.4 k for b = 16, d = 2"
    assert verdicts["bytes"]["verdict"] == "broken"
    assert verdicts["bytes"]["limit"] == "b + max(d, 3) = 19 for b = 16, d = 2"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("514*b*c", "'514*b*c' has 'c', which is no symbolic size of the arguments"),
        ("514*b*", "budget.flops must be a number with a unit, or a formula; got '514*b*'"),
        ("b - 100", "'b - 100' is -84 for b = 16, d = 2, and a limit is 0 or more"),
    ],
)
def test_other_formulas_are_refused(invoke: Invoke, work: Path, formula: str, message: str) -> None:
    toml = PROJECT.partition("\n\n")[0] + "\n" + BUDGET.replace("514*b*d + 1", formula)
    (work / "olympus.toml").write_text(toml)
    result = invoke("check", "mlp")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_formula_needs_symbolic_sizes(invoke: Invoke, work: Path) -> None:
    toml = '[target.t]\nentry = "program:rows"\nargs = ["f32[2]"]\nbudget.flops = "2*b"\n'
    (work / "olympus.toml").write_text(toml)
    result = invoke("check")
    assert result.exit_code == 2
    assert "'2*b' has 'b', which is no symbolic size of the arguments" in result.stderr
    assert "the arguments have fixed sizes" in result.stderr
