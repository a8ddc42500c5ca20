"""Baselines: what is kept, what is refused, and what a comparison makes of both sides."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from olympus.errors import ArtifactError, CompileError, UsageError
from olympus_cli.bench import rounds
from olympus_cli.bench.attempts import Attempt
from olympus_cli.bench.baselines import (
    baseline_path,
    check_comparable,
    check_host,
    differences,
    read_baseline,
    stored_path,
    write_baseline,
)
from olympus_cli.bench.compared import compared_cases, compared_notes, compared_table, worse_lines
from olympus_cli.bench.comparing import Compared, Rounds, compare, cut_short, merged
from olympus_cli.bench.conditions import host
from olympus_cli.bench.model import Measured, Metric
from olympus_cli.bench.rounds import turns
from olympus_cli.bench.sampler import Interrupted
from olympus_cli.bench.show import measured_tables
from olympus_cli.bench.work import Prepared, SamplerWork
from olympus_cli.commands import bench
from olympus_cli.spec.benching import BenchSpec
from olympus_cli.spec.resolve import Request

Invoke = Callable[..., Result]

MACHINE = {**host(), "device": "cpu"}


def measured(target: str = "f", *, factor: float = 1.0, **others: float) -> Measured:
    """A process in which a steady call took `factor` ms, and other metrics so many seconds."""
    samples = tuple(factor * 1e-3 * x for x in (1.0, 1.01, 0.99, 1.0))
    metrics = {"steady_call": Metric("s", "lower", samples, 4)}
    metrics |= {name: Metric("s", "lower", (value,)) for name, value in others.items()}
    versions = {"olympus": "1"}
    return Measured(target, "m:f", "cpu", metrics, MACHINE, {"load": 0.5}, versions, "abc")


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = baseline_path(tmp_path, "main")
    rounds = [measured(), measured(factor=1.1, compile=0.25)]
    write_baseline(path, {"f": rounds})
    assert read_baseline(path).of("f") == tuple(rounds)
    write_baseline(path, {"g": [measured("g")]})
    kept = read_baseline(path)
    assert kept.of("f") == tuple(rounds), "other targets stay"
    assert kept.of("g") == (measured("g"),)
    with pytest.raises(UsageError, match="does not have target 'h'") as caught:
        kept.of("h")
    assert caught.value.hint == "it has f, g"


def test_a_baseline_that_is_not_there(tmp_path: Path) -> None:
    write_baseline(baseline_path(tmp_path, "main"), {"f": [measured()]})
    with pytest.raises(UsageError, match="there is no baseline") as caught:
        read_baseline(baseline_path(tmp_path, "mian"))
    assert caught.value.hint == "did you mean main?"
    with pytest.raises(UsageError) as caught:
        read_baseline(tmp_path / "none" / "x.json")
    assert caught.value.hint == "olympus bench --save-baseline NAME saves one"


def test_a_file_that_is_not_there_may_be_meant_as_a_name(tmp_path: Path) -> None:
    kept = baseline_path(tmp_path, "main")
    write_baseline(kept, {"f": [measured()]})
    assert stored_path(tmp_path, "main") == stored_path(tmp_path, str(kept)) == kept
    for text, hint in (("main.json", "--baseline main is "), ("mian.json", "did you mean main?")):
        with pytest.raises(UsageError, match="there is no baseline") as caught:
            stored_path(tmp_path, text)
        assert caught.value.hint is not None and caught.value.hint.startswith(hint)
    with pytest.raises(UsageError) as caught:
        stored_path(tmp_path / "none", "main.json")
    assert caught.value.hint == "olympus bench --save-baseline NAME saves one"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--threshold", "10%"], "--threshold is of --baseline"),
        (["--threshold", "5", "--baseline", "main"], "must be a share above 0"),
        (["--rounds", "101"], "must be at most 100; got 101"),
        (["--rounds", "0"], "must be at least 1"),
        (["--precision", "0%"], "must be above 0"),
        (["--precision", "much%"], "must be a number"),
        (["--baseline", "main", "--threshold", "0.1"], "there is no baseline baselines/main.json"),
        (["--baseline", "main.json", "--precision", "5%"], "there is no baseline main.json"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_measured(
    work: Path, invoke: Invoke, options: list[str], told: str
) -> None:
    result = invoke("bench", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a\nb", "x" * 101, "ä"])
def test_the_name_of_a_baseline_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a baseline"):
        baseline_path(tmp_path, name)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.update(schema_version=2), "of a newer olympus"),
        (lambda d: d.pop("schema_version"), "has no schema version"),
        (lambda d: d.pop("targets"), "lacks the key 'targets'"),
        (lambda d: d.update(other=1), "has the unknown key 'other'"),
        (lambda d: d.update(targets=[]), "targets is not an object"),
        (lambda d: d["targets"].update(f=[]), "targets.f is not an array of rounds"),
        (lambda d: d["targets"].update(f=[3]), r"targets.f\[0\]: the document is not an object"),
        (lambda d: d["targets"].update(g=d["targets"]["f"]), r"targets.g\[0\] is of target 'f'"),
        (lambda d: metric(d).update(samples=[]), "has no sample"),
        (lambda d: metric(d).update(samples=[-1.0]), "out of range"),
        (lambda d: metric(d).update(samples=["1"]), "is not a number"),
        (lambda d: metric(d).update(better="sideways"), "is not one of lower, higher, neither"),
    ],
)
def test_a_damaged_baseline_is_refused(
    tmp_path: Path, change: Callable[[dict], object], told: str
) -> None:
    path = baseline_path(tmp_path, "main")
    write_baseline(path, {"f": [measured()]})
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ArtifactError, match=told):
        read_baseline(path)
    content = path.read_text()
    with pytest.raises(ArtifactError):
        write_baseline(path, {"h": [measured("h")]})
    assert path.read_text() == content, "what cannot be read is not lost"


def test_writers_side_by_side_lose_no_target(tmp_path: Path) -> None:
    path = baseline_path(tmp_path, "main")
    names = [f"f{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:  # each opens the folder anew, as a process does
        list(pool.map(lambda name: write_baseline(path, {name: [measured(name)]}), names))
    assert sorted(read_baseline(path).targets) == sorted(names)
    assert [each.name for each in path.parent.iterdir()] == ["main.json"]


def metric(data: dict) -> dict:
    return data["targets"]["f"][0]["metrics"]["steady_call"]


def test_what_is_not_a_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(ArtifactError, match="cannot be read"):
            read_baseline(tmp_path / f"{name}.json")


def test_figures_of_another_machine_or_backend_are_refused() -> None:
    ours, theirs = measured(), replace(measured(), machine={**MACHINE, "cpu": "another"})
    words = f"cpu was another and is {re.escape(MACHINE['cpu'])}"
    with pytest.raises(UsageError, match=words) as caught:
        check_comparable(ours, [measured(), theirs], "main")
    assert caught.value.hint is not None and "git:REV" in caught.value.hint
    with pytest.raises(UsageError, match="on gpu:h200, and it is measured on cpu"):
        check_comparable(ours, [replace(measured(), backend="gpu:h200")], "main")
    theirs = replace(measured(), machine={**MACHINE, "device": "another"})
    with pytest.raises(UsageError, match="device was another and is cpu"):
        check_comparable(ours, [theirs], "main")
    check_host("f", [measured(), theirs], "main", {"cpu"})  # a device is not known before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"machine": {**MACHINE, "threads": "999"}},
            "is of another machine and cannot be compared",
        ),
        ({"machine": {**MACHINE, "os": "amiga"}}, "os was amiga and is"),
        ({"backend": "gpu:h200"}, "has target 'f' on gpu:h200, and it is measured on cpu"),
    ],
)
def test_figures_that_cannot_be_compared_are_refused_before_anything_is_measured(
    work: Path,
    invoke: Invoke,
    no_measuring: list[str],
    change: dict[str, object],
    told: str,
) -> None:
    (work / "olympus.toml").write_text(target("g", "forward") + target("f", "forward"))
    theirs = replace(measured(), **change)  # type: ignore[arg-type]
    write_baseline(baseline_path(work, "main"), {"f": [theirs], "g": [measured("g")]})
    result = invoke("bench", "--baseline", "main")
    assert (result.exit_code, result.stdout, no_measuring) == (2, "", [])
    assert told in result.stderr


def test_what_differs_beside_is_told() -> None:
    other = replace(measured(), versions={"olympus": "0"}, fingerprint="def")
    versions, program = differences(measured(), other)
    assert versions == "the two sides have different versions: olympus was 0 and is 1"
    assert "olympus diff" in program
    assert differences(measured(), measured()) == []


class World:
    """Rounds of both sides, each of the next of the factors, the last again and again."""

    def __init__(self, factors: Sequence[float], **others: float) -> None:
        self.asked: list[int] = []
        self._factors, self._others = list(factors), others

    def measure(self, rounds: int) -> Rounds:
        self.asked.append(rounds)
        factor = self._factors.pop(0) if len(self._factors) > 1 else self._factors[0]
        spread = (0.995, 1.0, 1.005, 1.0, 1.0)[:rounds]
        ours = [measured(factor=factor * x, **self._others) for x in spread]
        return ours, [measured(compile=0.1) for _ in range(rounds)]


def against(
    world: World, *, paired: bool = True, spec: BenchSpec | None = None, gates: int = 1
) -> Compared:
    spec = spec or BenchSpec()
    return compare("main", world.measure, paired=paired, spec=spec, gates=gates, rounds=5)


def test_the_same_is_measured_once() -> None:
    world = World([1.0], compile=0.1)
    found = against(world)
    assert world.asked == [5]
    assert {each.metric: each.verdict.word for each in found.judged} == {
        "steady_call": "no change",
        "compile": "no change",
    }
    assert [each.gate for each in found.judged] == [True, False]
    assert found.worse == ()
    assert [each.verdict for each in compared_cases(found)] == ["passed", "skipped"]


@pytest.mark.parametrize("paired", [True, False])
def test_worse_is_measured_again_and_then_fails(paired: bool) -> None:
    world = World([1.5], compile=0.1)
    found = against(world, paired=paired)
    assert world.asked == [5, 5]
    confidence = "98.3%" if paired else "95%"
    (worse,) = found.worse
    assert (worse.metric, worse.verdict.ratio) == ("steady_call", pytest.approx(1.5, rel=0.01))
    assert worse.again is not None and worse.again.word == "worse"
    (line,) = worse_lines(found)
    assert line.startswith(
        "target 'f': steady call is worse than main: 1.50 ms, and it was 1.00 ms; ratio 1.500, "
        f"{confidence} interval 1."
    )
    assert line.endswith(", threshold 5%")
    assert worse.verdict.low is not None
    assert (worse.verdict.low > 1.4) == paired, "two sessions differ beside"
    assert len(found.ours) == 10
    assert len(found.theirs) == (10 if paired else 5), "stored rounds are not counted twice"


def test_what_a_second_measurement_does_not_confirm_is_inconclusive() -> None:
    found = against(World([1.5, 1.0]))
    (judged,) = found.judged
    assert (judged.verdict.word, found.worse) == ("inconclusive", ())
    (note,) = compared_notes(found)
    assert "the last measurement did not confirm it: its ratio is 1.000" in note
    (case,) = compared_cases(found)
    assert case.verdict == "inconclusive"


def test_what_seems_worse_is_measured_until_it_is_known() -> None:
    """One process of five that was faster leaves a wide interval, which more make narrow."""

    def measure(rounds: int) -> Rounds:
        asked.append(rounds)
        factors = (0.9, 1.3, 1.3, 1.2, 1.2) if len(asked) < 3 else (1.2, 1.25, 1.3, 1.22, 1.27)
        return [measured(factor=x) for x in factors], [measured()] * rounds

    asked: list[int] = []
    found = compare("main", measure, paired=True, spec=BenchSpec(), gates=2, rounds=5)
    assert asked == [5, 5, 5]
    assert [each.metric for each in found.worse] == ["steady_call"]


def test_a_second_measurement_of_three_times_as_long_confirms_on_a_busy_machine() -> None:
    """It need not have the first one's confidence again: all processes together have it."""
    noise = [math.exp(0.5 * z) for z in (-1.26, -0.63, 0.0, 0.63, 1.26)]

    def world(*levels: float) -> Callable[[int], Rounds]:
        factors = [[level * x for x in noise] for level in levels]

        def measure(rounds: int) -> Rounds:
            return [measured(factor=x) for x in factors.pop(0)], [measured()] * rounds

        return measure

    spec = BenchSpec(threshold=0.1)
    found = compare("main", world(4.8, 1.914), paired=True, spec=spec, gates=2, rounds=5)
    (worse,) = found.worse
    assert worse.again is not None and worse.again.ratio == pytest.approx(1.914)
    found = compare("main", world(4.8, 1.05, 1.05, 1.05), paired=True, spec=spec, gates=2, rounds=5)
    assert [each.verdict.word for each in found.judged] == ["inconclusive"]


