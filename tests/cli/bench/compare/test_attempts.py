"""Decisions of a comparison with a baseline, and its repeated measurements."""

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
from tests.cli.bench.measurements import World, against, measured


def test_an_equal_program_is_measured_once() -> None:
    world = World([1.0], compile=0.1)
    comparison = against(world)
    assert world.requested_rounds == [5]
    assert {judgement.metric: judgement.verdict.word for judgement in comparison.judged} == {
        "steady-call": "no change",
        "compile": "no change",
    }
    assert [judgement.gate for judgement in comparison.judged] == [True, False]
    assert comparison.worse == ()
    assert [judgement.verdict for judgement in compared_cases(comparison)] == ["passed", "skipped"]


@pytest.mark.parametrize("paired", [True, False])
def test_a_worse_program_is_measured_again_and_then_fails(paired: bool) -> None:
    world = World([1.5], compile=0.1)
    comparison = against(world, paired=paired)
    assert world.requested_rounds == [5, 5]
    confidence = "98.3%" if paired else "95%"
    (worse,) = comparison.worse
    assert (worse.metric, worse.verdict.ratio) == ("steady-call", pytest.approx(1.5, rel=0.01))
    assert worse.again is not None and worse.again.word == "worse"
    (line,) = worse_lines(comparison)
    assert line.startswith(
        "target 'f': steady-call is worse than main: 1.50 ms, and it was 1.00 ms; ratio 1.500, "
        f"{confidence} interval 1."
    )
    assert line.endswith(", threshold 5%")
    assert worse.verdict.low is not None
    assert (worse.verdict.low > 1.4) == paired, "the difference of two sessions widens the interval"
    assert len(comparison.ours) == 10
    assert len(comparison.theirs) == (10 if paired else 5), "stored rounds are not counted twice"


def test_a_change_that_a_second_measurement_does_not_confirm_is_inconclusive() -> None:
    comparison = against(World([1.5, 1.0]))
    (judged,) = comparison.judged
    assert (judged.verdict.word, comparison.worse) == ("inconclusive", ())
    (note,) = compared_notes(comparison)
    assert "the last measurement did not confirm it: its ratio is 1.000" in note
    (case,) = compared_cases(comparison)
    assert case.verdict == "inconclusive"


def test_a_metric_that_seems_worse_is_measured_until_it_is_certain() -> None:
    """One fast process of five gives a wide interval, which more rounds make narrow."""

    def measure(rounds: int) -> Rounds:
        requested.append(rounds)
        factors = (0.9, 1.3, 1.3, 1.2, 1.2) if len(requested) < 3 else (1.2, 1.25, 1.3, 1.22, 1.27)
        return [measured(factor=x) for x in factors], [measured()] * rounds

    requested: list[int] = []
    comparison = compare("main", measure, paired=True, spec=BenchSpec(), gates=2, rounds=5)
    assert requested == [5, 5, 5]
    assert [judgement.metric for judgement in comparison.worse] == ["steady-call"]


def test_a_smaller_second_ratio_confirms_the_first_on_a_busy_machine() -> None:
    """The second measurement needs no confidence of its own: all processes together have it."""
    noise = [math.exp(0.5 * z) for z in (-1.26, -0.63, 0.0, 0.63, 1.26)]

    def measure_of(*levels: float) -> Callable[[int], Rounds]:
        factors = [[level * x for x in noise] for level in levels]

        def measure(rounds: int) -> Rounds:
            return [measured(factor=x) for x in factors.pop(0)], [measured()] * rounds

        return measure

    spec = BenchSpec(threshold=0.1)
    comparison = compare("main", measure_of(4.8, 1.914), paired=True, spec=spec, gates=2, rounds=5)
    (worse,) = comparison.worse
    assert worse.again is not None and worse.again.ratio == pytest.approx(1.914)
    comparison = compare(
        "main", measure_of(4.8, 1.05, 1.05, 1.05), paired=True, spec=spec, gates=2, rounds=5
    )
    assert [judgement.verdict.word for judgement in comparison.judged] == ["inconclusive"]


