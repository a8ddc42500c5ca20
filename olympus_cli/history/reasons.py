"""What changed in a program where a figure did, and in the versions of the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olympus.analysis import graph_of, read_module, structural_fingerprint
from olympus.errors import ArtifactError
from olympus_cli.comparison.comparing import compared
from olympus_cli.history.changepoints import Changepoint
from olympus_cli.history.model import Figure, Point, StoredProgram
from olympus_cli.history.series import Line, same_program
from olympus_cli.history.store import program_digests, read_programs
from olympus_cli.isolated.call import Say, call

__all__ = ["reasons_of"]

_MOST = 20  # changes of a line whose programs are compared, the latest


def reasons_of(path: Path, line: Line) -> tuple[dict[str, Any], ...]:
    """For each change of a line, what is known of its reasons, as JSON-like data.

    `program` is "changed", "same" or "unknown", `versions` are those of the tools that differ, and
    `difference` is the comparison of the programs as `olympus diff` makes it, or None where they
    are the same or are not stored.

    Raises:
        ArtifactError: the history is damaged.
    """
    told = line.changes[-_MOST:]
    skipped = len(line.changes) - len(told)
    return tuple(
        _reason(path, line, change, compares=number >= skipped)
        for number, change in enumerate(line.changes)
    )


def _reason(path: Path, line: Line, change: Changepoint, *, compares: bool) -> dict[str, Any]:
    before, after = line.points[change.index - 1], line.points[change.index]
    same = same_program(before.figure, after.figure)
    difference = None
    if same is False and compares:
        difference = _difference(path, before, after)
        same = difference is not None and not difference["changes"]
    return {
        "program": "unknown" if same is None else "same" if same else "changed",
        "versions": _versions(before.run.versions, after.run.versions),
        "difference": difference if difference and difference["changes"] else None,
    }


def _versions(one: Mapping[str, str], other: Mapping[str, str]) -> list[dict[str, str | None]]:
    return [
        {"name": name, "before": one.get(name), "after": other.get(name)}
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


def _difference(path: Path, before: Point, after: Point) -> dict[str, Any] | None:
    """The comparison of two programs; None where one is not stored, or cannot be read any more."""
    programs = [_stored(path, each.figure) for each in (before, after)]
    if programs[0] is None or programs[1] is None:
        return None
    sides = [
        _side(program, point.run.label)
        for program, point in zip(programs, (before, after), strict=True)
        if program is not None
    ]
    try:
        found: dict[str, Any] = call(
            compared, *sides, does="compares the programs", quiet=True, death=ArtifactError
        )
    except ArtifactError:  # of dialects that this version of the compiler does not read
        return None
    return found


def _side(program: StoredProgram, label: str) -> dict[str, Any]:
    return {
        "label": label,
        "kind": "history",
        "program": program.stablehlo,
        "sources": program.sources,
        "file": None,
        "arguments": [],
        "options": {},
        "versions": {},
        "report": None,
    }


def _stored(path: Path, figure: Figure) -> StoredProgram | None:
    """The program of a figure, by its digest or by its fingerprint; None where it is not stored."""
    if figure.program is not None:
        return read_programs(path, [figure.program]).get(figure.program)
    digests = program_digests(path, figure.target, figure.backend)
    programs = list(read_programs(path, digests).values())
    texts = [program.stablehlo for program in programs]
    known = call(identified, texts, does="reads programs", quiet=True, death=ArtifactError)
    found = zip(programs, known, strict=True)
    return next((program for program, name in found if name == figure.fingerprint), None)


def identified(say: Say, programs: Sequence[bytes]) -> list[str | None]:
    """The structural fingerprints of programs; None for one that cannot be read."""
    say("read")
    return [_fingerprint(program) for program in programs]


def _fingerprint(program: bytes) -> str | None:
    try:
        return structural_fingerprint(graph_of(read_module(program, "it")))
    except ArtifactError:
        return None