@pytest.mark.parametrize("paired", [True, False])
def test_the_ratio_is_that_of_the_two_figures_which_are_told(paired: bool) -> None:
    """One process of five is three times as slow: a median of processes would not show it."""

    def measure(rounds: int) -> Rounds:
        ours = [measured(factor=x, lower=x) for x in (1.0, 1.1, 3.0, 1.0, 0.9)]
        return ours, [measured(factor=x, lower=2.0) for x in (1.0, 1.0, 2.0, 0.8, 1.1)]

    found = compare("main", measure, paired=paired, spec=BenchSpec(), gates=2, rounds=5)
    assert [each.metric for each in found.judged] == ["steady_call", "lower"]
    for name, each in found.document()["metrics"].items():
        assert each["now"] / each["before"] == pytest.approx(each["verdict"]["ratio"]), name
    whole = found.judged[1]
    assert whole.before == pytest.approx(2.0)


def test_a_warning_of_each_kind_is_told_once_of_all_rounds() -> None:
    busy = "the machine is busy: a load of {} with 2 processors, so the times are too long"
    clock = "the clock fell from {} to 1.90 GHz while it was measured"
    notes = [(busy.format(4.5), clock.format(2.5)), (busy.format(5), clock.format(2.61), "other")]
    whole = merged([replace(measured(), notes=each) for each in notes])
    assert whole.notes == (busy.format(4.5), clock.format(2.5), "other")


