"""A value of a program in its own dtype, in float64, and with random rounding errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import DeviceArray, array_to_numpy, put_array
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.dtypes import DType
from olympus_core.verification.findings import Finding
from olympus_core.verification.floats import format_of, is_inexact

Array = np.ndarray[Any, Any]


def widened(x: Array) -> Array:
    """Return floats as float64, complex numbers as complex128, and other arrays unchanged."""
    kind = dtypes.kind(x.dtype)
    return x.astype({"f": np.float64, "c": np.complex128}.get(kind, x.dtype), copy=False)


def largest(x: Array) -> float:
    """Return the largest magnitude among the finite elements; 0 if none is finite."""
    size = np.abs(x[np.isfinite(x)])
    return float(size.max()) if size.size else 0.0


@dataclass(slots=True)
class TrackedValue:
    """A value: in the program's dtype, in float64, and in float64 with random rounding errors.

    The `samples` represent other correct evaluations in the program's dtypes: rounding explains
    their differences. `roundoff` is the largest of the dtypes on the way to it. `origin` is the
    origin of an infinity or a NaN in it. `loss` and `own_loss` are the operations that lost its
    digits, or those of some of its elements. `beyond` is an earlier exponential that left the range
    of its dtype, and `undone` the operation that would have reversed it.
    """

    native: DeviceArray
    wide: Array
    samples: tuple[Array, ...] = ()
    roundoff: float = 0.0
    origin: Finding | None = None
    loss: Finding | None = None
    own_loss: Finding | None = None
    beyond: Finding | None = None
    undone: Finding | None = None

    @property
    def array(self) -> Array:
        """The elements in the program's dtype."""
        return array_to_numpy(self.native)

    @property
    def aval(self) -> ShapedArray:
        """The type in the program."""
        aval: ShapedArray = self.native.aval
        return aval

    @property
    def dtype(self) -> DType:
        """The dtype in the program."""
        return self.aval.dtype

    def spread(self) -> float:
        """Return the largest difference of the other runs from the float64 run, if finite."""
        if not is_inexact(self.dtype) or not self.wide.size:
            return 0.0
        with np.errstate(all="ignore"):
            return max(largest(x - self.wide) for x in (widened(self.array), *self.samples))

    def relative_error(self) -> float:
        """Return the largest error of the program's own run, relative to the largest magnitude."""
        if not is_inexact(self.dtype) or not self.wide.size:
            return 0.0
        size = largest(self.wide)
        with np.errstate(all="ignore"):
            error = largest(widened(self.array) - self.wide)
        return error / size if size else math.inf if error else 0.0


def value_of(x: Any, aval: ShapedArray, samples: int) -> TrackedValue:
    """Return the value of an input or a constant, which is the same in all runs."""
    native = put_array(x, aval)
    wide = widened(array_to_numpy(native))
    info = format_of(aval.dtype).roundoff if is_inexact(aval.dtype) else 0.0
    return TrackedValue(native, wide, (wide,) * samples, info)


def mapped(
    function: Callable[..., Array], values: Sequence[TrackedValue], aval: ShapedArray
) -> TrackedValue:
    """Apply a function that only moves elements, such as a slice, in each of the runs."""
    result = TrackedValue(
        put_array(np.asarray(function(*(v.array for v in values))), aval),
        function(*(v.wide for v in values)),
        tuple(function(*sample) for sample in zip(*(v.samples for v in values), strict=True)),
        max((v.roundoff for v in values), default=0.0),
    )
    for v in values:
        result.origin = result.origin or v.origin
        result.loss, result.own_loss = result.loss or v.loss, result.own_loss or v.own_loss
        result.beyond, result.undone = result.beyond or v.beyond, result.undone or v.undone
    return result
