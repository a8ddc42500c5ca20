"""What is to be measured, and how thoroughly: what a `Sampler` is given."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import olympus
from olympus.errors import ArtifactError, CompileError, OlympusError
from olympus_cli.program.bundle import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec

__all__ = ["BundleWork", "Effort", "Prepared", "SamplerWork"]

_STAGES_SHARE = 0.25


@dataclass(frozen=True)
class Effort:
    """When to stop measuring calls: at a precision, or after so many seconds.

    `precision` is half the width of the median's interval relative to the median (0.02 is 2 %).
    `time_limit` is in seconds: of the warm-up, the samples and the repeated stages, not of the
    start of a process, its compilation and its first call.  `give_up` seconds after it has begun,
    the process is ended, and the target has failed; None is never.  `imports` says whether imports
    are timed too, each in an interpreter of its own.
    """

    precision: float = 0.02
    time_limit: float = 10.0
    give_up: float | None = None
    imports: bool = True

    @property
    def stages_limit(self) -> float:
        """The seconds of the time limit for repeating the stages."""
        return _STAGES_SHARE * self.time_limit

    @property
    def calls_limit(self) -> float:
        """The seconds of the time limit for the warm-up and the samples."""
        return self.time_limit - self.stages_limit


@dataclass(frozen=True)
class BundleWork:
    """The bundle in a file, for one backend."""

    path: Path
    backend: olympus.Target
    options: BundleOptions = field(default_factory=BundleOptions)


@dataclass(frozen=True)
class SamplerWork:
    """One program to measure: a target, or a bundle, with what it is called on.

    `name` is what it is called in tables, and `entry` where it is from.
    """

    name: str
    entry: str
    program: TargetSpec | BundleWork
    inputs: InputOptions = field(default_factory=InputOptions)
    effort: Effort = field(default_factory=Effort)

    @staticmethod
    def of_target(
        spec: TargetSpec, inputs: InputOptions | None = None, effort: Effort | None = None
    ) -> SamplerWork:
        """The work of a target, with what it says of its inputs."""
        given = (inputs or InputOptions()).of(spec)
        return SamplerWork(spec.name, spec.entry, spec, given, effort or Effort())

    @staticmethod
    def of_bundle(
        text: str, bundle: BundleWork, inputs: InputOptions, effort: Effort
    ) -> SamplerWork:
        """The work of the bundle that the user calls `text`."""
        return SamplerWork(Path(text).stem, text, bundle, inputs, effort)

    @property
    def label(self) -> str:
        """What a user calls it: the name of a target, the path of a bundle."""
        return self.entry if isinstance(self.program, BundleWork) else self.name

    @property
    def death(self) -> type[OlympusError]:
        """What the end of the process that measures it means."""
        return ArtifactError if isinstance(self.program, BundleWork) else CompileError

    @property
    def does(self) -> str:
        """The verb, and the file if it is a bundle, for the error of a process that dies."""
        return f"measures {self.entry}" if isinstance(self.program, BundleWork) else "measures"

    @property
    def backends(self) -> frozenset[str]:
        """The backends that it may be measured on, as `Measured.backend` has them."""
        if isinstance(self.program, BundleWork):
            return frozenset({backend_text(self.program.backend)})
        return frozenset(map(backend_text, self.program.backends))

    @property
    def matrix(self) -> Mapping[str, float | str]:
        """The target's values of its matrix, as numbers and texts."""
        if isinstance(self.program, BundleWork):
            return {}
        return {key: _scalar(value) for key, value in self.program.matrix.items()}


def _scalar(value: object) -> float | str:
    """A value of a matrix as JSON has it: not a number are bools, NaN and what no float holds."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return value
    return str(value)


@dataclass(frozen=True)
class Prepared:
    """A program that is ready for samples: its first call is done, and it is warm.

    `first_call` and `warm_up` are seconds, `warm_up_calls` how many calls the warm-up took.
    `steady` is whether the times had no trend any more; None where there were too few to tell.
    `batch` is the number of calls that a sample should be the mean of, and `call` about the
    seconds of one.
    """

    first_call: float
    warm_up: float
    warm_up_calls: int
    steady: bool | None
    batch: int
    call: float
