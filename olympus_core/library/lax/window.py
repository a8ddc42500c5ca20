"""The window reductions of `olympus.lax`, and padding by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.avals import Shape, dimension, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim, max_dim
from olympus_core.base.errors import PaddingNameError, ShapeError
from olympus_core.ir.primitive import Primitive
from olympus_core.library.lax.reduction import Combiner
from olympus_core.primitives.reduction import (
    Reduction,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
)
from olympus_core.primitives.window import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)
from olympus_core.primitives.window_parameters import Padding, dilated, window_shape

_WINDOWED: dict[Reduction, Primitive] = {
    reduce_sum_p: reduce_window_sum_p,
    reduce_max_p: reduce_window_max_p,
    reduce_min_p: reduce_window_min_p,
}


#: the values of `padding`: a name, or a pair (low, high) for each axis
PaddingLike = str | Sequence[tuple[int, int]]


def ints(values: Any) -> tuple[int, ...]:
    """Return a sequence of ints as a tuple of Python ints."""
    return tuple([v if is_symbolic_dim(v) else int(v) for v in values])


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: PaddingLike,
) -> list[tuple[int, int]]:
    """Return the (low, high) padding of each dimension for a padding name.

    padding: "VALID" for none; "SAME" for as many windows as strides in the input, with the odd
    element of padding at the end; "SAME_LOWER" with the odd one at the start.

    Raises PaddingNameError (a RuntimeError) for another name, ShapeError for a stride below 1.

    >>> padtype_to_pads((10,), (3,), (2,), "SAME")
    [(0, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else padding
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise PaddingNameError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}.",
            hint="padding is one of these, or a pair of ints for each dimension",
        )
    if any(stride < 1 for stride in window_strides):
        raise ShapeError(
            "window_strides must have every element be strictly positive, "
            f"got {tuple(window_strides)}"
        )
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max_dim((-(-size // stride) - 1) * stride + window - size, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if name == "SAME" else (large, small))
    return pads


def pads_of(
    padding: PaddingLike,
    shape: Shape,
    window: Sequence[int],
    strides: Sequence[int],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Padding:
    """Return padding by name or by pairs as pairs of ints; a name refers to the dilated sizes."""
    if not isinstance(padding, str):
        try:
            return tuple([(dimension(low), dimension(high)) for low, high in padding])
        except (TypeError, ValueError):
            raise ShapeError(
                "padding argument should be a string or a sequence of (low, high) pairs, got "
                f"{padding!r}"
            ) from None
    sizes = [dilated(n, d) for n, d in zip(shape, base_dilation, strict=True)]
    extents = [dilated(n, d) for n, d in zip(window, window_dilation, strict=True)]
    return tuple(padtype_to_pads(sizes, extents, strides, padding))


def _window(
    shape: Shape,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: PaddingLike,
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> dict[str, Any]:
    """Return the parameters of a window primitive."""
    ones = (1,) * len(shape)
    window = ints(window_dimensions)
    strides, base, dilation = (
        ones if v is None else ints(v) for v in (window_strides, base_dilation, window_dilation)
    )
    if len(window) != len(shape):
        raise ShapeError(
            "reduce_window got the wrong number of window_dimensions for operand: got operand "
            f"shape {shape} with window_dimensions {window}."
        )
    for name, values in (
        ("window_strides", strides),
        ("base_dilation", base),
        ("window_dilation", dilation),
    ):
        if len(values) != len(shape):
            raise ShapeError(
                f"reduce_window got inconsistent {name} and window_dimensions: got {name} {values} "
                f"and window_dimensions {window}."
            )
    return {
        "window_dimensions": window,
        "window_strides": strides,
        "padding": pads_of(padding, shape, window, strides, base, dilation),
        "base_dilation": base,
        "window_dilation": dilation,
    }


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PaddingLike = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each window of an array, or of a tree of arrays of one shape.

    init_value and computation: as for `reduce`; the initial value pads the array.
    window_dimensions: the window's shape, one int per axis of the operand; window_strides: the
    distance of windows (1 by default); padding: pairs (low, high), "VALID", "SAME" or "SAME_LOWER";
    base_dilation, window_dilation: the distance of elements in the operand, and in the window.

    Raises ShapeError or DTypeError if these do not match.

    >>> reduce_window(array([1., 3., 2.]), -inf, max, (2,))
    Array([3., 3.], dtype=float32)
    """
    combined = Combiner("reduce_window", operand, init_value, computation)
    params = _window(
        get_aval(combined.arrays[0]).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    monoid = combined.monoid()
    if monoid in _WINDOWED:
        return combined.result([_WINDOWED[monoid].bind(*combined.arrays, **params)])
    values = (*combined.arrays, *combined.inits)
    return combined.result(reduce_window_p.bind(*values, olympuspr=combined.program, **params))


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: PaddingLike,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """Return the shape of `reduce_window`'s result.

    >>> reduce_window_shape_tuple((1, 8, 8), (1, 2, 2), (1, 2, 2), "VALID")
    (1, 4, 4)
    """
    shape = ints(operand_shape)
    params = _window(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    return window_shape("reduce_window", shape, params)
