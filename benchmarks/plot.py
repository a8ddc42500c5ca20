"""Charts of the results of scaling and depth tasks, in one file.

Only this module needs matplotlib, and imports it to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.deep import SIDES
from benchmarks.measure import Results
from benchmarks.scaling import SCALING, STAGES
from benchmarks.whole_report import MEASURES, compare
from olympus_cli.bench.statistics import summarize

COLORS = {"olympus": "tab:blue", "jax": "tab:orange", "scan": "tab:green"}
LINES = ("-", "--")
DEPTHS = {"forward": "GPT forward", "step": "GPT training step"}  # kind of task -> title
ACROSS = 2  # charts side by side


def is_available() -> bool:
    """Return True if matplotlib is installed."""
    return find_spec("matplotlib") is not None


def is_drawn(task: str) -> bool:
    """Return True if a chart shows the task."""
    return task in SCALING or task.partition("/")[0] in DEPTHS


def draw(results: Results, path: Path) -> None:
    """Write a chart for each scaling task in `results`, and two for each program of depth tasks.

    The suffix of `path` is the format. Raises ValueError if matplotlib does not know it.
    """
    import matplotlib
    from matplotlib.figure import Figure

    charts = list(charts_of(results))
    across = min(ACROSS, len(charts))
    down = -(-len(charts) // across)
    figure = Figure(figsize=(5.5 * across, 4 * down), layout="constrained")
    places = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, chart in zip(places, charts, strict=False):
        chart(axes)
    for axes in places[len(charts) :]:
        axes.set_axis_off()
    with matplotlib.rc_context(
        {"svg.hashsalt": "olympus", "svg.fonttype": "none"}
    ):  # equal results give equal bytes
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def charts_of(results: Results) -> Iterator[Callable[[Any], None]]:
    """Yield the function that draws each chart on its axes."""
    for task in SCALING:
        if task in results.samples:
            yield partial(scaling_chart, task=task, results=results)
    for program in dict.fromkeys(task.rpartition("/")[0] for task in results.samples):
        if program.partition("/")[0] in DEPTHS:
            for measure in ("compile", "run"):
                yield partial(depth_chart, program=program, measure=measure, results=results)


def scaling_chart(axes: Any, task: str, results: Results) -> None:
    """Draw the processor time of an equation over their number, for each side and stage."""
    for stage, line in zip(STAGES, LINES, strict=True):
        for side in ("olympus", "jax"):
            x, y = zip(*curve(results, task, stage, side), strict=True)
            label = f"{SIDES[side][1]}: {stage}"
            axes.plot(x, y, line, color=COLORS[side], marker="o", label=label)
    axes.set(title=SCALING[task].title, xlabel="equations", ylabel="µs an equation", xscale="log")
    axes.margins(y=0.3)  # space for the legend, which would cover a line
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper center", ncols=2)


def curve(results: Results, task: str, stage: str, side: str) -> list[tuple[int, float]]:
    """Return the points of one side: the number of equations, microseconds of an equation."""
    return [
        (int(measure.split("/")[1]), 1e6 * summarize(samples[side]).median)
        for measure, samples in results.samples[task].items()
        if measure.startswith(f"{stage}/")
    ]


def depth_chart(axes: Any, program: str, measure: str, results: Results) -> None:
    """Draw a measure over the number of layers, for each side; a triangle marks a limit.

    Both axes are logarithmic, so the slope of a line is the exponent of its growth.
    """
    kind, width = program.split("/")
    unit = MEASURES[measure][1][1]
    layers: set[int] = set()
    for side, color in COLORS.items():
        points = depth_curve(results, program, measure, side)
        if points:
            axes.plot(*zip(*[point[:2] for point in points], strict=True), color=color,
                      label=SIDES[side][1])  # fmt: skip
        for count, value, is_limit in points:
            axes.plot(count, value, marker="^" if is_limit else "o", color=color)
            layers.add(count)
            if is_limit:
                axes.annotate(f"> {value:g} {unit}  ", (count, value), ha="right", va="center")
    axes.set(
        title=f"{DEPTHS[kind]} of width {width}: {measure}", xlabel="layers", ylabel=unit,
        xscale="log", yscale="log",
    )  # fmt: skip
    axes.margins(y=0.25)  # space for the legend
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.grid(axis="y", alpha=0.3)
    axes.set_xticks(sorted(layers), labels=[str(count) for count in sorted(layers)])
    axes.legend(loc="upper left")


def depth_curve(
    results: Results, program: str, measure: str, side: str
) -> list[tuple[int, float, bool]]:
    """Return the points of one side by layers: layers, median or limit, True for a limit."""
    points = []
    for task in results.samples:
        if task.rpartition("/")[0] == program:
            line, layers = compare(results, task, measure), int(task.rpartition("/")[2])
            if limit := line.ended.get(side):
                points.append((layers, limit, True))
            elif side in line.sides:
                points.append((layers, line.sides[side].median, False))
    return sorted(points)
