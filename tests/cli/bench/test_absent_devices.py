"""Programs for absent devices: their stages are measured, and they are not called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke
from tests.marks import needs_gpu_compiler, needs_tpu_compiler

PROGRAM = """\
import olympus


def scale(x):
    return olympus.numpy.tanh(x) * 2
"""
TARGETS = """\
[target.scale]
entry = "program:scale"
backends = ["{backend}"]
matrix.n = [8, 16]
args = ["f32[{{n}}]"]
"""
QUICK = ("--time-limit", "0.1")


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TARGETS.format(backend="tpu:v5e"))
    return folder


@needs_tpu_compiler
def test_the_stages_of_a_program_for_a_tpu_are_measured(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["sweeps"] == []  # a sweep has times of calls
    small, large = document["targets"]
    assert (small["backend"], small["machine"]["device"]) == ("tpu:v5e", "v5e")
    metrics = small["metrics"]
    assert [*metrics][:5] == ["import", "import-program", "trace", "lower", "compile"]
    assert "first-call" not in metrics and "steady-call" not in metrics
    assert metrics["compile"]["median"] > 0
    assert small["facts"]["estimate_seconds"] > 0
    assert 0 < small["facts"]["peak_bytes"] <= large["facts"]["peak_bytes"]
    assert "this machine has no TPU: the stages are measured" in small["notes"][0]
    history = json.loads(invoke("history", "scale@n=8", "--json").stdout)
    assert "compile" in json.dumps(history)


@needs_tpu_compiler
def test_the_table_has_no_rows_about_calls(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "scale@n=8", *QUICK)
    assert result.exit_code == 0, result.output
    names = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert {"compile", "estimate", "peak memory", "machine"} <= {*names}
    assert not {"warm-up", "inputs", "ended by", "steady-call"} & {*names}
    assert "the program is not called" in result.stderr


@needs_tpu_compiler
def test_a_program_for_an_absent_device_has_no_baseline(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "scale@n=8", *QUICK, "--save-baseline", "main")
    assert result.exit_code == 6
    assert "cannot run on tpu:v5e: this machine has no TPU to run on" in result.stderr
    assert "hint: --backend cpu runs it on the CPU" in result.stderr
    assert not (work / "baselines").exists()


@needs_gpu_compiler
@pytest.mark.night
def test_the_stages_of_a_program_for_a_gpu_are_measured(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "scale@n=8", "--device", "h200", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    (target,) = json.loads(result.stdout)["targets"]
    assert (target["backend"], target["facts"]["peaks"]) == ("gpu:h200", "h200")
    assert "steady-call" not in target["metrics"]
