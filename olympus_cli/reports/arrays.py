"""A summary of an array's elements in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ArraySummary:
    """Numbers about the finite elements; None without any, or without an order (complex)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    mean: float | None
    minimum: float | None
    maximum: float | None
    non_finite: int

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        numbers = (self.mean, self.minimum, self.maximum)
        cells = ("-" if number is None else f"{number:.6g}" for number in numbers)
        return (self.name, str(list(self.shape)), self.dtype, *cells, str(self.non_finite))


def summarize_array(name: str, array: np.ndarray[Any, Any]) -> ArraySummary:
    """Count and average in float64, so that 8-bit floats and booleans have a mean too.

    >>> summarize_array("x", np.array([1.0, np.nan, 3.0], "float32")).mean
    2.0
    """
    values = array if array.dtype.kind == "c" else array.astype(np.float64)
    finite = values[np.isfinite(values)]
    mean = low = high = None
    if finite.size and finite.dtype.kind != "c":
        mean, low, high = _mean(finite), float(finite.min()), float(finite.max())
    missing = array.size - finite.size
    return ArraySummary(name, array.dtype.name, array.shape, mean, low, high, missing)


def _mean(finite: np.ndarray[Any, Any]) -> float:
    with np.errstate(over="ignore"):
        mean = finite.mean()
        if not np.isfinite(mean):  # the sum is past the largest float: add up the shares instead
            mean = (finite / finite.size).sum()
    return float(np.clip(mean, finite.min(), finite.max()))
