"""What a comparison with a baseline decides, and what it measures again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from olympus.errors import ArtifactError
from olympus_cli.bench.compare.comparing import Compared, Rounds, compare, cut_short, merged
from olympus_cli.bench.compare.rounds import turns
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.bench.show import (
    compared_cases,
    compared_notes,
    compared_table,
    measured_tables,
    worse_lines,
)
from olympus_cli.spec.bench import BenchSpec
from tests.cli.bench.made import World, against, measured


def test_the_same_is_measured_once() -> None:
    world = World([1.0], compile=0.1)
    found = against(world)
    assert world.asked == [5]
    assert {each.metric: each.verdict.word for each in found.judged} == {
        "steady-call": "no change",
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
    assert (worse.metric, worse.verdict.ratio) == ("steady-call", pytest.approx(1.5, rel=0.01))
    assert worse.again is not None and worse.again.word == "worse"
    (line,) = worse_lines(found)
    assert line.startswith(
        "target 'f': steady-call is worse than main: 1.50 ms, and it was 1.00 ms; ratio 1.500, "
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
    assert [each.metric for each in found.worse] == ["steady-call"]


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
    assert [each.metric for each in found.judged] == ["steady-call", "lower"]
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
    assert worse(1.5) == ["steady-call", "steady-cpu"]


def test_a_bundle_and_a_target_share_only_their_calls() -> None:
    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    found = compare("x.olympus", measure, paired=True, spec=BenchSpec(), gates=2, rounds=3)
    assert [each.metric for each in found.judged] == ["steady-call"]


def test_a_gate_that_is_not_measured_is_inconclusive_and_told() -> None:
    spec = BenchSpec(metrics=("compile", "steady-call", "process-memory", "first-call"))

    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    found = compare("x.olympus", measure, paired=True, spec=spec, gates=4, rounds=3)
    reasons = {each.metric: each.verdict.reason for each in found.judged}
    assert reasons == {
        "steady-call": "",
        "compile": "not measured on x.olympus",
        "process-memory": "not measured on the program and x.olympus",
        "first-call": "one side is a bundle, which is loaded, and the other is compiled",
    }
    verdicts = [(case.name, case.verdict) for case in compared_cases(found)]
    assert verdicts == [
        ("steady-call", "passed"),
        ("compile", "inconclusive"),
        ("process-memory", "inconclusive"),
        ("first-call", "inconclusive"),
    ]
    assert "compile is inconclusive: not measured on x.olympus" in list(compared_notes(found))
    _, _, rows = compared_table(found)
    assert rows[1] == ("compile", "-", "-", "-", "-", "inconclusive", "yes")
    assert found.document()["metrics"]["compile"]["now"] is None


def test_gates_that_are_not_measured_are_not_measured_again() -> None:
    world = World([1.0])
    against(world, spec=BenchSpec(metrics=("process-memory",)))
    assert world.asked == [5]


def test_what_is_worse_fails_beside_a_gate_that_is_not_measured() -> None:
    found = against(World([1.5]), spec=BenchSpec(metrics=("steady-call", "load")))
    assert [each.metric for each in found.worse] == ["steady-call"]


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
        "steady-call and steady-cpu are inconclusive: interrupted after 0 rounds"
    ]
    assert cut(1, [replace(measured(), backend="gpu")], paired=False) is None


def test_another_unit_in_a_baseline_is_refused() -> None:
    def measure(rounds: int) -> Rounds:
        other = replace(measured(), metrics={"steady-call": Metric("B", "lower", (1.0,))})
        return [measured()] * rounds, [other] * rounds

    with pytest.raises(ArtifactError, match="has steady-call in B, not in s"):
        compare("main", measure, paired=False, spec=BenchSpec(), gates=1, rounds=3)


def test_rounds_together_have_all_samples() -> None:
    first = replace(measured(), conditions={"load": 0.5, "load_after": 1.0, "others": 0.25})
    last = replace(first, conditions={"load": 1.0, "load_after": 2.0, "others": 0.75})
    last = replace(last, metrics=measured(factor=2.0, compile=1.0).metrics)
    whole = merged([replace(each, facts={"roofline_seconds": 3e-4}) for each in (first, last)])
    assert list(whole.metrics) == ["steady-call"]
    assert len(whole.metrics["steady-call"].samples) == 8
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
