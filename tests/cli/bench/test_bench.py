"""Statistics by hand, and the output of the command for targets, bundles and failures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from olympus.errors import CompileError
from olympus_cli.bench.compare import attempts
from olympus_cli.bench.measure.measuring import Measuring
from olympus_cli.bench.measure.sampler import OnStage
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.bench.statistics import median_ranks, summarize
from olympus_cli.text.metrics import BENCH

Invoke = Callable[..., Result]


def tail(count: int, rank: int) -> Fraction:
    """P(at most `rank` of `count` fair coins show heads)."""
    return Fraction(sum(math.comb(count, k) for k in range(rank + 1)), 2**count)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 10, 33, 100, 1001])
def test_the_ranks_are_the_narrowest_with_the_confidence(count: int) -> None:
    limit = Fraction(25, 1000)
    ranks = median_ranks(count)
    if ranks is None:
        assert tail(count, 0) > limit
        return
    low, high = ranks
    assert low + high == count - 1
    assert tail(count, low) <= limit < tail(count, low + 1)


def test_known_ranks() -> None:
    assert median_ranks(6) == (0, 5)
    assert median_ranks(10) == (1, 8)
    assert median_ranks(100) == (39, 60)
    assert median_ranks(10, confidence=0.5) == (3, 6)


def test_a_summary_by_hand() -> None:
    summary = summarize([5, 1, 9, 3, 7, 2, 8, 4, 6, 10])
    assert (summary.count, summary.minimum, summary.median) == (10, 1, 5.5)
    assert (summary.q1, summary.q3) == (3.25, 7.75)
    assert (summary.low, summary.high) == (2, 9)
    assert summary.precision == pytest.approx(3.5 / 5.5)


def test_few_samples_have_no_interval() -> None:
    summary = summarize([3.0])
    assert (summary.median, summary.q1, summary.q3, summary.low, summary.precision) == (
        3.0,
        3.0,
        3.0,
        None,
        None,
    )
    assert summarize([1.0, 2.0, 3.0, 4.0, 5.0]).low is None


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=60))
def test_a_summary_is_ordered_for_any_samples(samples: list[float]) -> None:
    summary = summarize(samples)
    assert summary.minimum <= summary.q1 <= summary.median <= summary.q3 <= max(samples)
    if summary.low is not None and summary.high is not None:
        assert summary.low <= summary.median <= summary.high
        assert {summary.low, summary.high} <= set(samples)


PROGRAM = """\
import olympus


def scale(x, n):
    return olympus.numpy.tanh(x) * n
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(
        '[target.scale]\nentry = "program:scale"\nargs = { x = "f32[8]" }\nstatic = { n = 2 }\n'
    )
    return folder


STAGES = ["import", "import-program", "trace", "lower", "compile", "first-call", "steady-call"]


def test_bench_reports_every_stage(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "--json", "--time-limit", "0.2")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["sweeps"], document["failed"]) == ([], [])
    (target,) = document["targets"]
    assert (target["target"], target["entry"], target["backend"]) == (
        "scale",
        "program:scale",
        "cpu",
    )
    rates = ["steady-cpu", "throughput", "flop-rate", "byte-rate"]
    assert list(target["metrics"]) == [*STAGES, *rates, "process-memory"]
    assert list(target["metrics"]) == [name for name in BENCH if name != "load"]
    for name, metric in target["metrics"].items():
        assert metric["unit"] == BENCH[name]
        assert 0 < metric["minimum"] <= metric["q1"] <= metric["median"] <= metric["q3"]
    facts = target["facts"]
    assert (facts["flops"], facts["io_bytes"], facts["input_bytes"]) == (8, 68, 32)
    assert facts["roofline_seconds"] > 0 and facts["estimate_seconds"] > 0
    steady = target["metrics"]["steady-call"]["median"]
    assert facts["roofline_share"] == pytest.approx(facts["roofline_seconds"] / steady)
    assert target["metrics"]["process-memory"]["median"] > 2**20


SIZES = """\
[target.sizes]
entry = "program:scale"
args = { x = "f32[{k}]" }
static = { n = 2 }
matrix = { k = [4, 8, 16] }
"""


def measured_here(work: SamplerWork, on_stage: OnStage) -> Measured:
    """Measure in this process, which has imported everything."""
    effort = replace(work.effort, imports=False)
    measuring = Measuring(replace(work, effort=effort), on_stage)
    measuring.prepare()
    measuring.sample(1)
    return measuring.finish("samples")