@pytest.mark.parametrize("paired", [True, False])
def test_the_ratio_is_the_quotient_of_the_reported_figures(paired: bool) -> None:
    """One process of five is three times as slow, which a median of processes would not show."""

    def measure(rounds: int) -> Rounds:
        ours = [measured(factor=x, lower=x) for x in (1.0, 1.1, 3.0, 1.0, 0.9)]
        return ours, [measured(factor=x, lower=2.0) for x in (1.0, 1.0, 2.0, 0.8, 1.1)]

    comparison = compare("main", measure, paired=paired, spec=BenchSpec(), gates=2, rounds=5)
    assert [judgement.metric for judgement in comparison.judged] == ["steady-call", "lower"]
    for name, judgement in comparison.document()["metrics"].items():
        assert judgement["now"] / judgement["before"] == pytest.approx(
            judgement["verdict"]["ratio"]
        ), name
    lower = comparison.judged[1]
    assert lower.before == pytest.approx(2.0)


def test_merged_rounds_have_each_kind_of_warning_once() -> None:
    busy = "the machine is busy: a load of {} with 2 processors, so the times are too long"
    clock = "the clock fell from {} to 1.90 GHz while it was measured"
    notes = [(busy.format(4.5), clock.format(2.5)), (busy.format(5), clock.format(2.61), "other")]
    merged_rounds = merged([replace(measured(), notes=lines) for lines in notes])
    assert merged_rounds.notes == (busy.format(4.5), clock.format(2.5), "other")


def test_an_undecided_comparison_is_measured_again() -> None:
    class Noisy(World):
        def measure(self, rounds: int) -> Rounds:
            self.requested_rounds.append(rounds)
            ours = [measured(factor=x) for x in (0.7, 1.4, 1.0, 0.8, 1.2)]
            return ours, [measured() for _ in ours]

    world = Noisy([1.0])
    comparison = against(world)
    assert world.requested_rounds == [5, 5]
    assert comparison.judged[0].verdict.word == "inconclusive"
    assert comparison.worse == ()


def test_a_metric_that_is_no_gate_does_not_fail() -> None:
    comparison = against(World([1.0], compile=0.4))
    assert {judgement.metric: judgement.verdict.word for judgement in comparison.judged}[
        "compile"
    ] == "worse"
    assert comparison.worse == ()
    gated = against(World([1.0], compile=0.4), spec=BenchSpec(metrics=("compile",)))
    assert [judgement.metric for judgement in gated.worse] == ["compile"]
    nothing = against(World([1.5], compile=0.4), spec=BenchSpec(metrics=()), gates=0)
    assert nothing.worse == ()
    lenient = against(World([1.5]), spec=BenchSpec(threshold=0.8))
    assert lenient.judged[0].verdict.word == "no change"


def test_more_processor_time_does_not_fail_if_the_call_is_not_slower() -> None:
    def sides(call: float) -> Callable[[int], Rounds]:
        def measure(rounds: int) -> Rounds:
            ours = [measured(factor=call, steady_cpu=2e-3) for _ in range(rounds)]
            return ours, [measured(steady_cpu=1e-3) for _ in range(rounds)]

        return measure

    def worse(call: float) -> list[str]:
        comparison = compare("main", sides(call), paired=True, spec=BenchSpec(), gates=2, rounds=5)
        return [judgement.metric for judgement in comparison.worse]

    assert worse(1.0) == []
    assert worse(0.5) == []
    assert worse(1.5) == ["steady-call", "steady-cpu"]


def test_only_calls_of_a_bundle_and_a_target_are_compared() -> None:
    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    comparison = compare("x.olympus", measure, paired=True, spec=BenchSpec(), gates=2, rounds=3)
    assert [judgement.metric for judgement in comparison.judged] == ["steady-call"]


