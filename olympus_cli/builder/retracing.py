"""A second trace of a program that changed: does the function give the same program twice?

A function that draws from Python's `random`, reads the clock or counts its calls gives another
program on every trace, so that its target is never up to date and never its golden program.  The
check costs one more trace.  A build makes it only if it compiles a program that differs from that
of the build before, and `olympus check` if a golden program differs or is saved.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout

import olympus
from olympus.analysis import Change, compare, graph_of
from olympus.errors import OlympusError
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.changes import change_place, change_words

__all__ = ["change_between_traces", "difference_of_traces"]


def difference_of_traces(
    program: Program, label: str, effect: str = "it is built every time"
) -> str | None:
    """A warning with the first operation that differs in a second trace; None if none does.

    `effect` is the consequence that the warning names.
    """
    change = change_between_traces(program, label)
    if change is None:
        return None
    place = change_place(change, program.spec.root)
    return (
        f"{place}{': ' if place else ''}the program differs on every trace, so that {effect}: "
        f"{change_words(change)}"
    )


def change_between_traces(program: Program, label: str) -> Change | None:
    """The first change between the program and a second trace of it; None if they are equal."""
    unit = next(each for each in program.units if each.label == label)
    again = _traced_again(program, label)
    if again is None or again.stablehlo == unit.stablehlo:
        return None
    changes = compare(graph_of(unit.lowered.module), graph_of(again.lowered.module)).changes
    return changes[0] if changes else None  # none: another order of independent operations


def _traced_again(program: Program, label: str) -> Unit | None:
    """The program of a second trace, without what it prints; None if that fails."""
    olympus.clear_caches()  # else functions under `jit` are not traced again
    other = Program(program.source)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            other.trace()
            other.lower([label])
    except OlympusError:
        return None
    return other.units[0]
