"""The reasons for changes of figures: changes of programs, and of the tools' versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from olympus.analysis import graph_of, read_module, structural_fingerprint
from olympus.errors import ArtifactError
from olympus_cli.diff.comparing import SideProgram, compared
from olympus_cli.diff.comparison import Comparison, value_changes
from olympus_cli.history.points import Point
from olympus_cli.history.series import ChangeReason, Line, same_program
from olympus_cli.history.store import program_digests, read_programs
from olympus_cli.workers.call import OnStage, call

_MAX = 20  # the latest changes of a line, whose programs are compared

Pair = tuple[Point, Point]


def reasons_of_changes(path: Path, lines: Sequence[Line]) -> tuple[tuple[ChangeReason, ...], ...]:
    """Return the known reasons for each change of each line.

    Raises:
        ArtifactError: the history is damaged.
    """
    every = [_pairs(line) for line in lines]
    looked_at = [pair for pairs in every for pair in pairs[-_MAX:] if _differ(pair)]
    comparisons = _compared(path, looked_at) if looked_at else []
    differences = {
        id(pair): comparison for pair, comparison in zip(looked_at, comparisons, strict=True)
    }
    return tuple(
        tuple(_reason(pair, differences.get(id(pair))) for pair in pairs) for pairs in every
    )


def _pairs(line: Line) -> list[Pair]:
    """Return the points before and after each change."""
    return [(line.before(change), line.points[change.index]) for change in line.changes]


def _differ(pair: Pair) -> bool:
    return same_program(pair[0].figure, pair[1].figure) is False


def _reason(pair: Pair, difference: Comparison | None) -> ChangeReason:
    same = same_program(pair[0].figure, pair[1].figure)
    if difference is not None and not difference.changes:
        same, difference = True, None
    one, other = pair[0].run.versions, pair[1].run.versions
    return ChangeReason(
        "unknown" if same is None else "same" if same else "changed",
        value_changes(one, other, one.keys() | other.keys()),
        difference,
    )


def _compared(path: Path, pairs: Sequence[Pair]) -> list[Comparison | None]:
    """Return the comparison of each pair's programs; None if one is not stored or readable."""
    wanted = [[_wanted(path, point) for point in pair] for pair in pairs]
    digests = [
        digest for pair in wanted for wanted_program in pair for digest in wanted_program["digests"]
    ]
    programs = {
        digest: [program.stablehlo, program.sources]
        for digest, program in read_programs(path, digests).items()
    }
    try:
        comparisons: list[dict[str, Any] | None] = call(
            compare_all,
            programs,
            wanted,
            action="compares programs",
            quiet=True,
            death=ArtifactError,
        )
    except ArtifactError:  # a stored program crashes the compiler's parser
        return [None] * len(pairs)
    return [None if data is None else Comparison.from_data(data) for data in comparisons]


def _wanted(path: Path, point: Point) -> dict[str, Any]:
    """Return the search key for the program of a point: its digest, or else its fingerprint."""
    figure = point.figure
    known = [figure.program] if figure.program else []
    return {
        "label": point.run.label,
        "digests": known or program_digests(path, figure.target, figure.backend),
        "fingerprint": None if known else figure.fingerprint,
    }


def compare_all(
    on_stage: OnStage,
    programs: Mapping[str, Sequence[Any]],
    wanted: Sequence[Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any] | None]:
    """Return the comparisons of pairs of programs as plain data, in the process that reads them.

    `programs` are StableHLO and sources by digest; `wanted` has the search key of each side of each
    pair.
    """

    @cache
    def fingerprint(digest: str) -> str | None:
        try:
            return structural_fingerprint(graph_of(read_module(programs[digest][0], "it")))
        except ArtifactError:
            return None

    def side(program: Mapping[str, Any]) -> SideProgram | None:
        name, stored = program["fingerprint"], [d for d in program["digests"] if d in programs]
        digest = next((d for d in stored if name is None or fingerprint(d) == name), None)
        if digest is None:
            return None
        stablehlo, sources = programs[digest]
        return SideProgram(program["label"], "history", stablehlo, sources)

    def comparison(pair: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        before, after = map(side, pair)
        if before is None or after is None:
            return None
        try:
            return compared(on_stage, before, after)
        except ArtifactError:  # this version of the compiler does not read its dialects
            return None

    return [comparison(pair) for pair in wanted]