def test_a_gate_without_a_measurement_is_inconclusive_with_the_reason() -> None:
    spec = BenchSpec(metrics=("compile", "steady-call", "process-memory", "first-call"))

    def measure(rounds: int) -> Rounds:
        ours = [measured(first_call=1.0, compile=1.0) for _ in range(rounds)]
        return ours, [measured(first_call=0.1, load=0.1) for _ in range(rounds)]

    comparison = compare("x.olympus", measure, paired=True, spec=spec, gates=4, rounds=3)
    reasons = {judgement.metric: judgement.verdict.reason for judgement in comparison.judged}
    assert reasons == {
        "steady-call": "",
        "compile": "not measured on x.olympus",
        "process-memory": "not measured on the program and x.olympus",
        "first-call": "one side is a bundle, which is loaded, and the other is compiled",
    }
    verdicts = [(case.name, case.verdict) for case in compared_cases(comparison)]
    assert verdicts == [
        ("steady-call", "passed"),
        ("compile", "inconclusive"),
        ("process-memory", "inconclusive"),
        ("first-call", "inconclusive"),
    ]
    assert "compile is inconclusive: not measured on x.olympus" in list(compared_notes(comparison))
    _, _, rows = compared_table(comparison)
    assert rows[1] == ("compile", "-", "-", "-", "-", "inconclusive", "yes")
    assert comparison.document()["metrics"]["compile"]["now"] is None


def test_gates_without_a_measurement_need_no_second_one() -> None:
    world = World([1.0])
    against(world, spec=BenchSpec(metrics=("process-memory",)))
    assert world.requested_rounds == [5]


def test_a_worse_metric_fails_beside_a_gate_without_a_measurement() -> None:
    comparison = against(World([1.5]), spec=BenchSpec(metrics=("steady-call", "load")))
    assert [judgement.metric for judgement in comparison.worse] == ["steady-call"]


def test_an_interrupted_comparison_has_figures_and_no_verdict() -> None:
    def cut(rounds: int, theirs: Sequence[Measured], *, paired: bool) -> Compared | None:
        sides = [measured(factor=3.0)] * rounds, list(theirs)
        return cut_short("f", "main", sides, paired=paired, spec=BenchSpec())

    comparison = cut(5, [measured()] * 5, paired=True)
    assert comparison is not None and comparison.worse == ()
    (judged,) = comparison.judged
    assert (judged.verdict.word, judged.verdict.ratio) == ("inconclusive", pytest.approx(3.0))
    assert [case.verdict for case in compared_cases(comparison)] == ["inconclusive"]
    comparison = cut(5, [measured()] * 4, paired=True)
    assert comparison is not None and comparison.document()["rounds"] == [4, 4]
    comparison = cut(1, [measured()] * 5, paired=False)
    assert comparison is not None
    (judged,) = comparison.judged
    assert (judged.now, judged.before) == (pytest.approx(3e-3, rel=0.01), pytest.approx(1e-3))
    assert judged.verdict.reason == "interrupted after 1 round"
    comparison = cut(0, [measured()] * 5, paired=False)
    assert comparison is not None
    assert list(compared_notes(comparison)) == [
        "steady-call and steady-cpu are inconclusive: interrupted after 0 rounds"
    ]
    assert cut(1, [replace(measured(), backend="gpu")], paired=False) is None


def test_another_unit_in_a_baseline_is_an_error() -> None:
    def measure(rounds: int) -> Rounds:
        in_bytes = replace(measured(), metrics={"steady-call": Metric("B", "lower", (1.0,))})
        return [measured()] * rounds, [in_bytes] * rounds

    with pytest.raises(ArtifactError, match="has steady-call in B, not in s"):
        compare("main", measure, paired=False, spec=BenchSpec(), gates=1, rounds=3)


def test_merged_rounds_have_all_samples() -> None:
    first = replace(measured(), conditions={"load": 0.5, "load_after": 1.0, "others": 0.25})
    last = replace(first, conditions={"load": 1.0, "load_after": 2.0, "others": 0.75})
    last = replace(last, metrics=measured(factor=2.0, compile=1.0).metrics)
    merged_rounds = merged(
        [replace(round_, facts={"roofline_seconds": 3e-4}) for round_ in (first, last)]
    )
    assert list(merged_rounds.metrics) == ["steady-call"]
    assert len(merged_rounds.metrics["steady-call"].samples) == 8
    assert merged_rounds.conditions == {"load": 0.5, "load_after": 2.0, "others": 0.5}
    assert merged_rounds.facts["processes"] == 2
    assert merged_rounds.facts["roofline_share"] == pytest.approx(0.2, rel=0.02), "of all samples"
    (title, _, _), _ = measured_tables(merged_rounds)
    assert title == "f  (m:f, cpu): all samples of 2 processes"


def test_sides_alternate_their_order() -> None:
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
