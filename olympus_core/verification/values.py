"""A value of the program in every run that goes on side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.array import DeviceArray, put, to_numpy
from olympus_core.avals import ShapedArray
from olympus_core.dtypes import DType
from olympus_core.verification.findings import Finding
from olympus_core.verification.floats import format_of, is_inexact

__all__ = ["Array", "Value", "largest", "mapped", "value_of", "widened"]

Array = np.ndarray[Any, Any]


def widened(x: Array) -> Array:
    """Floats as float64, complex numbers as complex128, all else as it is."""
    kind = dtypes.kind(x.dtype)
    return x.astype({"f": np.float64, "c": np.complex128}.get(kind, x.dtype), copy=False)


def largest(x: Array) -> float:
    """The greatest magnitude among the finite elements; 0 where there is none."""
    size = np.abs(x[np.isfinite(x)])
    return float(size.max()) if size.size else 0.0


@dataclass(slots=True)
class Value:
    """A value: in the program's dtype, in float64, and in float64 with random rounding errors.

    The `samples` stand for other sound evaluations in the program's dtypes: what they differ by
    is what rounding explains.  `roundoff` is the greatest of the dtypes that it came through.
    `origin` is where an infinity or a NaN in it came from, `loss` and `own_loss` where its digits,
    or those of some of its elements, were lost.  `beyond` is an exponential before it that left the
    range of its dtype, and `undone` the operation that would have brought that back.
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
        return to_numpy(self.native)

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
        """The greatest difference from the float64 run among finite elements of all others."""
        if not is_inexact(self.dtype) or not self.wide.size:
            return 0.0
        with np.errstate(all="ignore"):
            return max(largest(x - self.wide) for x in (widened(self.array), *self.samples))

    def relative_error(self) -> float:
        """The greatest error of the program's own run, relative to the greatest magnitude."""
        if not is_inexact(self.dtype) or not self.wide.size:
            return 0.0
        size = largest(self.wide)
        with np.errstate(all="ignore"):
            error = largest(widened(self.array) - self.wide)
        return error / size if size else math.inf if error else 0.0


def value_of(x: Any, aval: ShapedArray, samples: int) -> Value:
    """The value of an input or a constant, which is the same in all runs."""
    native = put(x, aval)
    wide = widened(to_numpy(native))
    info = format_of(aval.dtype).roundoff if is_inexact(aval.dtype) else 0.0
    return Value(native, wide, (wide,) * samples, info)


def mapped(function: Callable[..., Array], values: Sequence[Value], aval: ShapedArray) -> Value:
    """What moving elements makes of values, in each of the runs: a slice, or a stack."""
    made = Value(
        put(np.asarray(function(*(v.array for v in values))), aval),
        function(*(v.wide for v in values)),
        tuple(function(*each) for each in zip(*(v.samples for v in values), strict=True)),
        max((v.roundoff for v in values), default=0.0),
    )
    for v in values:
        made.origin = made.origin or v.origin
        made.loss, made.own_loss = made.loss or v.loss, made.own_loss or v.own_loss
        made.beyond, made.undone = made.beyond or v.beyond, made.undone or v.undone
    return made
