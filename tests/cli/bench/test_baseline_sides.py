"""`olympus bench --baseline`: a stored baseline, a bundle, a revision, an interruption."""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path

import pytest

from olympus.errors import CompileError
from olympus_cli.bench.baselines import (
    baseline_path,
    read_baseline,
    write_baseline,
)
from olympus_cli.bench.compare import rounds
from olympus_cli.bench.compare.attempts import Attempt
from olympus_cli.bench.measure.sampler import Interrupted
from olympus_cli.bench.measure.work import Prepared, SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.commands import bench
from olympus_cli.spec.resolve import Request
from tests.cli.bench.measurements import PROGRAM, QUICK, measured, olympus, target
from tests.cli.conftest import Invoke


@pytest.mark.night
def test_a_program_forty_times_as_slow_as_its_stored_baseline_fails(work: Path) -> None:
    several = (
        "--time-limit",
        "0.1",
        "--rounds",
        "5",
    )  # an interval of 3 processes may span a factor of 40
    saved = olympus(work, "bench", "--save-baseline", "main", *several)
    assert saved.returncode == 0, saved.stderr
    assert "wrote baselines/main.json" in saved.stderr
    assert len(read_baseline(work / "baselines" / "main.json").of("f")) == 5
    (work / "olympus.toml").write_text(target("f", "heavy"))
    result = olympus(work, "bench", "--baseline", "main", "--json", *several, "--threshold", "40%")
    assert result.returncode == 1, result.stderr
    assert "target 'f': steady-c" in result.stderr
    assert "is worse than baselines/main.json" in result.stderr or "than main" in result.stderr
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert (comparison["target"], comparison["interleaved"]) == ("f", False)
    assert any(metric["fails"] for metric in comparison["metrics"].values())
    assert any("olympus diff" in note for note in comparison["notes"])
    assert comparison["metrics"]["steady-call"]["verdict"]["threshold"] == 0.4


def test_a_worse_target_is_not_saved_in_the_baseline(
    work: Path, invoke: Invoke, no_measuring: list[str]
) -> None:
    path = baseline_path(work, "main")
    stored = [measured(factor=0.5), measured(factor=0.5)]
    write_baseline(path, {"f": stored, "g": [measured("g", factor=0.5)]})
    (work / "olympus.toml").write_text(target("f", "forward") + target("g", "forward"))
    result = invoke("bench", "--baseline", "main", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (1, ["f", "g"])
    targets = read_baseline(path)
    assert targets.of("f") == tuple(stored)
    assert targets.of("g") == (measured("g"),) * 5
    warning = "warning: f is worse than main and is not saved in baselines/main.json\n"
    assert warning in result.stderr


def test_a_failure_and_a_worse_target_exit_with_the_code_of_the_failure(
    work: Path, invoke: Invoke, no_measuring: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring = bench.attempted

    def fails(work: SamplerWork, *_arguments: object) -> Attempt:
        if work.name == "g":
            raise CompileError("it is too large")
        return measuring(work, *_arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "attempted", fails)
    targets = "".join(target(name, "forward") for name in "fgh")
    (work / "olympus.toml").write_text(targets)
    theirs = {name: [measured(name)] for name in "fgh"}
    write_baseline(baseline_path(work, "main"), theirs)
    result = invoke("bench", "--baseline", "main")
    assert (result.exit_code, no_measuring) == (4, ["f", "h"])
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors[0] == "error: target 'g': it is too large"
    assert errors[1].startswith("error: target 'f': steady-call is worse than main")
    assert errors[2:] == ["error: 2 of 3 targets failed"]


class Cut:
    """Samplers of rounds; Ctrl-C interrupts the samples of the third round."""

    def __init__(self) -> None:
        self.started = self.samples = 0

    def __call__(self, work: SamplerWork, _on_stage: object) -> Cut:
        self.started, self.samples = self.started + 1, 0
        self.is_cut = self.started in (5, 6)
        return self

    def prepare(self) -> Prepared:
        return Prepared(0.1, 0.1, 1, True, 1, 1e-2)

    def sample(self, calls: int) -> float:
        self.samples += 1
        if self.is_cut and self.samples > 3:
            raise KeyboardInterrupt
        return 1e-3

    def finish(self, stopped: str) -> Measured:
        return measured(factor=2.0 if stopped == "interrupted" else 1.0)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "options", [("--rounds", "5"), ("--baseline", "main"), ("--baseline", "x")]
)
def test_an_interruption_keeps_the_complete_rounds(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str]
) -> None:
    remaining = [measured(), measured(factor=3.0)]

    def measure(*_: object, **__: object) -> Measured:
        if remaining:
            return remaining.pop(0)
        raise Interrupted(measured(factor=2.0)) from KeyboardInterrupt()

    monkeypatch.setattr(rounds, "measure_target", measure)
    monkeypatch.setattr(rounds, "Sampler", Cut())
    recorded: list[object] = []
    monkeypatch.setattr(bench, "record_bench", lambda _project, document: recorded.extend(document))
    write_baseline(baseline_path(work, "main"), {"f": [measured()] * 3})
    if options[1] == "x":  # the other side is measured in turns
        side = contextlib.nullcontext([rounds.Side(SamplerWork.of_target(Request("f").spec()))])
        monkeypatch.setattr(bench, "other_sides", lambda *_: side)
    result = invoke("bench", "f", "--json", "--save-baseline", "kept", *options)
    assert result.exit_code == 130, result.output
    (document,) = json.loads(result.stdout)["targets"]
    samples = document["metrics"]["steady-call"]["samples"]
    assert len(samples) == 12, "two complete rounds and a part"
    assert samples[-1] == 2e-3
    assert document["facts"]["stopped_by"] == "interrupted"
    assert "the measuring was interrupted (whole rounds: 2)" in result.stderr
    comparisons = json.loads(result.stdout)["comparisons"]
    assert len(comparisons) == (options[0] == "--baseline")
    for comparison in comparisons:
        assert comparison["rounds"] == [2, 3 if options[1] == "main" else 2]
        metric = comparison["metrics"]["steady-call"]
        assert (metric["verdict"]["word"], metric["fails"]) == ("inconclusive", False)
        assert metric["now"] > 0 and metric["before"] > 0
        assert "steady-call is inconclusive: interrupted after 2 rounds" in result.stderr
    assert len(recorded) == 1
    assert not baseline_path(work, "kept").exists()


