"""A profile as a page: a flame graph and the tables, in one file without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from olympus_cli.profiling.flame import Placed, drawn, flame
from olympus_cli.profiling.report import ProfiledKernel, ProfileReport
from olympus_cli.profiling.table import notes, summary
from olympus_cli.reports.bars import percent, source_text
from olympus_cli.reports.html.render import asset
from olympus_cli.units import duration
from olympus_cli.visible import visible

__all__ = ["flame_graph", "render_profile"]

_MOST = 500  # rows of a table; more make the page slow to open
_ROW = 21  # pixels from one row of frames to the next


def render_profile(report: ProfileReport, root: Path) -> str:
    """The text of the file; the same profile and sources give the same text.

    Example:
      >>> Path("forward.html").write_text(render_profile(report, spec.root), encoding="utf-8")
    """
    text = (
        _environment()
        .get_template("profile.html")
        .render(
            report=report,
            summary=summary(report),
            notes=[*notes(report)],
            graph=flame_graph(report.kernels),
            rows=report.rows[:_MOST],
            kernels=report.kernels[:_MOST],
            omitted=max(0, len(report.kernels) - _MOST),
            style=Markup(asset("report.css")),
            source=lambda key: source_text(key, root),
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of surrogate pairs


def flame_graph(kernels: Sequence[ProfiledKernel]) -> Markup:
    """The drawing: frames as wide as the time they took, on top of what they are part of."""
    frames = drawn(flame(kernels))
    rows = max((shown.depth for shown in frames), default=0) + 1
    made = _environment().get_template("flame.html")
    return Markup(made.render(frames=frames, row=_ROW, height=rows * _ROW, label=_label))


def _label(shown: Placed, whole: Placed) -> str:
    """What is told of a frame where it is pointed at."""
    frame = shown.frame
    words = [frame.name, f"{duration(frame.seconds)} ({percent(shown.width / 100)})"]
    if frame.estimated is not None:
        words.append(f"estimated {duration(frame.estimated)}")
    if 0 < frame.backward < frame.seconds and whole is not shown:
        words.append(f"{percent(frame.backward / frame.seconds)} backward")
    return ", ".join(words)


def _shown(value: Any) -> Any:
    """What a template writes: of text, what a browser shows and does not obey."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("olympus_cli.profiling"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(time=duration, percent=percent)
    return made