def test_what_is_not_decided_is_measured_on() -> None:
    class Noisy(World):
        def measure(self, rounds: int) -> Rounds:
            self.asked.append(rounds)
            ours = [measured(factor=x) for x in (0.7, 1.4, 1.0, 0.8, 1.2)]
            return ours, [measured() for _ in ours]

    world = Noisy([1.0])
    found = against(world)
    assert world.asked == [5, 5]
    assert found.judged[0].verdict.word == "inconclusive"
    assert found.worse == ()


def test_what_cannot_fail_is_told_only() -> None:
    found = against(World([1.0], compile=0.4))
    assert {each.metric: each.verdict.word for each in found.judged}["compile"] == "worse"
    assert found.worse == ()
    gated = against(World([1.0], compile=0.4), spec=BenchSpec(metrics=("compile",)))
    assert [each.metric for each in gated.worse] == ["compile"]
    nothing = against(World([1.5], compile=0.4), spec=BenchSpec(metrics=()), gates=0)
    assert nothing.worse == ()
    lenient = against(World([1.5]), spec=BenchSpec(threshold=0.8))
    assert lenient.judged[0].verdict.word == "no change"


def test_time_of_processors_does_not_fail_a_call_that_lasts_no_longer() -> None:
    def sides(call: float) -> Callable[[int], Rounds]:
        def measure(rounds: int) -> Rounds:
            ours = [measured(factor=call, steady_cpu=2e-3) for _ in range(rounds)]
            return ours, [measured(steady_cpu=1e-3) for _ in range(rounds)]

        return measure

    def worse(call: float) -> list[str]:
        found = compare("main", sides(call), paired=True, spec=BenchSpec(), gates=2, rounds=5)
        return [each.metric for each in found.worse]

    assert worse(1.0) == []
    assert worse(0.5) == []
    assert worse(1.5) == ["steady_call", "steady_cpu"]


