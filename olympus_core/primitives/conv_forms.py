"""Convolutions in forms that XLA compiles to fast code for the CPU.

XLA's CPU kernels are fast for convolutions with many input features and few groups.  XLA computes
others element by element, or by kernels that have zeros for the other groups, which takes ten to
several hundred times as long.  The functions here compute the same result by other operations,
under `LoweringContext.apply`; `form_for` selects the function for a convolution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.conv_tiles import tile_for, winograd_convolution
from olympus_core.primitives.elementwise.base import (
    move_axis,
    reshape,
    scalar_zero,
    spread,
    to_dtype,
)
from olympus_core.primitives.looping import repeat
from olympus_core.primitives.matrices import MANY_PRODUCTS
from olympus_core.primitives.window_parameters import dilated

Params = dict[str, Any]
Form = Callable[..., Any]

#: elements up to which the sum over a kernel is unrolled: each takes XLA some 3 ms to compile
_WRITTEN_OUT = 64
#: least number of groups that fills vector instructions; and most features of a group for which
#: that is a gain: of 32 groups, 3 x 3 of 4 features take 34 ms, by kernels 213 ms; of 8 groups
#: with 7 inputs and 32 outputs 30 ms and 22 ms, and 1 x 1 of 32 groups of 32 take 18 ms and 2 ms
_LANES = 8
#: the kernels are slow for arrays of three features, as images have, and fewer outputs than these:
#: 3 x 3 to 24 features take 2.5 ms, and to 48 features 0.4 ms
_COLORS, _OUTPUTS_OF_COLORS = 3, 48
#: most outputs for which XLA has no fast kernel for six features either
_FEW_OUTPUTS = 16
#: least products for which a one-element kernel of several groups is a product for each group:
#: 14 x 14 positions of 32 features in 4 groups take 32 us by kernels, and 18 us
_GROUPED_PRODUCTS = 2**14
#: most result positions, of all images, and least output features for which a product of the
#: patches is faster than the kernels: 7 x 7 positions of 512 features 2.6 and 3.3 ms, 13 x 13 of
#: 384 2.9 and 3.3 ms, 14 x 14 of 256 the same; and most elements of a kernel, each of them a copy
_FEW_POSITIONS, _MANY_OUTPUTS, _PATCH = 169, 256, 25
FLOAT32 = np.dtype("float32")


def form_for(avals: Sequence[ShapedArray], out: ShapedArray, params: Params) -> Form | None:
    """Return the function that computes the convolution: (lhs, rhs, shape, **params) -> result.

    Return None if XLA's kernels are to be used.
    """
    if dtypes.kind(avals[0].dtype) != "f" or not out.size:
        return None
    is_cropped = any(n < 0 for pair in params["padding"] for n in pair)
    return _faster_form(avals, out, params) or (cropped_convolution if is_cropped else None)


def _faster_form(avals: Sequence[ShapedArray], out: ShapedArray, params: Params) -> Form | None:
    """Return a function that is faster than XLA's kernels, or None.

    The times below were measured with arrays of 0.5 M elements on 2 cores.
    """
    lhs, rhs = avals
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    if tile_for(avals, out.shape, params):
        return winograd_convolution  # 28 x 28 positions of 128 features: 1.3 and 0.8 ms
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    kernel, result = (math.prod(_space(x, s)) for x, s in ((rhs, of_rhs), (out, of_out)))
    if batch_groups > 1:  # gradients of weights; in groups of 4: 3,470 ms by kernels, 9 ms
        alone = lhs.shape[of_lhs[0]] == batch_groups and result <= _WRITTEN_OUT
        return depthwise_weights if alone else grouped_weights  # of each feature: 13 and 2 ms
    inputs, outputs = rhs.shape[of_rhs[1]], rhs.shape[of_rhs[0]]
    is_narrow = kernel * inputs <= _WRITTEN_OUT
    is_long = out.size * inputs * kernel >= MANY_PRODUCTS
    is_inside = {*params["lhs_dilation"]} <= {1} and all(
        not low and high <= 0 for low, high in params["padding"]
    )
    if groups > 1:  # of one feature: 15 ms by kernels, 0.4 ms; of 4: 11 and 2 ms
        is_point = kernel == 1 and is_inside and _is_product_of_points(lhs.shape, params)
        products = out.size * inputs
        if is_point and inputs > 1 and products >= _GROUPED_PRODUCTS:
            return grouped_products  # 4 groups of 34 features: 0.37 ms by kernels, 0.09 to 0.2 ms
        several = groups >= _LANES and kernel > 1 and max(inputs, outputs // groups) <= _LANES
        return narrow_convolution if is_narrow and (inputs == 1 or several) else None
    if is_inside:
        if result == 1 or (kernel == 1 and _is_product_of_points(lhs.shape, params)):
            return convolution_as_product  # a gradient of weights: 12 ms by kernels, 6 ms
    elif {*params["rhs_dilation"]} <= {1} and kernel > result and max(params["lhs_dilation"]) > 1:
        return exchanged_convolution  # weights of a transposed convolution: 80 ms by kernels, 3 ms
    if is_narrow and inputs == 1 and of_lhs[1] == lhs.ndim - 1 and (kernel <= 9 or outputs <= 8):
        return narrow_convolution  # of one feature to 6: 2.5 ms by kernels, 0.3 ms
    positions = result * lhs.shape[of_lhs[0]]
    if not is_long:
        return None
    if positions <= _FEW_POSITIONS and outputs >= _MANY_OUTPUTS and 1 < kernel <= _PATCH:
        return product_of_patches
    if inputs == _COLORS and kernel > 1 and outputs < _OUTPUTS_OF_COLORS:
        has_pairs = outputs > _FEW_OUTPUTS and _padding_of_pairs(lhs.shape, rhs.shape, params)
        return paired_columns if has_pairs else padded_outputs
    return None


def paired_columns(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve pairs of columns, as one column of twice the features, with half of the stride.

    Weights of zero complete the pairs of the kernel.  XLA's kernels are faster for six features
    than for three: 3 x 3 to 24 features take 0.26 ms, and 0.32 ms by `padded_outputs`.
    """
    numbers = params["dimension_numbers"]
    padding = _padding_of_pairs(shape_of(lhs), shape_of(rhs), params)
    assert padding is not None  # `form_for` selects this form by the same rule
    *lead, columns, features = shape_of(lhs)
    lhs = reshape(lhs, (*lead, columns // 2, 2 * features))
    last = len(shape) - 1
    of_kernel = (last, last - 1, *range(last - 1))
    kernel = _laid_out(rhs, numbers.rhs_spec, of_kernel)
    *rows, width, _, outputs = shape_of(kernel)
    first = params["padding"][-1][0] % 2
    config = [(0, 0, 0)] * len(shape)
    config[-3] = (first, (first + width) % 2, 0)
    kernel = op.pad(kernel, scalar_zero(kernel), padding_config=tuple(config))
    width = shape_of(kernel)[-3]
    kernel = reshape(kernel, (*rows, width // 2, 2 * features, outputs))
    changed = {
        "dimension_numbers": type(numbers)(numbers.lhs_spec, of_kernel, numbers.out_spec),
        "window_strides": (*params["window_strides"][:-1], 1),
        "padding": (*params["padding"][:-1], padding),
    }
    return op.conv_general_dilated(lhs, kernel, **(params | changed))


def _padding_of_pairs(lhs: Shape, rhs: Shape, params: Params) -> tuple[int, int] | None:
    """Return the padding of pairs of columns by which a convolution is one of these, or None.

    The columns are the last axis but one, before the features.
    """
    of_lhs, of_rhs, _ = params["dimension_numbers"]
    columns, width = lhs[-2], rhs[of_rhs[-1]]
    steps = {*params["lhs_dilation"], *params["rhs_dilation"]}
    in_order = [of_lhs[0], *of_lhs[2:], of_lhs[1]] == [*range(len(lhs))]
    if not in_order or columns % 2 or params["window_strides"][-1] != 2 or steps != {1}:
        return None
    low, high = params["padding"][-1]
    results = (columns + low + high - width) // 2 + 1
    before, kernel = (low + 1) // 2, (low % 2 + width + 1) // 2
    after = results - 1 + kernel - before - columns // 2
    return (before, after) if low >= 0 and after >= 0 else None


def padded_outputs(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve to more output features, whose weights are zero, and leave them out."""
    of_rhs = params["dimension_numbers"].rhs_spec
    config = [(0, 0, 0)] * len(shape)
    config[of_rhs[0]] = (0, _OUTPUTS_OF_COLORS - shape_of(rhs)[of_rhs[0]], 0)
    rhs = op.pad(rhs, scalar_zero(rhs), padding_config=tuple(config))
    out = op.conv_general_dilated(lhs, rhs, **params)
    return op.slice(out, start_indices=(0,) * len(shape), limit_indices=shape, strides=None)


def product_of_patches(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by a product of the weights and the elements that each result position reads."""
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    count = len(shape)
    last = (0, count - 1, *range(1, count - 1))
    array = _laid_out(_padded(lhs, of_lhs, params), of_lhs, last)
    sizes, places = _space(rhs, of_rhs), [shape[i] for i in of_out[2:]]
    parts = []
    for place in itertools.product(*map(range, sizes)):
        starts = [i * d for i, d in zip(place, params["rhs_dilation"], strict=True)]
        parts.append(_strided(array, last, starts, places, params["window_strides"]))
    patches = op.concatenate(*parts, dimension=count - 1)
    kernel = _laid_out(rhs, of_rhs, (count - 1, count - 2, *range(count - 2)))
    kernel = reshape(kernel, (shape_of(patches)[-1], shape_of(kernel)[-1]))
    out = _product(patches, kernel, count - 1, 0, (), params)
    return _finished(out, last, lhs, params)


def grouped_products(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve groups by a one-element kernel: a product for each group.

    If the features of one image come before its space axes, this is one product of batches, without
    a transpose.
    """
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    groups, count = params["feature_group_count"], len(shape)
    places = [shape[i] for i in of_out[2:]]
    lhs = _strided(lhs, of_lhs, [0] * len(places), places, params["window_strides"])
    outputs, inputs = (shape_of(rhs)[a] for a in of_rhs[:2])
    weights = reshape(_laid_out(rhs, of_rhs, range(count)), (groups, outputs // groups, inputs))
    if of_one_image_first(shape_of(lhs), of_lhs):
        array = reshape(_laid_out(lhs, of_lhs, range(count)), (groups, inputs, math.prod(places)))
        out = _product(weights, array, 2, 1, (0,), params)
        return _finished(reshape(out, (1, outputs, *places)), (*range(count),), lhs, params)
    last = (0, count - 1, *range(1, count - 1))
    array = _laid_out(lhs, of_lhs, last)
    full = shape_of(array)[:-1]
    array = reshape(array, (math.prod(full), groups, inputs))
    out = op.transpose(_product(array, weights, 2, 2, (1, 0), params), permutation=(1, 0, 2))
    return _finished(reshape(out, (*full, outputs)), last, lhs, params)


def _product(x: Any, y: Any, axis: int, other: int, batch: tuple[int, ...], params: Params) -> Any:
    """Return the product over an axis of each array; `batch` is the axis of groups of both."""
    pairs = (batch[:1], batch[-1:])
    return op.dot_general(
        x,
        y,
        dimension_numbers=(((axis,), (other,)), pairs),
        precision=None,  # XLA has one product algorithm for the CPU
        preferred_element_type=params["preferred_element_type"],
    )


def cropped_convolution(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Crop negative padding before the convolution: XLA's kernels of jaxlib 0.10 overread.

    Where the crop cuts a hole between two elements, the rest of the hole becomes padding.  If no
    element of the array is left, the result consists of padding only.
    """
    of_lhs, padding = params["dimension_numbers"].lhs_spec, []
    config = [(0, 0, 0)] * len(shape)
    for axis, ends, grow in zip(of_lhs[2:], params["padding"], params["lhs_dilation"], strict=True):
        low, high = (-(min(end, 0) // grow) for end in ends)  # elements that are cropped
        if low + high >= shape_of(lhs)[axis]:
            return spread(_finished_dtype(lhs, params).type(0), shape)
        config[axis] = (-low, -high, 0)
        padding.append((ends[0] + low * grow, ends[1] + high * grow))
    lhs = op.pad(lhs, scalar_zero(lhs), padding_config=tuple(config))
    return op.conv_general_dilated(lhs, rhs, **(params | {"padding": tuple(padding)}))


def narrow_convolution(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve groups of few input features: sum products with shifted arrays over the kernel.
    If groups have several features, these are meanwhile in the order (index in the group, group),
    so that elements adjacent in memory need the same computation.
    """
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    feature, groups, dtype = of_lhs[1], params["feature_group_count"], _wide(lhs, params)
    outputs, inputs, *places = [shape_of(rhs)[axis] for axis in of_rhs]
    several = inputs > 1
    if several:
        lhs, rhs = _regrouped(lhs, feature, groups), _regrouped(rhs, of_rhs[0], groups)
    array, total = _padded(lhs, of_lhs, params), None
    spec, sizes = (*of_lhs[:2], *of_lhs[1:]), [groups, *[shape[i] for i in of_out[2:]]]
    strides, steps = (1, *params["window_strides"]), (groups, *params["rhs_dilation"])
    for place in itertools.product(range(inputs), *map(range, places)):
        starts = [i * d for i, d in zip(place, steps, strict=True)]
        part = to_dtype(_strided(array, spec, starts, sizes, strides), dtype)
        part = _repeated(part, feature, outputs // groups, in_a_row=not several)
        # only slices read the weights, so that `share_operands` can read them at a position
        factor = _strided(rhs, of_rhs[:1] + of_rhs, place, (1,) * len(place), (1,) * len(place))
        factor = op.broadcast_in_dim(
            to_dtype(reshape(factor, (outputs,)), dtype),
            shape=shape_of(part),
            broadcast_dimensions=(feature,),
        )
        term = op.mul(part, factor)
        total = term if total is None else op.add(total, term)
    if several and outputs > groups:
        (total,) = op.optimization_barrier(total)
        total = _regrouped(total, feature, outputs // groups)
    return _finished(total, of_lhs, lhs, params)


def depthwise_weights(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve with one group for each batch element: a sum of products for each result position.

    A loop over the positions takes half of the time of the unrolled sums, and less to compile.
    """
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    batch, outputs, dtype = of_lhs[0], shape_of(rhs)[of_rhs[0]], _wide(lhs, params)
    array, other = _padded(lhs, of_lhs, params), to_dtype(_laid_out(rhs, of_rhs, of_lhs), dtype)
    sizes, places = _space(rhs, of_rhs), [shape[i] for i in of_out[2:]]
    extents = list(shape_of(array))
    for axis, n, dilation in zip(of_lhs[2:], sizes, params["rhs_dilation"], strict=True):
        extents[axis] = dilated(n, dilation)
    rest = tuple([a for a in range(len(shape)) if a != batch])

    def step(i: Any, sums: Any) -> Sequence[Any]:
        starts: list[Any] = [np.int32(0)] * len(shape)
        below = math.prod(places)
        for axis, n, stride in zip(of_lhs[2:], places, params["window_strides"], strict=True):
            below //= n
            index = op.rem(op.div(i, np.int32(below)), np.int32(n))
            starts[axis] = op.mul(index, np.int32(stride))
        part = op.dynamic_slice(array, *starts, slice_sizes=tuple(extents))
        part = _strided(part, of_lhs, [0] * len(places), sizes, params["rhs_dilation"])
        part = _repeated(to_dtype(part, dtype), batch, outputs // shape_of(part)[batch])
        row = reshape(op.reduce_sum(op.mul(part, other), axes=rest), (1, outputs))
        return [op.dynamic_update_slice(sums, row, i, np.int32(0))]

    count = math.prod(places)
    (sums,) = repeat(count, step, spread(dtype.type(0), (count, outputs)))
    spec = (0, len(shape) - 1, *range(1, len(shape) - 1))
    return _finished(reshape(sums, (1, *places, outputs)), spec, lhs, params)


def grouped_weights(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve groups of the batch as groups of features."""
    batch, feature = params["dimension_numbers"].lhs_spec[:2]
    groups = params["batch_group_count"]
    changed = {"batch_group_count": 1, "feature_group_count": groups}
    return op.conv_general_dilated(moved(lhs, batch, feature, groups), rhs, **(params | changed))


def convolution_as_product(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by a product: a one-element kernel sums features, a one-element result all axes."""
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    sizes, steps, contracted = _space(rhs, of_rhs), params["rhs_dilation"], len(shape)
    is_point = math.prod(sizes) == 1 and _is_product_of_points(shape_of(lhs), params)
    if is_point:
        sizes, steps, contracted = [shape[i] for i in of_out[2:]], params["window_strides"], 2
        outputs, inputs = of_rhs[:2]
        of_rhs = (int(outputs > inputs), int(inputs > outputs))
        rhs = reshape(rhs, [n for a, n in enumerate(shape_of(rhs)) if a in (outputs, inputs)])
    lhs = _strided(lhs, of_lhs, [0] * len(sizes), sizes, steps)
    factors = [(lhs, of_lhs[1:contracted]), (rhs, of_rhs[1:contracted])]
    spec = (0, *range(1, len(shape)))
    if is_point and of_one_image_first(shape_of(lhs), of_lhs):
        places = [a + (a < of_lhs[1]) for a in of_lhs]
        factors, spec = factors[::-1], (places[0], 0, *places[2:])
    elif is_point:
        places = [a - (a > of_lhs[1]) for a in of_lhs]
        spec = (places[0], len(shape) - 1, *places[2:])
    elif of_out[1] < of_out[0]:  # this order of the factors needs no transpose
        factors, spec = factors[::-1], (1, 0, *range(2, len(shape)))
    (x, mine), (y, theirs) = factors
    out = op.dot_general(
        x,
        y,
        dimension_numbers=((mine, theirs), ((), ())),
        precision=None,  # XLA has one product algorithm for the CPU
        preferred_element_type=params["preferred_element_type"],
    )
    if not is_point:
        out = reshape(out, (*shape_of(out), *(1,) * len(sizes)))
    return _finished(out, spec, lhs, params)


def _is_product_of_points(shape: Shape, params: Params) -> bool:
    """Return True if a convolution by a one-element kernel is faster as a product."""
    of_lhs = params["dimension_numbers"].lhs_spec
    return {*params["window_strides"]} <= {1} or shape[of_lhs[0]] == 1


def of_one_image_first(shape: Shape, spec: Sequence[int]) -> bool:
    """Return True for one batch element whose features are before the space axes.

    The product of weights and array then has the layout of the result: 64 features to 256, of
    56 x 56 elements, take 1.4 ms, and 6.6 ms with transposes.
    """
    return shape[spec[0]] == 1 and spec[1] < min(spec[2:], default=0)


def exchanged_convolution(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Exchange array and kernel, which gives the result in reverse order.

    Where l * lhs_dilation + low = o * stride + k, as in `conv.py`, and o' = n - 1 - o:
    k + (n - 1) * stride - low = o' * stride + l * lhs_dilation.
    """
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    padding = []
    for axis, size in enumerate(_space(lhs, of_lhs)):
        low = params["padding"][axis][0]
        below = (shape[of_out[2 + axis]] - 1) * params["window_strides"][axis] - low
        above = dilated(size, params["lhs_dilation"][axis]) + low - _space(rhs, of_rhs)[axis]
        padding.append((below, above))
    changed = {
        "dimension_numbers": type(params["dimension_numbers"])(
            of_rhs, of_lhs, (of_out[1], of_out[0], *of_out[2:])
        ),
        "lhs_dilation": (1,) * len(padding),
        "rhs_dilation": params["lhs_dilation"],
        "padding": tuple(padding),
        "precision": None,
    }
    out = op.conv_general_dilated(rhs, lhs, **(params | changed))
    return op.rev(out, dimensions=of_out[2:])


def _space(x: Any, spec: Sequence[int]) -> list[int]:
    """Return the sizes of an array's space axes."""
    shape = x.shape if isinstance(x, ShapedArray) else shape_of(x)
    return [shape[a] for a in spec[2:]]


def _padded(x: Any, spec: Sequence[int], params: Params) -> Any:
    """Return the array with its padding and the holes of its dilation."""
    config = [(0, 0, 0)] * len(shape_of(x))
    for axis, (low, high), grow in zip(
        spec[2:], params["padding"], params["lhs_dilation"], strict=True
    ):
        config[axis] = (low, high, grow - 1)
    if set(config) != {(0, 0, 0)}:
        x = op.pad(x, scalar_zero(x), padding_config=tuple(config))
    # padded once: otherwise XLA would select between elements and zeros again for each product
    (out,) = op.optimization_barrier(x)
    return out


def _strided(
    x: Any,
    spec: Sequence[int],
    starts: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> Any:
    """Return `count` elements along each space axis, from a start on, with a stride."""
    shape = shape_of(x)
    first, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    for axis, start, n, stride in zip(spec[2:], starts, sizes, strides, strict=True):
        first[axis], limits[axis], steps[axis] = start, start + (n - 1) * stride + 1, stride
    if tuple(limits) == shape and not any(first) and {*steps} == {1}:
        return x
    return op.slice(
        x, start_indices=tuple(first), limit_indices=tuple(limits), strides=tuple(steps)
    )


def _regrouped(x: Any, axis: int, groups: int) -> Any:
    """Return the array with the elements of an axis in the order (index in the group, group)."""
    shape = shape_of(x)
    split = reshape(x, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))
    return reshape(move_axis(split, axis, axis + 1), shape)


def _repeated(x: Any, axis: int, times: int, *, in_a_row: bool = True) -> Any:
    """Repeat each element along an axis `times` times, in a row or the whole axis in turn."""
    if times == 1:
        return x
    shape, place = shape_of(x), axis + in_a_row
    full = (*shape[:place], times, *shape[place:])
    axes = tuple([a for a in range(len(full)) if a != place])
    out = op.broadcast_in_dim(x, shape=full, broadcast_dimensions=axes)
    return reshape(out, (*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


def _laid_out(x: Any, spec: Sequence[int], to: Sequence[int]) -> Any:
    """Return an array with axes in the order `spec`, transposed to the order `to`."""
    axes = [0] * len(spec)
    for here, there in zip(spec, to, strict=True):
        axes[there] = here
    return x if axes == sorted(axes) else op.transpose(x, permutation=tuple(axes))


def _finished(x: Any, spec: Sequence[int], lhs: Any, params: Params) -> Any:
    """Return the result in its layout and dtype."""
    out = _laid_out(x, spec, params["dimension_numbers"].out_spec)
    return to_dtype(out, _finished_dtype(lhs, params))


def _finished_dtype(lhs: Any, params: Params) -> np.dtype[Any]:
    return np.dtype(params["preferred_element_type"] or get_aval(lhs).dtype)


def _wide(lhs: Any, params: Params) -> np.dtype[Any]:
    """Return the dtype of the sums."""
    dtypes = get_aval(lhs).dtype, params["preferred_element_type"] or FLOAT32, FLOAT32
    return max(dtypes, key=lambda d: d.itemsize)


def moved(x: Any, source: int, target: int, groups: int) -> Any:
    """Return `x` with the groups of axis `source` moved to the front of axis `target`.

    Both axes keep their other elements in order.
    """
    shape = shape_of(x)
    split = (*shape[:source], groups, shape[source] // groups, *shape[source + 1 :])
    return fold(reshape(x, split), source, target, 1)


def fold(x: Any, dim: int, axis: int, groups: int) -> Any:
    """Return `x` without axis `dim`, which becomes part of `axis` of the remaining axes.

    That axis is then in the order (group, dim, rest of the group).
    """
    shape = [n for i, n in enumerate(shape_of(x)) if i != dim]
    size, rest = shape_of(x)[dim], shape[axis] // groups
    if groups == 1:
        x = move_axis(x, dim, axis)
    else:
        place = axis + (axis >= dim)
        full = shape_of(x)
        x = reshape(x, (*full[:place], groups, rest, *full[place + 1 :]))
        x = move_axis(x, dim + (dim > place), axis + 1)
    return reshape(x, (*shape[:axis], groups * size * rest, *shape[axis + 1 :]))
