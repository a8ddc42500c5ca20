"""What a measurement of a target is: metrics with their samples, and where they were taken.

This is what `olympus bench` prints, saves as a baseline and compares; it alone names the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Direction", "Measured", "Metric"]

Direction = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Metric:
    """The samples of one figure, in the order they were taken.

    `unit` is "s", "B", "FLOP/s", "B/s" or "1/s".  `better` says which way is better; a metric with
    "neither" is told and not judged.  `batch` is the number of calls that a sample is the mean of.
    """

    unit: str
    better: Direction
    samples: tuple[float, ...]
    batch: int = 1


@dataclass(frozen=True)
class Measured:
    """All that was measured of one target on one backend, in one run.

    `metrics` are by name: "steady_call", "first_call", "load", "trace", "lower", "compile",
    "import", "peak_memory", ...  `machine` says what figures can be compared with: those of another
    machine cannot.  `conditions` are the load and the clock while it was measured, for a reader.
    `fingerprint` is the structural fingerprint of the program.
    """

    target: str
    entry: str
    backend: str
    metrics: Mapping[str, Metric]
    machine: Mapping[str, str]
    conditions: Mapping[str, float | str | None]
    versions: Mapping[str, str]
    fingerprint: str | None = None
