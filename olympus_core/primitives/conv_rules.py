"""The derivatives and batches of a convolution are convolutions: their operands and parameters.

With lhs index l, kernel index k and output index o of one space axis, a product contributes where
l * lhs_dilation + low = o * stride + k * rhs_dilation.  Each pull-back solves this for one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.avals import ShapedArray, get_aval, shape_of
from olympus_core.primitive import op
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.primitives.window import dilated

if TYPE_CHECKING:
    from olympus_core.primitives.conv import ConvDimensionNumbers

__all__ = ["batched_conv", "pull_back_lhs", "pull_back_rhs"]

Params = dict[str, Any]


def pull_back_lhs(cotangent: Any, rhs: Any, lhs: ShapedArray, params: Params) -> Any:
    """The cotangent of the array: the result's, convolved with the flipped kernel."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    of_lhs, of_rhs, of_out = numbers
    batch_groups = params["batch_group_count"]
    groups = max(params["feature_group_count"], batch_groups)
    flipped = op.rev(rhs, dimensions=of_rhs[2:]) if of_rhs[2:] else rhs
    if groups > 1:  # a group's input features are now its output features
        flipped = _moved(flipped, of_rhs[0], of_rhs[1], groups)
    out = _convolved(
        cotangent,
        flipped,
        lhs,
        params
        | {
            "dimension_numbers": numbers.__class__(of_out, _swapped(of_rhs), of_lhs),
            "window_strides": params["lhs_dilation"],
            "lhs_dilation": params["window_strides"],
            "padding": tuple(
                [
                    (kernel - low - 1, array + low - result)
                    for array, kernel, result, (low, _) in _extents(lhs, rhs, cotangent, params)
                ]
            ),
            "feature_group_count": groups,
            "batch_group_count": 1,
        },
    )
    return out if batch_groups == 1 else _moved(out, of_lhs[1], of_lhs[0], batch_groups)


def pull_back_rhs(cotangent: Any, lhs: Any, rhs: ShapedArray, params: Params) -> Any:
    """The cotangent of the kernel: the array convolved with the result's, summed over the batch."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    of_lhs, of_rhs, of_out = map(_swapped, numbers)
    return _convolved(
        lhs,
        cotangent,
        rhs,
        params
        | {
            "dimension_numbers": numbers.__class__(of_lhs, of_out, of_rhs),
            "window_strides": params["rhs_dilation"],
            "rhs_dilation": params["window_strides"],
            "padding": tuple(
                [
                    (low, result + kernel - 1 - array - low)
                    for array, kernel, result, (low, _) in _extents(lhs, rhs, cotangent, params)
                ]
            ),
            "feature_group_count": params["batch_group_count"],
            "batch_group_count": params["feature_group_count"],
        },
    )


def _extents(
    lhs: Any, rhs: Any, out: Any, params: Params
) -> list[tuple[int, int, int, tuple[int, int]]]:
    """For each space axis the dilated extents of array, kernel and result, and the padding."""
    spaces = []
    for x, spec, name in zip(
        (lhs, rhs, out),
        params["dimension_numbers"],
        ("lhs_dilation", "rhs_dilation", "window_strides"),
        strict=True,
    ):
        shape = x.shape if isinstance(x, ShapedArray) else shape_of(x)
        spaces.append([dilated(shape[i], d) for i, d in zip(spec[2:], params[name], strict=True)])
    return list(zip(*spaces, params["padding"], strict=True))


def _swapped(spec: tuple[int, ...]) -> tuple[int, ...]:
    """Axes with batch and feature, or output and input features, in each other's place."""
    return (spec[1], spec[0], *spec[2:])


def _convolved(x: Any, kernel: Any, like: ShapedArray, params: Params) -> Any:
    """A convolution whose operands may differ in width, as a value of the dtype of `like`."""
    dtype = max(get_aval(x).dtype, get_aval(kernel).dtype, key=lambda d: d.itemsize)
    out = op.conv_general_dilated(_as(x, dtype), _as(kernel, dtype), **params)
    return _as(out, like.dtype)


def _as(x: Any, dtype: Any) -> Any:
    if get_aval(x).dtype == dtype:
        return x
    return op.convert_element_type(x, new_dtype=dtype, weak_type=False)


def _moved(x: Any, source: int, target: int, groups: int) -> Any:
    """`x` with the groups that an axis is divided in taken out of it, and put in front of another.

    Both axes keep the rest of their elements in order.
    """
    shape = shape_of(x)
    split = (*shape[:source], groups, shape[source] // groups, *shape[source + 1 :])
    return _fold(_reshape(x, split), source, target, 1)


def _reshape(x: Any, shape: Sequence[int]) -> Any:
    return op.reshape(x, dimensions=None, new_sizes=tuple(shape))


def _fold(x: Any, dim: int, axis: int, groups: int) -> Any:
    """`x` without axis `dim`, which becomes part of `axis` of what remains.

    That axis is then in the order (group, dim, rest of the group).
    """
    shape = [n for i, n in enumerate(shape_of(x)) if i != dim]
    size, rest = shape_of(x)[dim], shape[axis] // groups
    if groups == 1:
        x = move_axis(x, dim, axis)
    else:
        place = axis + (axis >= dim)
        full = shape_of(x)
        x = _reshape(x, (*full[:place], groups, rest, *full[place + 1 :]))
        x = move_axis(x, dim + (dim > place), axis + 1)
    return _reshape(x, (*shape[:axis], groups * size * rest, *shape[axis + 1 :]))


def _unfold(x: Any, axis: int, groups: int, size: int) -> tuple[Any, int]:
    """What `_fold` made one axis of, as two again; the mapped axis is the first of them."""
    shape = shape_of(x)
    before, after = shape[:axis], shape[axis + 1 :]
    rest = shape[axis] // (groups * size)
    if groups > 1:
        x = move_axis(_reshape(x, (*before, groups, size, rest, *after)), axis + 1, axis)
    return _reshape(x, (*before, size, groups * rest, *after)), axis


def batched_conv(
    size: int, args: Sequence[Any], dims: Sequence[int | None], params: Params
) -> tuple[Any, int]:
    """The convolution of each array, or with each kernel: as one with a larger batch or with
    more features, or where both are mapped, with a group for each."""
    (lhs, rhs), (dx, dk) = args, dims
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if dx is None:
        assert dk is not None
        chunks = max(groups, batch_groups)
        rhs = _fold(rhs, dk, of_rhs[0], chunks)
        return _unfold(op.conv_general_dilated(lhs, rhs, **params), of_out[1], chunks, size)
    if dk is None:
        lhs = _fold(lhs, dx, of_lhs[0], batch_groups)
        return _unfold(op.conv_general_dilated(lhs, rhs, **params), of_out[0], 1, size)
    count = "batch_group_count" if batch_groups > 1 else "feature_group_count"
    lhs = _fold(lhs, dx, of_lhs[0 if batch_groups > 1 else 1], 1)
    rhs = _fold(rhs, dk, of_rhs[0], 1)
    out = op.conv_general_dilated(lhs, rhs, **(params | {count: params[count] * size}))
    return _unfold(out, of_out[1], 1, size)
