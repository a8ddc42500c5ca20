"""The bundles with weights: a built bundle, and the files that `data` names in the arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olympus import artifact
from olympus.errors import OlympusError, UsageError
from olympus_cli.builder.joining import joined, ready_targets
from olympus_cli.builder.outcome import Outcome
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import WEIGHTS_SUFFIX, TargetSpec
from olympus_cli.text.paths import display_path


@dataclass(frozen=True)
class WeightJoin:
    """A program of the build folder, and the file of each argument with weights."""

    program: str
    weights: Mapping[str, Path]
    build_dir: Path

    @property
    def name(self) -> str:
        """The name of the bundle with weights: `forward+weights`."""
        return self.program + WEIGHTS_SUFFIX

    @property
    def path(self) -> Path:
        """The file of the bundle: `build/forward+weights/forward+weights.olympus`."""
        return self.build_dir / self.name / f"{self.name}{BUNDLE_SUFFIX}"

    @property
    def source(self) -> Path:
        """The file of the bundle without weights."""
        return self.build_dir / self.program / f"{self.program}{BUNDLE_SUFFIX}"

    def is_fresh(self) -> bool:
        """Return True if the bundle has the present program and weights."""
        try:
            manifest = artifact.weights_of(self.path)
            digests = {member.sha256 for member in manifest.members.values()}
            program = hashlib.sha256(self.source.read_bytes()).hexdigest()
            return program in digests and manifest.source == artifact.digest_of_files(
                [*self.weights.values()]
            )
        except (OlympusError, OSError):
            return False

    def write(self) -> None:
        """Write the bundle; raise UsageError if the weights do not fit."""
        for file in self.weights.values():
            if not file.is_file():
                raise UsageError(f"the weights {display_path(file)} do not exist")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        artifact.join_weights(self.path, self.source, self.weights)


def join_weights(
    specs: Mapping[str, TargetSpec], outcomes: Sequence[Outcome], build_dir: Path, *, frozen: bool
) -> list[Outcome]:
    """Join each built or fresh program with its weights; return the outcomes.

    The program of a target for one size is left out: its weights are in the bundle for all sizes.
    With `frozen`, nothing is written.
    """
    ready = ready_targets(outcomes)
    joins = [join for join in joins_of(specs, build_dir) if join.program in ready]
    return [joined(join, frozen=frozen) for join in joins]


def joins_of(specs: Mapping[str, TargetSpec], build_dir: Path) -> list[WeightJoin]:
    """Return the bundles with weights of targets."""
    joins: dict[str, WeightJoin] = {}
    for spec in specs.values():
        name = spec.name if spec.buckets is None else spec.buckets.name
        if spec.data:
            joins[name] = WeightJoin(name, spec.data, build_dir)
    return list(joins.values())
