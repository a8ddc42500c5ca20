"""The cost of an equation as a picture. In: Results of scaling tasks. Out: a file of charts.

It needs matplotlib, which nothing else here does: the import waits until something is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measure import Results
from benchmarks.scaling import SCALING, STAGES
from olympus_cli.bench.statistics import summarize

COLORS = ("tab:blue", "tab:orange")
LINES = ("-", "--")


def is_available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(results: Results, path: Path) -> None:
    """Write a chart for each scaling task in `results`; the suffix of `path` says which format.

    Raises ValueError for a suffix that matplotlib does not know.
    """
    import matplotlib
    from matplotlib.figure import Figure

    tasks = [task for task in SCALING if task in results.samples]
    figure = Figure(figsize=(5.5 * len(tasks), 4), layout="constrained")
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        chart(axes, task, results)
    with matplotlib.rc_context(
        {"svg.hashsalt": "olympus", "svg.fonttype": "none"}
    ):  # the same results, the same bytes
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def chart(axes: Any, task: str, results: Results) -> None:
    """Processor time of an equation over their number: a line for each side and stage."""
    for stage, line in zip(STAGES, LINES, strict=True):
        for side, (name, color) in enumerate(zip(("olympus", "jax"), COLORS, strict=True)):
            x, y = zip(*curve(results, task, stage, side), strict=True)
            axes.plot(x, y, line, color=color, marker="o", label=f"{name}: {stage}")
    axes.set(title=SCALING[task].title, xlabel="equations", ylabel="µs an equation", xscale="log")
    axes.margins(y=0.3)  # room for the legend, which would hide a line
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper center", ncols=2)


def curve(results: Results, task: str, stage: str, side: int) -> list[tuple[int, float]]:
    """(equations, microseconds an equation) of one side, by size."""
    return [
        (int(measure.split("/")[1]), 1e6 * summarize(samples[side]).median)
        for measure, samples in results.samples[task].items()
        if measure.startswith(f"{stage}/")
    ]
