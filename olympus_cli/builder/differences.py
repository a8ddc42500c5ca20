"""The reasons why a program differs from its last build, from the parts of its content key.

A content key is a digest: it shows only that something changed. A build stores the parts of its
keys in its list of files. This module compares them with the parts for the present program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from olympus.analysis import SourceMap, compare, graph_of, read_module
from olympus.errors import ArtifactError
from olympus.stages import ArgInfo
from olympus_cli.builder.key import DIGESTS, PROGRAM, STRUCTURE, content_parts
from olympus_cli.builder.manifest import Manifest, intact
from olympus_cli.builder.reasons import (
    DigestChanged,
    InterfaceChanged,
    OperationChanged,
    PartChanged,
    ProgramChanged,
    Reason,
    StaticChanged,
    Unexplained,
    VersionChanged,
)
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.changes import change_lines
from olympus_cli.text.units import array_type

_MAX_BYTES = 1 << 24  # of a program that is compared: larger ones take too long


def are_of_operations(reasons: Sequence[Reason]) -> bool:
    """Return True if only operations of the program differ."""
    return all(isinstance(reason, OperationChanged | ProgramChanged) for reason in reasons)


def are_of_program(reasons: Sequence[Reason]) -> bool:
    """Return True if only operations and results of the program differ."""
    return all(
        isinstance(reason, OperationChanged | ProgramChanged)
        or reason == DigestChanged(STRUCTURE)
        or (isinstance(reason, InterfaceChanged) and reason.role == "result")
        for reason in reasons
    )


def reasons_of(program: Program, label: str, report: Report, directory: Path) -> list[Reason]:
    """Return the reasons why a program differs from its outputs in `directory`.

    `label` is the backend's, and `report` is that of the outputs. Consequences of another reason
    are left out: if an argument or a static argument differs, so do the operations.
    """
    unit = next(unit for unit in program.units if unit.label == label)
    reasons: list[Reason] = [*_of_interface(program, report)]
    try:
        before = Manifest.read(directory).parts.get(label)
    except ArtifactError:
        before = None
    after = content_parts(program)[label]
    if before is not None:
        reasons += [
            unit
            for unit in _of_parts(before, after)
            if unit != DigestChanged(STRUCTURE) or not reasons  # types are in the structure too
        ]
    if not reasons and (before is None or before.get(PROGRAM) != after[PROGRAM]):
        reasons += _of_operations(unit, directory, program.spec.root)
        reasons = reasons or [ProgramChanged()] if before else reasons
    return reasons or [Unexplained()]


def _of_interface(program: Program, report: Report) -> Iterator[Reason]:
    statics = dict(report.statics)
    for name, before, after in _changed(statics, program.statics):
        yield StaticChanged(name, before, after)
    sides = (
        ("argument", report.arguments, program.arguments),
        ("result", report.results, program.results),
    )
    for role, stored, leaves in sides:
        for name, before, after in _changed(_types(stored), _types(leaves)):
            yield InterfaceChanged(role, name, before, after)


def _of_parts(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Reason]:
    for name, old, new in _changed(before, after):
        if name == PROGRAM:
            continue
        kind, _, rest = name.partition(" ")
        if name in DIGESTS:
            yield DigestChanged(name)
        elif kind == "package":
            yield VersionChanged(rest, old, new)
        elif name == "processor features":
            yield PartChanged(name, *_only_one_side(old or "", new or ""))
        else:
            yield PartChanged(name, old, new)


def _only_one_side(before: str, after: str) -> tuple[str | None, str | None]:
    """Return the words that only one of two texts has, for each text; None for none."""
    old, new = before.split(), after.split()
    sides = ([w for w in old if w not in new], [w for w in new if w not in old])
    one, other = (" ".join(side) or None for side in sides)
    return one, other


def _of_operations(unit: Unit, directory: Path, root: Path) -> Iterator[Reason]:
    """Yield the operations that differ from the stored program's; none if it cannot be read."""
    folder = directory / unit.label
    stored, sources = folder / "stablehlo.mlir", folder / "sources.json"
    if not stored.exists():
        stored, sources = directory / "program.stablehlo.mlir", directory / "program.sources.json"
    try:
        if not _are_intact(directory, stored, sources):  # the parser may crash on damaged bytes
            return
        content = stored.read_bytes()
        if max(len(content), len(unit.stablehlo)) > _MAX_BYTES:
            return
        module = read_module(content)
        places = SourceMap.parse(sources.read_bytes()) if sources.exists() else None
        before = graph_of(module, places.places if places and places.fits(module) else None)
        difference = compare(before, graph_of(unit.lowered.module))
    except (ArtifactError, OSError):
        return
    changes = sorted(difference.changes, key=lambda change: change.kind == "retyped")
    yield from (OperationChanged(*line) for line in change_lines(changes, root))


def _are_intact(directory: Path, *paths: Path) -> bool:
    """Return True if the files that are there have the digests of the build's manifest.

    Raises:
        ArtifactError: the manifest cannot be read.
    """
    known = {directory / file.path: file for file in Manifest.read(directory).files}
    existing = [path for path in paths if path.exists()]
    return all(path in known and intact(directory, known[path]) for path in existing)


def _types(leaves: Sequence[ArgInfo]) -> dict[str, str]:
    return {
        leaf.name: array_type(leaf.dtype_name, leaf.shape) + (" donated" if leaf.donated else "")
        for leaf in leaves
    }


def _changed(
    before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)