@pytest.mark.night
def test_a_bundle_is_measured_in_turns_with_the_program(work: Path) -> None:
    assert olympus(work, "build").returncode == 0
    bundle = "build/f/f.olympus"
    result = olympus(work, "bench", "--baseline", bundle, *QUICK, "--threshold", "900%")
    assert result.returncode == 0, result.stderr
    assert "f against build/f/f.olympus, in turns" in result.stdout
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert rows.count("steady-call") == 2, "the measurement and the verdict"
    (work / "olympus.toml").write_text(target("f", "forward") + target("g", "heavy"))
    result = olympus(work, "bench", "--baseline", bundle, *QUICK)
    assert result.returncode == 2
    assert "is one program and cannot be the baseline of 2: f, g" in result.stderr
    result = olympus(work, "bench", "f", "--baseline", "gone.olympus", *QUICK)
    assert result.returncode == 2
    assert "bundle gone.olympus does not exist" in result.stderr


def test_metrics_that_a_bundle_lacks_are_an_error_before_measuring(
    work: Path,
) -> None:
    assert olympus(work, "build").returncode == 0
    (work / "olympus.toml").write_text(target("f", "forward") + '[bench]\nmetrics = ["compile"]\n')
    result = olympus(work, "bench", "--baseline", "build/f/f.olympus")
    assert (result.returncode, result.stdout) == (2, "")
    assert "the metrics of target 'f' cannot be compared with a bundle: compile" in result.stderr


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_revision_is_measured_in_turns_with_the_program(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "light")
    (work / "program.py").write_text(
        PROGRAM.replace("range(40)", "range(10)").replace("heavy", "x")
    )
    (work / "olympus.toml").write_text(target("f", "x"))
    result = olympus(
        work, "bench", "--baseline", "git:HEAD", "--json", *QUICK, "--threshold", "40%"
    )
    assert result.returncode == 1, result.stderr
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert (comparison["baseline"], comparison["interleaved"]) == ("git:HEAD", True)
    assert comparison["sessions"] is None
    (document,) = json.loads(result.stdout)["targets"]
    assert document["conditions"]["others"] is None, "the other side is not another program"
    assert not list(work.glob("**/*.lock"))
    unknown = olympus(work, "bench", "--baseline", "git:nowhere", *QUICK)
    assert (unknown.returncode, "has no revision 'nowhere'" in unknown.stderr) == (2, True)


def test_a_revision_that_does_not_trace_is_an_error(work: Path) -> None:
    (work / "program.py").write_text("def forward(x):\n    raise ValueError('an odd width')\n")
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "broken")
    (work / "program.py").write_text(PROGRAM)
    result = olympus(work, "bench", "--baseline", "git:HEAD", *QUICK)
    assert result.returncode == 3, result.stderr
    assert "revision 'HEAD' cannot be compared" in result.stderr
    assert "an odd width" in result.stderr
    (work / "olympus.toml").write_text(target("new", "forward"))
    result = olympus(work, "bench", "--baseline", "git:HEAD", *QUICK)
    assert result.returncode == 2
    assert "no target is named 'new'" in result.stderr
