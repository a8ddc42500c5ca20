"""The tables of `olympus bench`, for fixed measurements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import olympus
from olympus.analysis import Calibrated, keep_peaks, known_peaks
from olympus_cli.bench.measure import rates
from olympus_cli.bench.measure.subject import Subject
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.bench.show import Attempt, fact_rows, measured_tables, overview_table
from olympus_cli.faults.failure import Failure

FACTS = {
    "flops": 2_000_000,
    "bytes": 5000,
    "io_bytes": 2048,
    "roofline_seconds": 1e-3,
    "roofline_bound": "memory",
    "roofline_share": 0.5,
    "estimate_seconds": 1.5e-3,
    "peaks": "calibrated",
    "stopped_by": "precision",
    "warm_up_seconds": 0.03,
    "warm_up_calls": 18,
    "warm_up_steady": "yes",
    "input_sets": 2,
    "input_bytes": 1024,
    "donated": "none",
}
METRICS = {
    "import-program": Metric("s", "lower", (0.25,)),
    "steady-call": Metric("s", "lower", (2e-3,) * 8, 16),
    "throughput": Metric("1/s", "neither", (500.0, 490.4)),
    "flop-rate": Metric("FLOP/s", "neither", (1e9, 1e9)),
    "byte-rate": Metric("B/s", "neither", (1e6, 1e6)),
    "process-memory": Metric("B", "lower", (2.0**30,)),
}
MEASURED = Measured(
    target="f",
    entry="m:f",
    backend="cpu",
    metrics=METRICS,
    machine={"cpu": "Fast 3", "threads": "4", "os": "linux x86_64", "device": "cpu"},
    conditions={
        "load": 0.5,
        "load_after": 1.5,
        "others": 0.25,
        "clock_hz": 2.5e9,
        "cpu_limit": 1.5,
    },
    versions={},
    facts=FACTS,  # type: ignore[arg-type]
)


def rows(**facts: object) -> dict[str, str]:
    changed = {**FACTS, **facts}
    return dict(fact_rows(replace(MEASURED, facts=changed)))  # type: ignore[arg-type]


def test_metrics_are_shown_in_their_units() -> None:
    (title, columns, rows), _ = measured_tables(MEASURED)
    assert (title, columns[0], columns[2]) == ("f  (m:f, cpu)", "metric", "95% interval")
    assert rows == (
        ("import-program", "250 ms", "-", "-", "1"),
        ("steady-call", "2.00 ms", "2.00 ms .. 2.00 ms", "2.00 ms .. 2.00 ms", "8 x 16"),
        ("throughput", "495 calls/s", "-", "493 calls/s .. 498 calls/s", "2"),
        ("flop-rate", "1.00 GFLOP/s", "-", "1.00 GFLOP/s .. 1.00 GFLOP/s", "2"),
        ("byte-rate", "1.00 MB/s", "-", "1.00 MB/s .. 1.00 MB/s", "2"),
        ("process-memory", "1.00 GiB", "-", "-", "1"),
    )


def test_the_conditions_of_a_measurement_are_shown() -> None:
    assert rows() == {
        "cost": "2.00 M flops, 2.00 KiB of arguments, results and constants",
        "roofline": "1.00 ms by the memory, and the call reaches 50% of it "
        "(the calibrated peaks of this CPU)",
        "estimate": "1.50 ms a call",
        "warm-up": "18 calls in 30.0 ms, then steady",
        "inputs": "2 of 1.00 KiB in turns",
        "ended by": "precision",
        "machine": "Fast 3, 4 threads, limited to 1.5, linux x86_64",
        "load": "0.5 before, 1.5 after, other programs took 0.25 processors, clock 2.50 GHz",
    }


@pytest.mark.parametrize(
    ("facts", "row", "words"),
    [
        ({"flops": None}, "cost", "unknown flops"),
        ({"peaks": "usual"}, "roofline", "as this CPU is not calibrated)"),
        ({"peaks": "h200"}, "roofline", "(the peaks of h200)"),
        ({"roofline_share": 1.5}, "roofline", "150% of it, as its arguments are in a cache"),
        (
            {"roofline_share": 1.5, "roofline_bound": "compute"},
            "roofline",
            "150% of it: the peaks were perhaps measured on a busy machine",
        ),
        (
            {"roofline_share": 1.5, "roofline_bound": "compute", "peaks": "usual"},
            "roofline",
            "150% of it: this CPU has higher peaks",
        ),
        ({"warm_up_steady": "no"}, "warm-up", "and not steady yet"),
        ({"warm_up_steady": "unknown"}, "warm-up", "too few to judge"),
        ({"input_bytes": 0}, "inputs", "none"),
        ({"input_sets": 1}, "inputs", "1 of 1.00 KiB"),
        ({"donated": "fed back"}, "inputs", "the results take the places of donated arguments"),
        ({"donated": "copied"}, "inputs", "donated arguments are copied before each call"),
    ],
)
def test_unusual_conditions_are_shown(facts: dict[str, object], row: str, words: str) -> None:
    assert words in rows(**facts)[row]


def test_unknown_figures_are_left_out() -> None:
    shown = rows(roofline_seconds=None, estimate_seconds=None, peaks_assumption="The peaks.")
    assert not {"roofline", "estimate", "peaks"} & set(shown)
    assert "peaks" not in rows(peaks="h200", peaks_assumption=None)


def test_the_calibration_is_shown_as_in_other_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = olympus.ShapeDtypeStruct((8,), "float32")
    compiled = olympus.jit(lambda x: x + 1).lower(shape).compile()
    subject = Subject(lambda _stage: None, olympus.target("cpu"))
    monkeypatch.setattr(subject, "cost", lambda: compiled.cost())
    monkeypatch.setattr(subject, "estimate", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = rates.program_facts(subject)
    assert "were not measured, and usual ones are taken" in usual["peaks_assumption"]
    assert usual["peaks_assumption"] in compiled.estimate().assumptions
    keep_peaks(known_peaks(), Calibrated("2026-11-23 19:10 UTC", 0.5))
    facts = rates.program_facts(subject)
    assert facts["peaks_assumption"] in compiled.estimate().assumptions
    assert rows(**facts)["peaks"] == (
        "The peaks of this CPU were measured by olympus devices --calibrate: "
        "2026-11-23 19:10 UTC at a load of 0.5."
    )


def test_each_target_has_a_row() -> None:
    failed = Attempt("g", failure=Failure("CompileError", "it died\nof something"))
    title, columns, rows = overview_table([Attempt("f", MEASURED), failed])
    assert (title, columns) == (
        "all targets",
        ("target", "steady-call", "process-memory", "outcome"),
    )
    assert rows == (("f", "2.00 ms", "1.00 GiB", "measured"), ("g", "-", "-", "failed: it died"))
