"""Plots of figures as text and SVG, with escaped names."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from olympus_cli.reports.charts.axis import axis_of, plain_number
from olympus_cli.reports.charts.plot import Plot, PlotMark, Series
from olympus_cli.text.units import duration

NAMES = {"title": "calls", "x": "run", "y": "time"}
STEP = Series("a", list(range(20)), [1.0] * 10 + [2.0] * 10)
SVG = "{http://www.w3.org/2000/svg}"


def field(text: str, height: int) -> list[str]:
    """The lines with points, from the axis on."""
    lines = text.splitlines()[2 : 2 + height]
    margin = next(line.index("|") for line in lines if "|" in line)
    return [line[margin + 1 :] for line in lines]


def test_a_step_goes_from_the_lowest_to_the_highest_line() -> None:
    rows = field(Plot([STEP], **NAMES, y_text=duration).text(height=9, only_ascii=True), 9)
    marked = [number for number, row in enumerate(rows) if "o" in row]
    assert [rows[number].count("o") for number in marked] == [10, 10]
    assert rows[marked[0]].find("o") > rows[marked[1]].rfind("o")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_width(width: int) -> None:
    text = Plot([STEP], **NAMES, y_text=duration).text(width)
    assert max(map(len, text.splitlines())) <= width


def test_only_ascii_is_used_if_requested() -> None:
    plot = Plot([STEP], **NAMES, marks=[PlotMark(10, "1a2b3c4")]).text(only_ascii=True)
    assert plot.isascii()
    assert not Plot([STEP], **NAMES).text().isascii()
    assert "  1  1a2b3c4" in plot


def test_an_interval_is_drawn_from_end_to_end() -> None:
    points = Series("a", [1, 2], [5.0, 5.0], [1.0, None], [9.0, None])
    rows = field(Plot([points], **NAMES).text(height=9, only_ascii=True), 9)
    column = next(row.find("o") for row in rows if "o" in row)
    assert sum(row[column : column + 1] in (".", "o") for row in rows) >= 8


def test_each_series_has_its_symbol_and_its_name() -> None:
    second = Series("b", STEP.xs, [3.0] * 20)
    text = Plot([STEP, second], **NAMES).text(only_ascii=True)
    assert text.count("o") > 20
    assert text.count("x") > 20
    assert text.endswith("  o  a\n  x  b\n")


@pytest.mark.parametrize("values", [[], [math.nan, math.inf]])
def test_a_plot_without_values_has_a_message(values: list[float]) -> None:
    nothing = Series("a", range(len(values)), values)
    assert "no values" in Plot([nothing], **NAMES).text()
    assert "no values" in Plot([nothing], **NAMES).svg()


def test_values_without_a_logarithm_are_omitted() -> None:
    series = Series("a", [1, 10, 100], [0.0, 1.0, 10.0])
    assert Plot([series], **NAMES, log_x=True, log_y=True).svg().count("<circle") == 2


def test_ticks_are_round_and_have_one_label() -> None:
    axis = axis_of([0.0, 10.0], plain_number)
    assert axis is not None
    assert [text for _, text in axis.ticks(6)] == ["0", "2", "4", "6", "8", "10"]
    short = axis_of([16.0, 2048.0], plain_number, log=True)
    assert short is not None
    assert [text for _, text in short.ticks(8)] == ["20", "50", "100", "200", "500", "1000", "2000"]
    flat = axis_of([3.0, 3.0], lambda _value: "same")
    assert flat is not None
    assert len(flat.ticks(5)) == 1
    assert flat.place(3.0) == pytest.approx(0.5)


def test_the_svg_loads_nothing_and_has_each_point() -> None:
    text = Plot([STEP], **NAMES, y_text=duration, marks=[PlotMark(10, "1a2b3c4")]).svg()
    root = ElementTree.fromstring(text)
    assert len(root.findall(f"{SVG}circle")) == 20
    assert len(root.findall(f"{SVG}path[@class='mark']")) == 1
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "script" not in text
    assert "prefers" in text or "light-dark(" in text


def test_names_are_escaped() -> None:
    hostile = "<script>\x1b[31m&\n"
    points = Series(hostile, [1], [2], names=[hostile])
    plot = Plot([points, STEP], hostile, hostile, hostile, marks=[PlotMark(1, hostile)])
    text = plot.svg()
    assert "<script" not in text
    assert "\x1b" not in text
    ElementTree.fromstring(text)
    assert "\x1b" not in plot.text()


def test_the_same_figures_give_the_same_bytes() -> None:
    assert Plot([STEP], **NAMES).svg() == Plot([STEP], **NAMES).svg()
