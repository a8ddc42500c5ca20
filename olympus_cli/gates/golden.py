"""Whether a program is the one that is saved, operation by operation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olympus.analysis import Change, Difference, compare, graph_of, read_module
from olympus.errors import ArtifactError
from olympus_cli.gates.budget import Part, Verdict
from olympus_cli.gates.saved import program_path
from olympus_cli.places import shown
from olympus_cli.units import counted

__all__ = ["judge_golden"]

_MOST = 3  # changes that a verdict names
_DIGITS = 12  # of a fingerprint


def judge_golden(
    target: str, backend: str, module: Any, saved: bytes | None, root: Path
) -> Verdict:
    """Whether the StableHLO `module` does what the `saved` text does.

    Names of values, locations and the order of independent operations do not count.

    Raises:
        ArtifactError: the text is not a program.
    """
    graph = graph_of(module)
    if saved is None:
        why = "no golden program is saved: olympus check --update saves it"
        return Verdict(target, backend, "golden", "not saved", "the saved program", why)
    try:
        golden = graph_of(read_module(saved, "it"))
    except ArtifactError as error:
        path = shown(program_path(root, target, backend))
        raise ArtifactError(
            f"the golden program {path} of {target} is not StableHLO: {error}",
            hint=f"olympus check {target} --update saves it again, or git restore {path}",
        ) from error
    found = compare(golden, graph)
    before, after = (each[:_DIGITS] for each in found.fingerprints)
    if not found:
        return Verdict(target, backend, "golden", after, before)
    why = f"the program is not the golden one: {counted(len(found.changes), 'change')}"
    return Verdict(target, backend, "golden", after, before, why, tuple(_told(found, root)))


def _told(found: Difference, root: Path) -> Iterator[Part]:
    for change in found.changes[:_MOST]:
        yield _change(change, root)
    if (more := len(found.changes) - _MOST) > 0:
        yield Part("", f"... and {more} more: olympus diff shows them", more)


def _change(change: Change, root: Path) -> Part:
    """A change in a line, such as "tanh changed to sine" at model.py:6."""
    spot = change.after or change.before
    if spot is None:
        return Part("", f"the {change.role} {change.kind}")
    what = f"{spot.name} {change.kind}"
    if change.before and change.after and change.before.name != change.after.name:
        what = f"{change.before.name} {change.kind} to {change.after.name}"
    return Part(str(spot.place).removeprefix(f"{root}{os.sep}"), what)