def test_a_bundle_and_a_target_share_only_their_calls() -> None:
    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    found = compare("x.olympus", measure, paired=True, spec=BenchSpec(), gates=2, rounds=3)
    assert [each.metric for each in found.judged] == ["steady_call"]


def test_a_gate_that_is_not_measured_is_inconclusive_and_told() -> None:
    spec = BenchSpec(metrics=("compile", "steady_call", "peak_memory", "first_call"))

    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    found = compare("x.olympus", measure, paired=True, spec=spec, gates=4, rounds=3)
    reasons = {each.metric: each.verdict.reason for each in found.judged}
    assert reasons == {
        "steady_call": "",
        "compile": "not measured on x.olympus",
        "peak_memory": "not measured on the program and x.olympus",
        "first_call": "one side is a bundle, which is loaded, and the other is compiled",
    }
    verdicts = [(case.name, case.verdict) for case in compared_cases(found)]
    assert verdicts == [
        ("steady_call", "passed"),
        ("compile", "inconclusive"),
        ("peak_memory", "inconclusive"),
        ("first_call", "inconclusive"),
    ]
    assert "compile is inconclusive: not measured on x.olympus" in list(compared_notes(found))
    _, _, rows = compared_table(found)
    assert rows[1] == ("compile", "-", "-", "-", "-", "inconclusive", "yes")
    assert found.document()["metrics"]["compile"]["now"] is None


