"""What `olympus diff` tells of figures and of the cost of lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from olympus.analysis import CostRow
from olympus_cli.diff.figure_changes import figure_changes, figure_text
from olympus_cli.diff.html import render_diff_page
from olympus_cli.diff.lines import line_changes
from olympus_cli.diff.text import render_comparison
from tests.cli.conftest import Invoke
from tests.cli.diff.project import build, document, edit


@pytest.mark.usefixtures("built")
def test_versions_alone_are_told_and_are_no_difference(work: Path, invoke: Invoke) -> None:
    build_folder = work / "build" / "forward"
    report = json.loads((build_folder / "report.json").read_text())
    report["versions"]["jaxlib"] = "0.0.1"
    (build_folder / "report.json").write_text(json.dumps(report))
    result = invoke("diff", "forward")
    assert result.exit_code == 0
    assert "  jaxlib: 0.0.1 -> " in result.stdout


@pytest.mark.usefixtures("built")
def test_builds_are_compared_by_the_figures_of_their_reports(work: Path, invoke: Invoke) -> None:
    shutil.copytree(work / "build", work / "old")
    edit(work, "y.sum()", "(y @ y.T).sum()")
    build(invoke, "forward")
    result = invoke("diff", "old/forward", "build/forward", "--json")
    names = {each["name"] for each in document(result)["figures"]}
    assert "flops" in names
    assert "estimated-time" in names
    text = invoke("diff", "old/forward", "build/forward").stdout
    assert "\nfigures\n" in text and "%)" in text


@pytest.mark.usefixtures("built")
def test_lines_that_moved_are_matched_and_the_costlier_told(work: Path, invoke: Invoke) -> None:
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


def test_lines_without_texts_are_matched_by_their_numbers() -> None:
    def row(key: str, flops: int) -> CostRow:
        return CostRow(key, flops, 0, 0, 4, 1, 0, 0, 0, 0.5, "forward")

    one = [row("m.py:3", 8), row("m.py:4", 8), row("(unknown)", 5)]
    two = [row("m.py:3", 9), row("m.py:5", 80), row("(unknown)", 5)]
    found = line_changes(one, two, ({("m.py", 4): "a"}, {("m.py", 5): "a"}))
    assert [(c["before"]["line"], c["after"]["line"], c["text"]) for c in found] == [
        ("m.py:4", "m.py:5", "a"),
        ("m.py:3", "m.py:3", None),
    ]


def test_figures_are_those_that_both_reports_have() -> None:
    one = {
        "cost": {"flops": 1000, "bytes": 2048, "matmul_flops": {"float32": 800}},
        "memory": {"peak": 4096, "temporaries": None},
        "estimate": {"seconds": 0.002},
    }
    two = {
        "cost": {"flops": 1000, "bytes": 1024},
        "memory": {"peak": 2**20, "temporaries": 512},
        "estimate": None,
    }
    found = figure_changes(one, two)
    assert [(each["name"], each["ratio"]) for each in found] == [
        ("bytes", 0.5),
        ("temporary-memory", None),
        ("peak-memory", 256.0),
        ("estimated-time", None),
    ]
    assert [figure_text(each) for each in found] == [
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

    found = figure_changes(side(2, [], 1.0), side(1, ["m.py:3"], 0.5))
    assert [(each["name"], *figure_text(each)) for each in found] == [
        ("estimated-time", "1.00 s", "at least 500 ms", ""),
        ("collectives along data", "2", "at least 1", ""),
        ("bytes along data", "128 B", "at least 64 B", ""),
    ]
    assert {tuple(each["at_least"]) for each in found} == {("after",)}
    told = figure_changes(side(2, [], 1.0), side(4, [], 1.0))
    assert figure_text(told[0]) == ("2", "4", "+100.0%")


def test_memory_that_kernels_add_to_has_two_bounds_and_no_ratio() -> None:
    def side(workspace: int, peak: int) -> dict[str, Any]:
        memory = {"arguments": 64, "temporaries": peak, "peak": peak, "allocated": peak}
        return {"memory": {**memory, "workspace_bound": workspace}}

    found = figure_changes(side(0, 2048), side(1024, 1024))
    assert [(each["name"], *figure_text(each)) for each in found] == [
        ("temporary-memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("peak-memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("allocated memory", "2.00 KiB", "at least 1.00 KiB, at most 2.00 KiB", ""),
        ("bound on memory of kernels", "0 B", "1.00 KiB", ""),
    ]
    assert (found[1]["at_least"], found[1]["at_most"]) == (["after"], {"after": 2048})
    exact = figure_changes(side(0, 2048), side(0, 1024))
    assert {(each["ratio"], *each["at_least"], *each["at_most"]) for each in exact} == {(0.5,)}
    wider = figure_changes(side(1024, 1024), side(3072, 1024))
    assert figure_text(wider[1])[1] == "at least 1.00 KiB, at most 4.00 KiB"


def test_the_bounds_of_memory_are_in_the_text_and_on_the_page() -> None:
    one, two = ({"memory": {"peak": 4096, "workspace_bound": size}} for size in (0, 4096))
    sides = [{"label": label, "fingerprint": "", "operations": 1} for label in "ab"]
    empty = {key: [] for key in ("changes", "options", "versions", "lines", "notes")}
    found = {**empty, "equal": True, "sides": sides, "figures": figure_changes(one, two)}
    bounds = "at least 4.00 KiB, at most 8.00 KiB"
    assert f"peak-memory                 4.00 KiB -> {bounds}" in render_comparison(found)
    assert bounds in render_diff_page(found)


@pytest.mark.usefixtures("built")
def test_a_report_of_an_older_olympus_leaves_its_figures_out(work: Path, invoke: Invoke) -> None:
    (work / "build" / "forward" / "report.json").write_text('{"schema_version": 3, "x": []}')
    same = invoke("diff", "forward")
    assert (same.exit_code, same.stdout) == (0, "")
    assert "has schema 3, of an older olympus" in same.stderr
    assert "memory and time are not compared" in same.stderr
    edit(work, "y * 2.0", "(y + 1.0) * 2.0")
    result = invoke("diff", "forward", "--json")
    assert result.exit_code == 1
    found = document(result)
    assert "flops" in {each["name"] for each in found["figures"]}
    assert len(found["notes"]) == 1
