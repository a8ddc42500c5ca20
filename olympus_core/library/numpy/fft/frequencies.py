"""Sample frequencies of discrete Fourier transforms, and shifts of their origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.device import placed
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.manipulation.rearranging import roll
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert
from olympus_core.xla import Device


def _sample_count(name: str, n: Any) -> Any:
    """Return a number of samples; raise ArgumentError for a sequence of them."""
    if isinstance(n, (list, tuple)):
        raise ArgumentError(
            f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}."
        )
    return n if isinstance(n, float) else dimension(n)


def _frequencies(
    name: str, n: Any, first: Any, count: Any, d: Any, dtype: Any, device: Any
) -> Array:
    if isinstance(d, (list, tuple)):
        raise ArgumentError(
            f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}."
        )
    _, spacing = operand(name, d)
    if spacing.size != 1:
        raise ArgumentError(f"{name} needs a spacing of one value, and got {spacing.long_name()}")
    wanted = dtypes.requested(name, dtype, dtypes.default_dtype("f"))
    computed = dtypes.to_inexact(wanted)
    step = reshape(asarray(d, dtype=computed), ()) * n
    numbers = arange(count, dtype=computed) + first
    frequencies = convert(numbers / step, wanted)
    return placed(frequencies, device)


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return the frequencies, in cycles per unit of the sample spacing `d`, of `n` samples.

    Negative frequencies come last.  The dtype is `dtype`, the default float if that is None.

    Without samples the result is empty.  Raises ArgumentError for a spacing of more than one value.

    >>> fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    count = _sample_count("fftfreq", n)
    frequencies = _frequencies("fftfreq", count, -(count // 2), count, d, dtype, None)
    return placed(ifftshift(frequencies), device)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> Array:
    """Return the nonnegative frequencies of a transform of `n` real samples.

    >>> rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    count = _sample_count("rfftfreq", n)
    return _frequencies("rfftfreq", count, 0, count // 2 + 1, d, dtype, device)


def _shifted(name: str, x: Any, axes: int | Sequence[int] | None, back: bool) -> Array:
    x, aval = operand(name, x)
    if axes is None:
        which = tuple(range(aval.ndim))
    else:  # a repeated axis is shifted repeatedly, as in NumPy
        requested = axes if isinstance(axes, Sequence) else (axes,)
        which = tuple([canonical_axis(i, aval.ndim) for i in requested])
    halves = [aval.shape[i] // 2 for i in which]
    return roll(x, [-n for n in halves] if back else halves, which)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Shift the zero frequency from the start to the middle of the axes (all by default).

    >>> fftshift(fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted("fftshift", x, axes, back=False)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Undo `fftshift`.

    >>> ifftshift(asarray([-2, -1, 0, 1]))
    Array([ 0,  1, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, back=True)
