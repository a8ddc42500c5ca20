"""The comparison of two sides, after they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olympus.analysis import (
    Change,
    Graph,
    Place,
    SourceMap,
    Spot,
    compare,
    cost_of_module,
    graph_of,
    read_module,
)
from olympus.files import to_data, typed
from olympus_cli.diff.comparison import (
    ComparedChange,
    ComparedSide,
    ComparedSpot,
    Comparison,
    LineChange,
    SideKind,
    value_changes,
)
from olympus_cli.diff.figure_changes import figure_changes
from olympus_cli.diff.lines import line_changes
from olympus_cli.reports.build_report import REPORT_FORMS, BackendReport
from olympus_cli.reports.program_figures import CostReport
from olympus_cli.workers.call import OnStage


@dataclass(frozen=True)
class SideProgram:
    """The program of one side, as StableHLO, and its facts that are compared.

    `sources` is a map of source lines as bytes. `options` and `versions` are texts by name.
    `report` is the report of a build, `cost` the cost of a call by line, if it is known, and `file`
    the name of the program's own file. `notes` are sentences about missing data.
    """

    label: str
    kind: SideKind
    program: bytes
    sources: bytes | None = None
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    report: BackendReport | None = None
    cost: CostReport | None = None
    notes: tuple[str, ...] = ()
    file: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for another process."""
        data: dict[str, Any] = to_data(self, REPORT_FORMS)
        return data

    @staticmethod
    def from_data(data: object) -> SideProgram:
        """Return the side of `to_data`'s `data`."""
        side: SideProgram = typed(data, SideProgram, "side", REPORT_FORMS)
        return side


@dataclass(frozen=True)
class _Program:
    """The program of one side: its graph, and the texts of source lines by file and line."""

    module: Any
    graph: Graph
    texts: Mapping[tuple[str, int], str]

    def spot(self, spot: Spot | None) -> ComparedSpot | None:
        """Return an operation with its place, and the user's line if it is known."""
        if spot is None:
            return None
        place = spot.place
        text = self.texts.get((place.file, place.line), "")
        return ComparedSpot(
            spot.name,
            spot.types,
            place.file or None,
            place.line or None,
            place.scope,
            text or None,
            spot.operations,
        )


def compared(on_stage: OnStage, one: SideProgram, other: SideProgram) -> dict[str, Any]:
    """Compare two sides; return the `Comparison` as plain data, for another process.

    Raises:
        ArtifactError: a program is not StableHLO.
    """
    on_stage("compare")
    programs = _program(one), _program(other)
    names = one.arguments, other.arguments
    difference = compare(programs[0].graph, programs[1].graph, names)
    options, versions = (
        value_changes(first, second, first.keys() & second.keys())
        for first, second in ((one.options, other.options), (one.versions, other.versions))
    )
    same = difference.fingerprints[0] == difference.fingerprints[1]
    return Comparison(
        equal=not difference.changes and not options,
        sides=tuple(
            ComparedSide(side.label, side.kind, fingerprint, size, side.options, side.versions)
            for side, fingerprint, size in zip(
                (one, other), difference.fingerprints, difference.sizes, strict=True
            )
        ),
        changes=tuple(_change(change, programs) for change in difference.changes),
        options=options,
        versions=versions,
        figures=figure_changes(*_figures(one, other, programs, same)),
        lines=() if same else _lines(one, other, programs),
        notes=(*one.notes, *other.notes),
    ).to_data()


def check_side(on_stage: OnStage, side: SideProgram) -> None:
    """Read the program of one side and compute its cost, as `compared` does.

    Raises:
        ArtifactError: the program is not StableHLO.
    """
    on_stage("read")
    cost_of_module(_program(side).module)


def _program(side: SideProgram) -> _Program:
    content, name = side.program, side.file or side.label
    module = read_module(content, name)
    places: Sequence[Place] | None = None
    texts: dict[tuple[str, int], str] = {}
    if side.sources is not None:
        sources = SourceMap.parse(side.sources)
        if sources.fits(module):
            places, texts = sources.places, dict(sources.texts)
    if places is None and side.file is not None and not content.startswith(b"ML\xefR"):
        lines = content.decode("utf-8", "replace").splitlines()
        texts = {(name, i): line.strip() for i, line in enumerate(lines, 1)}
    return _Program(module, graph_of(module, places, file=name), texts)


def _change(change: Change, programs: tuple[_Program, _Program]) -> ComparedChange:
    return ComparedChange(
        change.role,
        change.kind,
        change.where,
        programs[0].spot(change.before),
        programs[1].spot(change.after),
        change.details,
    )


def _figures(
    one: SideProgram,
    other: SideProgram,
    programs: tuple[_Program, _Program],
    same: bool,
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the cost, memory and time of both sides from their reports, or only the cost.

    Without both reports, the figures are empty for equal programs.
    """
    if one.report is not None and other.report is not None:
        return to_data(one.report, REPORT_FORMS), to_data(other.report, REPORT_FORMS)
    if same:
        return {}, {}
    first, second = (
        {"cost": to_data((side.cost or cost_of_module(program.module)).figures)}
        for side, program in zip((one, other), programs, strict=True)
    )
    return first, second


def _lines(
    one: SideProgram, other: SideProgram, programs: tuple[_Program, _Program]
) -> tuple[LineChange, ...]:
    """Return the lines with a changed number of flops or bytes, if both sides have the figures."""
    if one.cost is None or other.cost is None:
        return ()
    texts = programs[0].texts, programs[1].texts
    return line_changes(one.cost.lines, other.cost.lines, texts)