def test_gates_that_are_not_measured_are_not_measured_again() -> None:
    world = World([1.0])
    against(world, spec=BenchSpec(metrics=("peak_memory",)))
    assert world.asked == [5]


def test_what_is_worse_fails_beside_a_gate_that_is_not_measured() -> None:
    found = against(World([1.5]), spec=BenchSpec(metrics=("steady_call", "load")))
    assert [each.metric for each in found.worse] == ["steady_call"]


def test_a_comparison_cut_short_has_figures_and_no_verdict() -> None:
    def cut(rounds: int, theirs: Sequence[Measured], *, paired: bool) -> Compared | None:
        sides = [measured(factor=3.0)] * rounds, list(theirs)
        return cut_short("f", "main", sides, paired=paired, spec=BenchSpec())

    found = cut(5, [measured()] * 5, paired=True)
    assert found is not None and found.worse == ()
    (judged,) = found.judged
    assert (judged.verdict.word, judged.verdict.ratio) == ("inconclusive", pytest.approx(3.0))
    assert [case.verdict for case in compared_cases(found)] == ["inconclusive"]
    found = cut(5, [measured()] * 4, paired=True)
    assert found is not None and found.document()["rounds"] == [4, 4]
    found = cut(1, [measured()] * 5, paired=False)
    assert found is not None
    (judged,) = found.judged
    assert (judged.now, judged.before) == (pytest.approx(3e-3, rel=0.01), pytest.approx(1e-3))
    assert judged.verdict.reason == "interrupted after 1 round"
    found = cut(0, [measured()] * 5, paired=False)
    assert found is not None
    assert list(compared_notes(found)) == [
        "steady call and steady cpu are inconclusive: interrupted after 0 rounds"
    ]
    assert cut(1, [replace(measured(), backend="gpu")], paired=False) is None


