"""Convolution and correlation of vectors: `convolve` and `correlate`."""

from __future__ import annotations

from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.conv import conv_general_dilated
from olympus_core.library.lax.dot import PrecisionLike
from olympus_core.library.numpy.elementwise.complex import conj
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.shapes import expand_dims, squeeze
from olympus_core.library.operands import operand
from olympus_core.library.promotion import promote_inexact


def _vectors(name: str, a: Any, v: Any, mode: str) -> tuple[Any, Any]:
    a, v = promote_inexact(operand(name, a)[0], operand(name, v)[0])
    if len(shape_of(a)) != 1 or len(shape_of(v)) != 1:
        shapes = f"{shape_of(a)} and {shape_of(v)}"
        raise ShapeError(f"{name} needs two vectors, and got shapes {shapes}")
    if not shape_of(a)[0] or not shape_of(v)[0]:
        raise ShapeError(f"{name} needs vectors of one element or more")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name} has the modes 'full', 'same' and 'valid', and got {mode!r}")
    return a, v


def _sliding(a: Any, v: Any, mode: str, precision: Any, element: Any) -> Array:
    """Return the products of `a` with the shorter `v` at each position, without flipping `v`."""
    n = shape_of(v)[0]
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    result = conv_general_dilated(
        expand_dims(a, (0, 1)),
        expand_dims(v, (0, 1)),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=element,
    )
    return squeeze(result, (0, 1))


@composite(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the convolution of two vectors: sum over j of a[j] v[k - j].

    `mode` "full" has every k with a term, "same" as many as the longer vector, "valid" those k at
    which the vectors overlap fully.  Raises ShapeError for an array that is not a vector.

    >>> convolve(asarray([1.0, 2.0]), asarray([1.0, 1.0]))
    Array([1., 3., 2.], dtype=float32)
    """
    a, v = _vectors("convolve", a, v, mode)
    lengths = shape_of(a)[0], shape_of(v)[0]
    # in the mode "full" the order does not matter
    is_compared = mode != "full" or not any(map(is_symbolic_dim, lengths))
    if is_compared and lengths[0] < lengths[1]:
        a, v = v, a
    return _sliding(a, flip(v), mode, precision, preferred_element_type)


@composite(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the correlation: sum over j of a[j + k] conj(v[j]); `mode` is `convolve`'s.

    >>> correlate(asarray([1.0, 2.0, 3.0]), asarray([0.0, 1.0]))
    Array([2., 3.], dtype=float32)
    """
    a, v = _vectors("correlate", a, v, mode)
    v = conj(v)
    if shape_of(a)[0] >= shape_of(v)[0]:
        return _sliding(a, v, mode, precision, preferred_element_type)
    swapped = _sliding(v, a, mode, precision, preferred_element_type)
    return flip(swapped)
