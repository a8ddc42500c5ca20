"""The record of the last build, and the reason to build that it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus.analysis import CostFigures
from olympus.stages import MemoryAnalysis
from olympus_cli.builder.reasons import reasons_text
from olympus_cli.builder.record import Record, read_record, reasons_to_build
from olympus_cli.reports.build_report import (
    BackendReport,
    Report,
    ResultOrigin,
    Seconds,
    XlaCost,
    XlaReport,
)
from olympus_cli.reports.program_figures import CostReport, MemoryReport


def reported(**keys: str) -> Report:
    """The report of a build that had `keys` for its backends."""
    counts = dict.fromkeys(CostFigures.__dataclass_fields__)
    cost = CostReport(**counts, at_least=CostFigures(**counts), unknown=(), lines=())
    memory = MemoryReport(*8 * [None], largest=())
    xla = XlaReport(XlaCost(None, None, None), MemoryAnalysis(*6 * [None]))
    times, origin = (0.0, 0.0, 0.0), ResultOrigin("compiled", None, None)
    backends = [
        BackendReport(
            memory, None, None, label, label, None, key, cost, xla, *times, {}, (), origin
        )
        for label, key in keys.items()
    ]
    seconds = Seconds(*8 * [0.0])
    return Report("t", "m:f", {}, {}, (), (), "default", seconds, None, {}, tuple(backends), (), ())


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (None, "it has not been built before"),
        (Record(reported(cpu="a")), ""),
        (Record(reported(cpu="b")), "the program, or what compiles it, has changed"),
        (Record(reported()), "it has not been built for cpu before"),
        (Record(reported(cpu="a", gpu="c")), "it is no longer built for gpu"),
        (Record(reported(cpu="a"), ("f",)), "f is missing or has been changed"),
        (Record(trouble="report.json is empty"), "report.json is empty"),
    ],
)
def test_the_reasons_to_build(record: Record | None, reason: str) -> None:
    assert reasons_text(reasons_to_build(record, {"cpu": "a"})) == reason


def test_a_backend_without_a_compiler_is_no_reason_to_build() -> None:
    record = Record(reported(cpu="a", gpu="c"))
    assert not reasons_to_build(record, {"cpu": "a"}, {"gpu"})
    assert reasons_to_build(record, {"cpu": "b"}, {"gpu"})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"backends": [{"label": "cpu"}]}'])
def test_an_unreadable_report_is_a_reason_to_build(text: str, tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    (tmp_path / "report.json").write_text(text)
    record = read_record(tmp_path)
    assert record is not None
    assert "report.json" in reasons_text(reasons_to_build(record, {}))
