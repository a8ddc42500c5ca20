"""The page of a profile: a flame graph and tables, in one file without external resources.

`measured` returns the part that the page of a build contains.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

import olympus
from olympus.analysis import KernelProfile
from olympus_cli.profile.profiled import ProfiledProgram
from olympus_cli.profile.table import call_figures, notes
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.charts.bars import percent, source_text
from olympus_cli.reports.flame import FlamePart, Frame, Placed, add_up, flame_graph
from olympus_cli.reports.groups import groups, plain_name
from olympus_cli.reports.html.page import MeasuredTime
from olympus_cli.reports.html.shell import shell, shell_environment
from olympus_cli.reports.relative_paths import relative
from olympus_cli.text.units import duration

_MAX = 500  # rows of a table; more make the page slow to open
_MAX_DEPTH = 40  # nested scopes with separate frames


def render_profile(program: ProfiledProgram, root: Path) -> str:
    """Return the text of the file; the same profile and sources give the same text.

    Example:
      >>> Path("forward.html").write_text(render_profile(program, spec.root), encoding="utf-8")
    """
    kernels = program.profile.kernels
    text = (
        _environment()
        .get_template("profile.html")
        .render(
            program=program,
            summary=call_figures(program.profile),
            notes=[*notes(program.profile)],
            graph=time_graph(kernels),
            rows=program.rows[:_MAX],
            kernels=_groups(kernels[:_MAX]),
            omitted=max(0, len(kernels) - _MAX),
            shell=shell(),
            source=lambda key: source_text(key, root),
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # for lone surrogates


def measured(program: Program, unit: Unit) -> MeasuredTime:
    """Measure the calls of a compiled program for the page; the program must be for the CPU.

    Raises the errors of `olympus.analysis.profile`.
    """
    spec = program.spec
    ready = Runnable(unit.compiled, program.arguments, program.results)
    args, kwargs = ready.bind(InputOptions().of(spec).arrays(program.arguments))
    profile = olympus.analysis.profile(unit.compiled, args, kwargs)
    profile = relative(profile, spec.root)
    return MeasuredTime(
        tuple(call_figures(profile)), tuple(notes(profile)), time_graph(profile.kernels)
    )


def _groups(kernels: Sequence[KernelProfile]) -> list[list[KernelProfile]]:
    """Return groups of kernels with one name, operation, line, scope and bound, slowest first."""

    def key(kernel: KernelProfile) -> Hashable:
        line = kernel.line, kernel.scope, kernel.backward
        return plain_name(kernel.name), kernel.operation, line, kernel.bound, kernel.is_overhead

    return sorted(groups(kernels, key), key=lambda group: -sum(kernel.seconds for kernel in group))


def time_graph(kernels: Sequence[KernelProfile]) -> Markup:
    """Return the flame graph of a call; the width of a frame is its time."""
    legend = (
        "One call, its scopes, their source lines, and the kernels at the top; point at a frame "
        "for its figures."
    )
    description = (
        "Flame graph: the time of one call, by scope, source line and kernel. The tables below "
        "have the same figures."
    )
    return flame_graph(time_frames(kernels), legend, description, _text)


def time_frames(kernels: Sequence[KernelProfile]) -> Frame:
    """Return the frame of a call, with nested frames of scopes, source lines and kernels."""
    return add_up("one call", map(_part, kernels))


def _part(kernel: KernelProfile) -> FlamePart:
    backward = kernel.seconds if kernel.backward else 0.0
    if kernel.is_overhead:
        frames: tuple[tuple[str, str], ...] = (("overhead", kernel.name),)
    else:
        scopes = filter(None, kernel.scope.split("/", _MAX_DEPTH))
        line = kernel.line or "(unknown)"
        name = plain_name(kernel.name)
        frames = (*(("scope", scope) for scope in scopes), ("line", line), ("kernel", name))
    return FlamePart(frames, kernel.seconds, backward, kernel.estimated)


def _text(shown: Placed, is_whole: bool) -> str:
    """Return the text that is shown when the pointer is over a frame."""
    frame = shown.frame
    words = [frame.name, f"{duration(frame.value)} ({percent(shown.width / 100)})"]
    if frame.other is not None:
        words.append(f"estimated {duration(frame.other)}")
    if 0 < frame.backward < frame.value and not is_whole:
        words.append(f"{percent(frame.backward / frame.value)} backward")
    return ", ".join(words)


@cache
def _environment() -> Environment:
    environment = shell_environment("olympus_cli.profile")
    environment.filters.update(time=duration, percent=percent, plain_name=plain_name)
    return environment