def test_a_matrix_is_a_sweep_with_a_plot(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "measure_target", measured_here)
    with (work / "olympus.toml").open("a") as file:
        file.write(SIZES)
    options = ("--time-limit", "0.1", "--plot", "times.svg")
    result = invoke("bench", "sizes", *options)
    assert result.exit_code == 0, result.output
    assert "sizes: steady-call against k" in result.stdout
    assert re.search(r"^k +steady-call +interval +flops$", result.stdout, re.MULTILINE)
    assert (work / "times.svg").read_text().startswith("<svg")
    assert "wrote times.svg" in result.stderr


def test_a_plot_of_failed_sizes_is_a_warning(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(work: SamplerWork, on_stage: OnStage) -> Measured:
        raise CompileError(f"{work.name} is too large")

    monkeypatch.setattr(attempts, "measure_target", fails)
    with (work / "olympus.toml").open("a") as file:
        file.write(SIZES)
    result = invoke("bench", "sizes", "--plot", "times.svg")
    assert result.exit_code == 4
    warning = "warning: times.svg is not written: no target was measured in at least two sizes\n"
    assert warning in result.stderr
    assert not (work / "times.svg").exists()


def test_a_plot_needs_two_sizes(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "scale", "--time-limit", "0.1", "--plot", "times.svg", "--json")
    assert result.exit_code == 2
    assert "--plot needs a target that is measured in at least two sizes" in result.stderr
    assert json.loads(result.stdout)["failed"][0]["error"]["exit_code"] == 2
    assert not (work / "times.svg").exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_times_are_reported_if_a_later_target_fails(
    work: Path, invoke: Invoke, options: tuple[str, ...]
) -> None:
    with (work / "olympus.toml").open("a") as file:
        file.write('[target.wrong]\nentry = "program:scale"\nargs = { x = "f32[8]" }\n')
    result = invoke("bench", "scale", "wrong", "--time-limit", "0.1", *options)
    assert result.exit_code == 2
    assert "scale needs argument 'n'" in result.stderr
    assert "program:scale" in result.stdout
    if options:
        assert [target["target"] for target in json.loads(result.stdout)["targets"]] == ["scale"]


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0"])
def test_a_time_limit_is_a_number_of_seconds(work: Path, invoke: Invoke, seconds: str) -> None:
    for command in (("bench",), ("build",), ("compile", "scale")):
        result = invoke(*command, "--time-limit", seconds)
        assert result.exit_code == 2
        words = f"must be above 0 and at most 1000000; got {seconds}\n"
        assert f"invalid value for '--time-limit': {words}" in result.stderr


def test_bench_of_an_entry_is_a_table(work: Path, invoke: Invoke) -> None:
    options = ("--static", "n=3", "--time-limit", "0.1")
    result = invoke("bench", "program:scale", "--shapes", "x=i32[4]", *options)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["scale", "(program:scale,", "cpu)"]
    assert [line[0] for line in lines[1:]][:8] == [
        "metric",
        "import",
        "import-program",
        "trace",
        "lower",
        "compile",
        "first-call",
        "steady-call",
    ]


def test_a_bundle_is_measured_without_its_source(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    bundle = work / "build" / "scale" / "scale.olympus"
    bundle.rename(work / "moved.olympus")
    (work / "program.py").unlink()
    result = invoke("bench", "moved.olympus", "--json", "--time-limit", "0.1", "--no-native")
    assert result.exit_code == 0, result.output
    (target,) = json.loads(result.stdout)["targets"]
    assert (target["target"], target["entry"], target["backend"]) == (
        "moved",
        "moved.olympus",
        "cpu",
    )
    rates = ["steady-cpu", "throughput", "flop-rate", "byte-rate"]
    calls = ["first-call", "steady-call", *rates, "process-memory"]
    assert list(target["metrics"]) == ["import", "load", *calls]
    assert target["facts"]["flops"] == 8


def test_a_damaged_bundle_is_an_error_and_other_bundles_are_measured(
    work: Path, invoke: Invoke
) -> None:
    (work / "damaged.olympus").write_bytes(b"PK")
    result = invoke("bench", "damaged.olympus", "scale", "--json", "--time-limit", "0.1")
    assert result.exit_code == 5, result.output
    assert "target 'damaged.olympus': damaged.olympus is not an .olympus bundle" in result.stderr
    assert [target["target"] for target in json.loads(result.stdout)["targets"]] == ["scale"]
