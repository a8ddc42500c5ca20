"""The bundles for several sizes: each is joined from the bundles of its targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from olympus import artifact
from olympus.errors import OlympusError, UsageError
from olympus.stages import ArgInfo
from olympus.verification import PROOF_VERSION, PaddedAxes, prove_rows_independent
from olympus_cli.builder.joining import joined, ready_targets
from olympus_cli.builder.outcome import Outcome
from olympus_cli.program.stages import Program
from olympus_cli.spec.buckets import BucketSpec
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.target_table import at_key
from olympus_cli.workers.call import OnStage, call

_Axes: TypeAlias = "list[tuple[dict[int, int], str]]"
_Proved: TypeAlias = "tuple[_Axes, list[dict[int, int]]]"

_FIRST_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class BucketGroup:
    """The targets of one bundle for several sizes, by size, and the build folder."""

    targets: Mapping[int, TargetSpec]
    build_dir: Path

    @property
    def spec(self) -> BucketSpec:
        """The sizes of the bundle, and the target for another size."""
        spec = self.targets[max(self.targets)].buckets
        assert spec is not None
        return spec

    @property
    def name(self) -> str:
        """The name of the bundle."""
        return self.spec.name

    @property
    def path(self) -> Path:
        """The file of the bundle: `build/forward/forward.olympus`."""
        return self.build_dir / self.name / f"{self.name}{BUNDLE_SUFFIX}"

    def part(self, size: int) -> Path:
        """Return the file of the bundle for one size."""
        name = self.targets[size].name
        return self.build_dir / name / f"{name}{BUNDLE_SUFFIX}"

    def is_fresh(self) -> bool:
        """Return True if the bundle has exactly the present parts and settings."""
        try:
            manifest = artifact.buckets_of(self.path)
            general = artifact.all_sizes_of(self.path)
        except OlympusError:
            return False
        digests = {}
        for size in self.targets:
            digests[manifest.part(size)] = artifact.part_digest(self.part(size))
        spec = self.spec
        fills = [fill_of(x.name, spec.padding) for x in manifest.arguments if x.axes]
        shared = artifact.ALL_SIZES, artifact.CONSTANTS
        members = {n: x.sha256 for n, x in manifest.members.items() if n not in shared}
        return (
            members == digests
            and (manifest.symbol, manifest.oversize) == (spec.symbol, spec.oversize)
            and manifest.proof == PROOF_VERSION
            and self._has_constraints(general)
            and [x.fill for x in manifest.arguments if x.axes] == fills
        )

    def _has_constraints(self, general: artifact.SymbolicManifest | None) -> bool:
        """Return True if the program for all numbers of rows has the present constraints."""
        own = self.spec.general
        if own is None or general is None:
            return own is None and general is None
        return {c.text for c in general.constraints} == set(own.constraints)

    def write(self) -> None:
        """Prove that rows are independent, and write the bundle; raise PaddingError if not."""
        arguments, results = call(_proved, self, action="proves", quiet=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            self._join(arguments, results, self._all_sizes(folder))

    def _all_sizes(self, folder: Path) -> Path | None:
        """Write the bundle for all numbers of rows to a folder; return None without `refine`."""
        if self.spec.oversize != "refine":
            return None
        path, least = folder / artifact.ALL_SIZES, min(self.targets)
        part = {self.spec.symbol: least}, self.part(least)
        call(_write_general, path, self.targets[least], part, action="lowers", quiet=True)
        return path

    def _join(
        self, arguments: _Axes, results: list[dict[int, int]], all_sizes: Path | None
    ) -> None:
        artifact.join_buckets(
            self.path,
            {size: self.part(size) for size in self.targets},
            name=self.name,
            symbol=self.spec.symbol,
            arguments=arguments,
            results=results,
            oversize=self.spec.oversize,
            proof=PROOF_VERSION,
            all_sizes=all_sizes,
        )


def _write_general(
    on_stage: OnStage, path: Path, target: TargetSpec, part: tuple[dict[str, int], Path]
) -> None:
    """Write the bundle of a target for all numbers of rows."""
    assert target.buckets is not None and target.buckets.general is not None
    general = replace(target.buckets.general, python_path=target.python_path)
    program = Program.of(general, on_stage, until="lower", keeps_sizes=True)
    artifact.join_symbolic(path, [unit.lowered for unit in program.units], [part])


def groups_of(specs: Mapping[str, TargetSpec], build_dir: Path) -> list[BucketGroup]:
    """Return the bundles for several sizes all of whose targets are among `specs`."""
    found: dict[str, dict[int, TargetSpec]] = {}
    for spec in specs.values():
        if spec.buckets is not None:
            found.setdefault(spec.buckets.name, {})[spec.buckets.size] = spec
    groups = [BucketGroup(targets, build_dir) for targets in found.values()]
    return [group for group in groups if tuple(sorted(group.targets)) == _sizes(group)]


def _sizes(group: BucketGroup) -> tuple[int, ...]:
    spec = next(iter(group.targets.values())).buckets
    return () if spec is None else spec.sizes


def join_groups(
    specs: Mapping[str, TargetSpec], outcomes: Sequence[Outcome], build_dir: Path, *, frozen: bool
) -> list[Outcome]:
    """Join the bundles of each group whose targets are built or fresh; return their outcomes.

    A group is left out if one of its targets failed or is stale. With `frozen`, nothing is written.
    """
    ready = ready_targets(outcomes)
    return [
        joined(group, frozen=frozen)
        for group in groups_of(specs, build_dir)
        if ready.issuperset(target.name for target in group.targets.values())
    ]


def _proved(on_stage: OnStage, group: BucketGroup) -> _Proved:
    """Prove that rows are independent for each size.

    Returns, for each argument, the elements of one row by axis and the fill, and, for each result,
    the elements of one row by axis.

    Raises:
        PaddingError: padded rows could change other rows.
        UsageError: `padding` does not fit the arguments.
    """
    spec = group.spec
    axes: PaddedAxes | None = None
    arguments: Sequence[ArgInfo] = ()
    for size in [n for n in sorted(group.targets) if n > 1]:
        traced = _traced(on_stage, group.targets[size])
        other, twin = _twin(on_stage, group, size)
        arguments = traced.arguments
        with at_key(group.targets[size], "padding"):
            _check_padding(spec, arguments)
        fills = [fill_of(x.name, spec.padding) for x in arguments]
        axes = prove_rows_independent(traced, twin, (size, other), fills, spec.symbol)
    if axes is None:
        raise UsageError(f"{spec.name} has one size, {spec.symbol} = 1, and no padded rows")
    names = [fill_of(x.name, spec.padding) for x in arguments]
    padded = [fill if rows else "zeros" for fill, rows in zip(names, axes.arguments, strict=True)]
    rows_and_fills = [(dict(x), fill) for x, fill in zip(axes.arguments, padded, strict=True)]
    return rows_and_fills, list(map(dict, axes.results))


def _twin(on_stage: OnStage, group: BucketGroup, size: int) -> tuple[int, Any]:
    """Return another number of rows and the program traced for it, to compare with a size.

    It is not one of the sizes, unless the program exists for these alone.
    """
    target = group.targets[size]
    spec = target.buckets
    assert spec is not None and spec.twin is not None
    rows = int(str(spec.twin.matrix[spec.symbol]))
    twin = replace(spec.twin, python_path=target.python_path)
    try:
        return rows, _traced(on_stage, twin)
    except OlympusError:
        others = [n for n in sorted(group.targets) if n not in (1, size)]
        if not others:
            raise
        return others[0], _traced(on_stage, group.targets[others[0]])


def _traced(on_stage: OnStage, spec: TargetSpec) -> Any:
    return Program.of(spec, on_stage, until="trace").traced


def fill_of(name: str, padding: Mapping[str, str]) -> str:
    """Return the fill of an array: that of its name, or of its argument, or zeros.

    >>> fill_of("params['w']", {"params": "edge"})
    'edge'
    """
    first = _FIRST_NAME.match(name)
    return padding.get(name) or padding.get(first[0] if first else "") or "zeros"


def _check_padding(spec: BucketSpec, arguments: Sequence[ArgInfo]) -> None:
    """Raise UsageError for a mask that is not a whole argument, or a name without an argument."""
    names = {x.name for x in arguments}
    firsts = {match[0] for name in names if (match := _FIRST_NAME.match(name))}
    for name, fill in spec.padding.items():
        if name not in names | firsts:
            known = ", ".join(sorted(firsts))
            raise UsageError(f"padding has {name!r}, and the arguments are {known}")
        if fill == "mask" and name not in names:
            raise UsageError(f"the mask {name!r} must be one array, and is several")