def test_another_unit_in_a_baseline_is_refused() -> None:
    def measure(rounds: int) -> Rounds:
        other = replace(measured(), metrics={"steady_call": Metric("B", "lower", (1.0,))})
        return [measured()] * rounds, [other] * rounds

    with pytest.raises(ArtifactError, match="has steady_call in B, not in s"):
        compare("main", measure, paired=False, spec=BenchSpec(), gates=1, rounds=3)


def test_rounds_together_have_all_samples() -> None:
    first = replace(measured(), conditions={"load": 0.5, "load_after": 1.0, "others": 0.25})
    last = replace(first, conditions={"load": 1.0, "load_after": 2.0, "others": 0.75})
    last = replace(last, metrics=measured(factor=2.0, compile=1.0).metrics)
    whole = merged([replace(each, facts={"roofline_seconds": 3e-4}) for each in (first, last)])
    assert list(whole.metrics) == ["steady_call"]
    assert len(whole.metrics["steady_call"].samples) == 8
    assert whole.conditions == {"load": 0.5, "load_after": 2.0, "others": 0.5}
    assert whole.facts["processes"] == 2
    assert whole.facts["roofline_share"] == pytest.approx(0.2, rel=0.02), "of all samples"
    (title, _, _), _ = measured_tables(whole)
    assert title == "f  (m:f, cpu): all samples of 2 processes"


def test_sides_take_turns_there_and_back() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[int], float]:
        def sample(calls: int) -> float:
            assert calls == 3
            order.append(name)
            return 1.0 if name == "a" else 2.0

        return sample

    pairs = list(turns(side("a"), side("b"), 3, seconds=0, clock=lambda: 0.0))
    assert "".join(order) == "abbaabba"
    assert pairs == [(1.0, 2.0)] * 4
    ticks = iter(range(100))
    assert len(list(turns(side("a"), side("b"), 3, seconds=3.5, clock=lambda: next(ticks)))) == 10


PROGRAM = """\
import olympus.numpy as np


def forward(x):
    return np.tanh(x @ x)


def heavy(x):
    for _ in range(40):
        x = np.tanh(x @ x)
    return x
"""
QUICK = ("--time-limit", "0.1", "--rounds", "3")


def target(name: str, entry: str) -> str:
    return f'[target.{name}]\nentry = "program:{entry}"\nargs = {{ x = "f32[128,128]" }}\n'


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(target("f", "forward"))
    return folder


