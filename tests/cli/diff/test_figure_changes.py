"""Changes of figures and of the cost of lines in `olympus diff`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from olympus.analysis import CostRow
from olympus_cli.diff.comparison import ComparedSide, Comparison
from olympus_cli.diff.figure_changes import figure_changes, figure_text
from olympus_cli.diff.html import render_diff_page
from olympus_cli.diff.lines import line_changes
from olympus_cli.diff.text import render_comparison
from tests.cli.conftest import Invoke
from tests.cli.diff.project import build, document, edit


@pytest.mark.usefixtures("built")
def test_different_versions_are_reported_and_no_difference(work: Path, invoke: Invoke) -> None:
    build_folder = work / "build" / "forward"
    report = json.loads((build_folder / "report.json").read_text())
    report["versions"]["jaxlib"] = "0.0.1"
    (build_folder / "report.json").write_text(json.dumps(report))
    result = invoke("diff", "forward")
    assert result.exit_code == 0
    assert "  jaxlib: 0.0.1 -> " in result.stdout


@pytest.mark.usefixtures("built")
def test_the_figures_of_two_builds_are_compared(work: Path, invoke: Invoke) -> None:
    shutil.copytree(work / "build", work / "old")
    edit(work, "y.sum()", "(y @ y.T).sum()")
    build(invoke, "forward")
    result = invoke("diff", "old/forward", "build/forward", "--json")
    names = {figure["name"] for figure in document(result)["figures"]}
    assert "flops" in names
    assert "estimated-time" in names
    text = invoke("diff", "old/forward", "build/forward").stdout
    assert "\nfigures\n" in text and "%)" in text


@pytest.mark.usefixtures("built")
def test_moved_lines_are_matched_and_higher_costs_reported(work: Path, invoke: Invoke) -> None:
    shutil.copytree(work / "build", work / "old")
    edit(work, "    return {", "\n    z = y @ y.T\n    y = y + z.sum()\n    return {")
    for second in ("forward", "build/forward"):
        if "/" in second:
            build(invoke, "forward")
        result = invoke("diff", "old/forward", second, "--json", "--html", "page.html")
        product, addition = document(result)["lines"]
        assert (product["before"], product["after"]["line"]) == (None, "net.py:9")
        assert product["after"]["flops"] == 2 * 8 * 8 * 4
        assert (addition["before"], addition["after"]["line"]) == (None, "net.py:10")
        text = invoke("diff", "old/forward", second).stdout
        assert "cost by line\n  net.py:9  z = y @ y.T\n    flops 0 -> 512, bytes 0 B -> " in text
        page = (work / "page.html").read_text()
        assert "Cost by line" in page and "z = y @ y.T" in page
        assert "net.py:11" not in text


def test_lines_without_text_are_matched_by_number() -> None:
    def row(key: str, flops: int) -> CostRow:
        return CostRow(key, flops, 0, 0, 4, 1, 0, 0, 0, 0.5, "forward")

    first = [row("m.py:3", 8), row("m.py:4", 8), row("(unknown)", 5)]
    second = [row("m.py:3", 9), row("m.py:5", 80), row("(unknown)", 5)]
    changes = line_changes(first, second, ({("m.py", 4): "a"}, {("m.py", 5): "a"}))
    assert [
        (change.before and change.before.line, change.after and change.after.line, change.text)
        for change in changes
    ] == [
        ("m.py:4", "m.py:5", "a"),
        ("m.py:3", "m.py:3", None),
    ]


def test_figures_of_both_reports_are_compared() -> None:
    first = {
        "cost": {"flops": 1000, "bytes": 2048, "matmul_flops": {"float32": 800}},
        "memory": {"peak": 4096, "temporaries": None},
        "estimate": {"seconds": 0.002},
    }
    second = {
        "cost": {"flops": 1000, "bytes": 1024},
        "memory": {"peak": 2**20, "temporaries": 512},
        "estimate": None,
    }
    changes = figure_changes(first, second)
    assert [(change.name, change.ratio) for change in changes] == [
        ("bytes", 0.5),
        ("temporary-memory", None),
        ("peak-memory", 256.0),
        ("estimated-time", None),
    ]
    assert [figure_text(change) for change in changes] == [
        ("2.00 KiB", "1.00 KiB", "-50.0%"),
        ("unknown", "512 B", ""),
        ("4.00 KiB", "1.00 MiB", "256 times"),
        ("2.00 ms", "unknown", ""),
    ]


def test_figures_that_are_lower_bounds_have_no_ratio() -> None:
    def side(calls: int, loops: list[str], seconds: float) -> dict[str, Any]:
        row = {"axes": ["data"], "calls": calls, "bytes": 64 * calls, "loops": loops}
        return {
            "axes": [row],
            "estimate": {"seconds": seconds, "unknown": [f"the loop at {line}" for line in loops]},
        }

    changes = figure_changes(side(2, [], 1.0), side(1, ["m.py:3"], 0.5))
    assert [(change.name, *figure_text(change)) for change in changes] == [
        ("estimated-time", "1.00 s", "at least 500 ms", ""),
        ("collectives along data", "2", "at least 1", ""),
        ("bytes along data", "128 B", "at least 64 B", ""),
    ]
    assert {change.at_least for change in changes} == {("after",)}
    loop_changes = figure_changes(side(2, [], 1.0), side(4, [], 1.0))
    assert figure_text(loop_changes[0]) == ("2", "4", "+100.0%")


def test_memory_with_unknown_workspace_has_two_bounds_and_no_ratio() -> None:
    def side(workspace: int, peak: int) -> dict[str, Any]:
        memory = {"arguments": 64, "temporaries": peak, "peak": peak, "allocated": peak}
        return {"memory": {**memory, "workspace_bound": workspace}}

    changes = figure_changes(side(0, 2048), side(1024, 1024))
    assert [(change.name, *figure_text(change)) for change in changes] == [
        ("temporary-memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("peak-memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("allocated memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("bound on memory of kernels", "0 B", "1.00 KiB", ""),
    ]
    assert (changes[1].at_least, changes[1].at_most) == (("after",), {"after": 2048})
    exact = figure_changes(side(0, 2048), side(0, 1024))
    assert {(change.ratio, *change.at_least, *change.at_most) for change in exact} == {(0.5,)}
    wider = figure_changes(side(1024, 1024), side(3072, 1024))
    assert figure_text(wider[1])[1] == "at least 1.00 KiB, at most 4.00 KiB"


def test_the_bounds_of_memory_are_in_the_text_and_on_the_page() -> None:
    first, second = ({"memory": {"peak": 4096, "workspace_bound": size}} for size in (0, 4096))
    sides = tuple(ComparedSide(label, "file", "", 1, {}, {}) for label in "ab")
    comparison = Comparison(True, sides, (), (), (), figure_changes(first, second), (), ())
    bounds = "at least 4.00 KiB, at most 8.00 KiB"
    assert f"peak-memory                 4.00 KiB -> {bounds}" in render_comparison(comparison)
    assert bounds in render_diff_page(comparison)


@pytest.mark.usefixtures("built")
def test_a_report_of_an_older_olympus_omits_figures(work: Path, invoke: Invoke) -> None:
    (work / "build" / "forward" / "report.json").write_text('{"schema_version": 3, "x": []}')
    equal = invoke("diff", "forward")
    assert (equal.exit_code, equal.stdout) == (0, "")
    assert "has schema 3, of an older olympus" in equal.stderr
    assert "memory and time are not compared" in equal.stderr
    edit(work, "y * 2.0", "(y + 1.0) * 2.0")
    result = invoke("diff", "forward", "--json")
    assert result.exit_code == 1
    comparison = document(result)
    assert "flops" in {figure["name"] for figure in comparison["figures"]}
    assert len(comparison["notes"]) == 1
