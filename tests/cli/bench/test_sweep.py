"""Times against size: the lines of a sweep, and its table and plots."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from olympus_cli.bench.measure.rates import rate_metrics
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.bench.show import Attempt, bench_report, measured_tables
from olympus_cli.bench.sweep import sweep_page, sweeps_of


def measured(name: str, seconds: float, flops: float | None = None, **matrix: object) -> Measured:
    values = ",".join(f"{key}={value}" for key, value in matrix.items())
    steady = Metric("s", "lower", (seconds, seconds * 1.5, seconds * 0.5), 4)
    facts = {"flops": flops, "io_bytes": 1024}
    return Measured(
        target=f"{name}@{values}" if values else name,
        entry=f"m:{name}",
        backend="cpu",
        metrics={"steady-call": steady, **rate_metrics(steady, facts)},
        machine={"cpu": "a", "threads": "2", "os": "linux", "device": "cpu"},
        conditions={"load": 0.5},
        versions={"olympus": "1"},
        facts=facts,
        matrix=matrix,  # type: ignore[arg-type]
    )


def test_a_sweep_has_a_line_for_each_value_of_the_other_keys() -> None:
    sizes = (8, 4, 16)
    members = [measured("f", n**2 * 1e-6, n**3, n=n, mode=mode) for mode in "ab" for n in sizes]
    members += [measured("g", 1.0), measured("h", 1.0, n=3), measured("k", 1.0, on="a", n=5)]
    (sweep,) = sweeps_of(members)
    assert (sweep.target, sweep.axis) == ("f", "n")
    assert [line.label for line in sweep.lines] == ["mode=a", "mode=b"]
    assert [p.x for p in sweep.lines[0].points] == [4, 8, 16]
    assert sweep.rows[0] == ("mode=a", "4", "16.0 us", "-", "64")
    lines = sweep.plot.text(60, only_ascii=True).splitlines()
    assert max(map(len, lines)) <= 60


def test_several_sweeps_share_one_picture() -> None:
    members = [measured("f", n * m * 1e-6, n, n=n, m=m) for n in (1, 2) for m in (3, 0)]
    pictures = sweeps_of([member for member in members if member.matrix["m"]]), sweeps_of(members)
    for sweeps, count in zip(pictures, (1, 2), strict=True):
        root = ElementTree.fromstring(sweep_page(sweeps))
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        expected = ["f: steady-call against n", "f: steady-call against m"][:count]
        assert [title for title in titles if title in expected] == expected
    assert not pictures[1][1].is_logarithmic


def test_the_document_has_all_figures_of_the_tables() -> None:
    members = [measured("f", n * 1e-6, n, n=n) for n in (1, 2, 4)]
    report = bench_report([Attempt(member.target, member) for member in members])
    read = [Measured.of_document(target) for target in report.document["targets"]]
    assert read == members
    tables = [table for target in read for table in measured_tables(target)]
    assert list(report.tables[: len(tables)]) == tables
    (sweep,) = report.document["sweeps"]
    assert [point["x"] for point in sweep["lines"][0]["points"]] == [1, 2, 4]
    assert [case.verdict for case in report.cases] == ["passed"] * 3


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (
            {"metrics": {"a": {"unit": "s", "better": "lower", "samples": [], "batch": 1}}},
            "metrics.a",
        ),
        ({"metrics": {"a": {"unit": "s", "better": "up", "samples": [1.0], "batch": 1}}}, "better"),
        ({"metrics": []}, "metrics"),
        ({"facts": {"flops": [1]}}, "facts.flops"),
        ({"conditions": {"load": float("nan")}}, "conditions.load"),
        ({"conditions": {"load": 10**400}}, "conditions.load"),
        ({"matrix": None}, "matrix"),
        ({"extra": 1}, "extra"),
        ({"machine": {"cpu": 1}}, "machine.cpu"),
    ],
)
def test_a_damaged_document_is_an_error_with_the_place(
    change: dict[str, object], place: str
) -> None:
    document = {**measured("f", 1.0).document(), **change}
    with pytest.raises(ValueError, match=place):
        Measured.of_document(document)
    with pytest.raises(ValueError, match="the document is not an object"):
        Measured.of_document([document])


def test_rates_are_counts_per_second() -> None:
    rates = rate_metrics(Metric("s", "lower", (0.5, 0.25), 3), {"flops": 10, "io_bytes": None})
    assert {name: rate.samples for name, rate in rates.items()} == {
        "throughput": (2.0, 4.0),
        "flop-rate": (20.0, 40.0),
    }
    assert {rate.better for rate in rates.values()} == {"neither"}