def olympus(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which forks those that measure: they start sooner."""
    command = [sys.executable, "-m", "olympus_cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_a_stored_baseline_catches_what_takes_forty_times_as_long(work: Path) -> None:
    several = ("--time-limit", "0.1", "--rounds", "5")  # of 3, an interval may span a factor of 40
    saved = olympus(work, "bench", "--save-baseline", "main", *several)
    assert saved.returncode == 0, saved.stderr
    assert "wrote baselines/main.json" in saved.stderr
    assert len(read_baseline(work / "baselines" / "main.json").of("f")) == 5
    (work / "olympus.toml").write_text(target("f", "heavy"))
    result = olympus(work, "bench", "--baseline", "main", "--json", *several, "--threshold", "40%")
    assert result.returncode == 1, result.stderr
    assert "target 'f': steady c" in result.stderr
    assert "is worse than baselines/main.json" in result.stderr or "than main" in result.stderr
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert (comparison["target"], comparison["interleaved"]) == ("f", False)
    assert any(each["fails"] for each in comparison["metrics"].values())
    assert any("olympus diff" in note for note in comparison["notes"])
    assert comparison["metrics"]["steady_call"]["verdict"]["threshold"] == 0.4


@pytest.fixture
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would be measured; `f` is worse than its other side, and other targets are not."""
    asked: list[str] = []

    def attempted(work: SamplerWork, *_: object) -> Attempt:
        asked.append(work.name)
        ours = tuple(measured(work.name) for _ in range(5))
        world = World([1.5 if work.name == "f" else 1.0])
        return Attempt(work.name, measured(work.name), rounds=ours, compared=against(world))

    monkeypatch.setattr(bench, "attempted", attempted)
    return asked


def test_what_is_worse_does_not_become_the_baseline(
    work: Path, invoke: Invoke, no_measuring: list[str]
) -> None:
    path = baseline_path(work, "main")
    before = [measured(factor=0.5), measured(factor=0.5)]
    write_baseline(path, {"f": before, "g": [measured("g", factor=0.5)]})
    (work / "olympus.toml").write_text(target("f", "forward") + target("g", "forward"))
    result = invoke("bench", "--baseline", "main", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (1, ["f", "g"])
    kept = read_baseline(path)
    assert kept.of("f") == tuple(before)
    assert kept.of("g") == (measured("g"),) * 5
    told = "warning: f is worse than main and is not saved in baselines/main.json\n"
    assert told in result.stderr


def test_the_exit_code_is_that_of_a_failure_beside_what_is_worse(
    work: Path, invoke: Invoke, no_measuring: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring = bench.attempted

    def fails(work: SamplerWork, *rest: object) -> Attempt:
        if work.name == "g":
            raise CompileError("it is too large")
        return measuring(work, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "attempted", fails)
    targets = "".join(target(name, "forward") for name in "fgh")
    (work / "olympus.toml").write_text(targets)
    theirs = {name: [measured(name)] for name in "fgh"}
    write_baseline(baseline_path(work, "main"), theirs)
    result = invoke("bench", "--baseline", "main")
    assert (result.exit_code, no_measuring) == (4, ["f", "h"])
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors[0] == "error: target 'g': it is too large"
    assert errors[1].startswith("error: target 'f': steady call is worse than main")
    assert errors[2:] == ["error: 2 of 3 targets failed"]


def test_a_file_that_cannot_be_saved_is_refused_before_the_measuring(
    work: Path, invoke: Invoke, no_measuring: list[str]
) -> None:
    (work / "baselines").write_text("")
    result = invoke("bench", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (2, [])
    assert "baselines/main.json cannot be written" in result.stderr
    (work / "baselines").unlink()
    (work / "baselines").mkdir()
    (work / "baselines" / "main.json").write_text("{}")
    result = invoke("bench", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (5, [])


class Cut:
    """Samplers of rounds, of which the third has its samples cut short by Ctrl-C."""

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


@pytest.mark.parametrize("other", [("--rounds", "5"), ("--baseline", "main"), ("--baseline", "x")])
def test_an_interruption_keeps_the_rounds_before_it(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, other: tuple[str, str]
) -> None:
    left = [measured(), measured(factor=3.0)]

    def measure(*_: object, **__: object) -> Measured:
        if left:
            return left.pop(0)
        raise Interrupted(measured(factor=2.0)) from KeyboardInterrupt()

    monkeypatch.setattr(rounds, "measure_target", measure)
    monkeypatch.setattr(rounds, "Sampler", Cut())
    recorded: list[object] = []
    monkeypatch.setattr(bench, "record_bench", lambda _project, found: recorded.extend(found))
    write_baseline(baseline_path(work, "main"), {"f": [measured()] * 3})
    if other[1] == "x":  # a side that runs in turns
        side = contextlib.nullcontext([rounds.Side(SamplerWork.of_target(Request("f").spec()))])
        monkeypatch.setattr(bench, "other_sides", lambda *_: side)
    result = invoke("bench", "f", "--json", "--save-baseline", "kept", *other)
    assert result.exit_code == 130, result.output
    (found,) = json.loads(result.stdout)["targets"]
    samples = found["metrics"]["steady_call"]["samples"]
    assert len(samples) == 12, "two whole rounds and a part"
    assert samples[-1] == 2e-3
    assert found["facts"]["stopped_by"] == "interrupted"
    assert "the measuring was interrupted (whole rounds: 2)" in result.stderr
    comparisons = json.loads(result.stdout)["comparisons"]
    assert len(comparisons) == (other[0] == "--baseline")
    for each in comparisons:
        assert each["rounds"] == [2, 3 if other[1] == "main" else 2]
        metric = each["metrics"]["steady_call"]
        assert (metric["verdict"]["word"], metric["fails"]) == ("inconclusive", False)
        assert metric["now"] > 0 and metric["before"] > 0
        assert "steady call is inconclusive: interrupted after 2 rounds" in result.stderr
    assert len(recorded) == 1
    assert not baseline_path(work, "kept").exists()


def test_a_bundle_runs_in_turns_with_the_program(work: Path) -> None:
    assert olympus(work, "build").returncode == 0
    bundle = "build/f/f.olympus"
    result = olympus(work, "bench", "--baseline", bundle, *QUICK, "--threshold", "900%")
    assert result.returncode == 0, result.stderr
    assert "f against build/f/f.olympus, in turns" in result.stdout
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert rows.count("steady call") == 2, "the measurement and the verdict"
    (work / "olympus.toml").write_text(target("f", "forward") + target("g", "heavy"))
    result = olympus(work, "bench", "--baseline", bundle, *QUICK)
    assert result.returncode == 2
    assert "is one program and cannot be the baseline of 2: f, g" in result.stderr
    result = olympus(work, "bench", "f", "--baseline", "gone.olympus", *QUICK)
    assert result.returncode == 2
    assert "there is no bundle gone.olympus" in result.stderr


def test_metrics_that_a_bundle_does_not_have_are_refused_before_anything_is_measured(
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


def test_a_revision_runs_in_turns_with_the_program(work: Path) -> None:
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
    (found,) = json.loads(result.stdout)["targets"]
    assert found["conditions"]["others"] is None, "the other side is not another program"
    assert not list(work.glob("**/*.lock"))
    told = olympus(work, "bench", "--baseline", "git:nowhere", *QUICK)
    assert (told.returncode, "has no revision 'nowhere'" in told.stderr) == (2, True)


def test_a_revision_that_does_not_trace_is_told(work: Path) -> None:
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
    assert "there is no target 'new'" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("main", "there is no baseline baselines/main.json"),
        ("x.json", "there is no baseline x.json"),
        ("a/b", "cannot be the name of a baseline"),
        ("git:", "names no revision"),
    ],
)
def test_a_wrong_baseline_is_told_before_anything_is_measured(
    work: Path, invoke: Invoke, text: str, told: str
) -> None:
    result = invoke("bench", "--baseline", text)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('threshold = "5"', "must be a share above 0, in per cent or as a number below 1"),
        ("threshold = 5", "must be a share above 0"),
        ("threshold = true", "must be a share above 0"),
        ('threshold = "0%"', "must be a share above 0"),
        ("threshold = nan", "must be a share above 0"),
        ('metrics = ["steady"]', "has 'steady', which is not a metric that can fail"),
        ("metrics = 3", "must be an array of strings"),
        ("percent = 3", "has no key 'percent'"),
    ],
)
@pytest.mark.parametrize("table", ["bench", "target.f.bench"])
def test_a_wrong_table_is_refused(
    work: Path, invoke: Invoke, lines: str, told: str, table: str
) -> None:
    (work / "olympus.toml").write_text(f"{target('f', 'forward')}[{table}]\n{lines}\n")
    result = invoke("bench")
    assert result.exit_code == 2
    assert told in result.stderr
    assert f"olympus.toml:{5}" in result.stderr


def test_a_wrong_threshold_of_the_option_is_refused(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "--threshold", "5", "--baseline", "main")
    assert result.exit_code == 2
    assert "must be a share above 0" in result.stderr
