"""The work of a `Sampler`: a program to measure, and the effort."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import olympus
from olympus.errors import ArtifactError, CompileError, OlympusError
from olympus.stages import is_attached
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec

_STAGES_SHARE = 0.25


@dataclass(frozen=True)
class Effort:
    """The limits of sampling: a precision, or a number of seconds.

    `precision` is half the width of the median's interval relative to the median (0.02 is 2 %).
    `time_limit` is in seconds; it includes the warm-up, the samples and the repeated stages, but
    not the start of a process, its compilation and its first call. `give_up` seconds after its
    start, the process is ended, and the target has failed; None is never. A process that uses more
    than `memory_limit` bytes fails too. If `imports` is True, imports are timed too, each in a
    fresh interpreter.
    """

    precision: float = 0.02
    time_limit: float = 10.0
    give_up: float | None = None
    memory_limit: int | None = None
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
    """One program to measure, a target or a bundle, with its inputs.

    `name` is its name in tables, and `entry` its origin.
    """

    name: str
    entry: str
    program: TargetSpec | BundleWork
    inputs: InputOptions = field(default_factory=InputOptions)
    effort: Effort = field(default_factory=Effort)
    by_jax: bool = False  # True if JAX compiles and runs the target's function
    #: True for each side of a comparison with JAX: no stage includes the start of JAX or of the
    #: runtime, and donated arguments are copied before each call
    beside_jax: bool = False

    @staticmethod
    def of_target(
        spec: TargetSpec, inputs: InputOptions | None = None, effort: Effort | None = None
    ) -> SamplerWork:
        """Return the work of a target, with the target's own inputs."""
        options = (inputs or InputOptions()).of(spec)
        return SamplerWork(spec.name, spec.entry, spec, options, effort or Effort())

    @staticmethod
    def of_bundle(
        text: str, bundle: BundleWork, inputs: InputOptions, effort: Effort
    ) -> SamplerWork:
        """Return the work of a bundle, which the user names `text`."""
        return SamplerWork(Path(text).stem, text, bundle, inputs, effort)

    @property
    def label(self) -> str:
        """The user's name for it: the name of a target, the path of a bundle."""
        return self.entry if isinstance(self.program, BundleWork) else self.name

    @property
    def death(self) -> type[OlympusError]:
        """The class of the error if the measuring process dies."""
        return ArtifactError if isinstance(self.program, BundleWork) else CompileError

    @property
    def does(self) -> str:
        """The verb, and the file if it is a bundle, for the error of a process that dies."""
        return f"measures {self.entry}" if isinstance(self.program, BundleWork) else "measures"

    @property
    def backends(self) -> frozenset[str]:
        """The backends that it may be measured on, as in `Measured.backend`."""
        if isinstance(self.program, BundleWork):
            return frozenset({backend_text(self.program.backend)})
        return frozenset(map(backend_text, self.program.backends))

    @property
    def absent_label(self) -> str | None:
        """The label of a target's first backend if this machine has none of them; else None."""
        if isinstance(self.program, BundleWork):
            return None
        labels = self.program.labels
        if any(is_attached(backend.backend) for backend in labels.values()):
            return None
        return next(iter(labels))

    @property
    def matrix(self) -> Mapping[str, float | str]:
        """The target's values of its matrix, as numbers and texts."""
        if isinstance(self.program, BundleWork):
            return {}
        return {key: _scalar(value) for key, value in self.program.matrix.items()}


def _scalar(value: object) -> float | str:
    """Return a matrix value as JSON: bools, NaN and numbers that no float holds are texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return value
    return str(value)


@dataclass(frozen=True)
class Prepared:
    """The result of preparing a program for samples: its first call, and its warm-up.

    `first_call` and `warm_up` are seconds, `warm_up_calls` is the number of calls of the warm-up.
    `steady` is True if the times had no trend at the end; None if there were too few to decide.
    `batch` is the recommended number of calls of a sample, and `call` is about the seconds of one
    call.
    """

    first_call: float
    warm_up: float
    warm_up_calls: int
    steady: bool | None
    batch: int
    call: float
