"""Convolutions as matrix products, for GPUs.

A convolution of cuDNN needs an algorithm that is found by running it on the GPU.  Without one, XLA
writes a program that fails (jaxlib 0.11.2) or, with `xla_gpu_autotune_level` 0, one that takes
several hundred times as long.  A product needs no such search: on an H100, 3 x 3 of 64 features to
64 over 64 images of 56 x 56 take 0.39 ms as a product of patches, 0.11 ms by cuDNN's fastest
algorithm and 31 ms by its first one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives import conv_forms as forms
from olympus_core.primitives.elementwise.base import reshape

#: slices up to which a convolution is written out
_MOST_SLICES = 256
#: bytes of all patches up to which they are one operand; above, each is multiplied by itself
_MOST_BYTES = 2**30


def gpu_form(
    avals: Sequence[ShapedArray], out: ShapedArray, params: forms.Params
) -> forms.Form | None:
    """Return the function that computes a convolution by products.

    None for a result without elements, and for too many slices.
    """
    lhs, rhs = avals
    if not out.size:
        return None
    if dtypes.kind(lhs.dtype) == "c":
        return complex_convolution
    if params["batch_group_count"] > 1:
        return forms.grouped_weights
    numbers = params["dimension_numbers"]
    kernel = math.prod([rhs.shape[axis] for axis in numbers.rhs_spec[2:]])
    result = math.prod([out.shape[axis] for axis in numbers.out_spec[2:]])
    if min(kernel, result) > _MOST_SLICES:
        return None
    if any(low < 0 or high < 0 for low, high in params["padding"]):
        return forms.cropped_convolution
    if kernel > result:
        return product_of_windows
    size = kernel * result * lhs.shape[numbers.lhs_spec[0]] * lhs.shape[numbers.lhs_spec[1]]
    is_plain = params["feature_group_count"] == 1 and size * lhs.dtype.itemsize <= _MOST_BYTES
    return forms.product_of_patches if is_plain else product_of_grouped_patches


def complex_convolution(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by three real convolutions.

    (a + ib)(c + id) = (ac - bd) + i((a + b)(c + d) - ac - bd).
    """
    (a, b), (c, d) = ((op.real(x), op.imag(x)) for x in (lhs, rhs))
    pairs = (a, c), (b, d), (op.add(a, b), op.add(c, d))
    first, second, both = (op.conv_general_dilated(x, y, **params) for x, y in pairs)
    return op.complex(op.sub(first, second), op.sub(both, op.add(first, second)))


def product_of_grouped_patches(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by products over the elements of the kernel, each with a slice of the array.

    The slices are joined along the features, so that it is one product, unless they are large.
    """
    _, of_rhs, of_out = params["dimension_numbers"]
    groups, rank, own = params["feature_group_count"], len(shape), params
    array, spec = _features_last(lhs, params)
    kernel = forms._laid_out(rhs, of_rhs, (rank - 1, rank - 2, *range(rank - 2)))
    sizes = [shape[axis] for axis in of_out[2:]]
    counts = shape_of(kernel)[: rank - 2]
    parts = list(_slices(array, spec, counts, sizes, params["rhs_dilation"], params))
    inputs, outputs = shape_of(kernel)[rank - 2 :]
    kernel = reshape(kernel, (len(parts), inputs, groups, outputs // groups))
    total = None
    factors = list(_joined(parts, kernel, groups))
    if len(factors) > 1:
        params = params | {"preferred_element_type": forms._wide(lhs, params)}
    for several, weights in factors:
        term = _grouped_product(several, weights, params)
        total = term if total is None else op.add(total, term)
    out = reshape(total, (*shape_of(total)[: rank - 1], outputs))
    return forms._finished(out, (0, rank - 1, *range(1, rank - 1)), lhs, own)


def _joined(parts: Sequence[Any], kernel: Any, groups: int) -> Iterator[tuple[Any, Any]]:
    """Yield the factors of each product: slices with their groups as an axis, and the weights."""
    split = [reshape(x, (*shape_of(x)[:-1], groups, shape_of(x)[-1] // groups)) for x in parts]
    count, inputs, _, outputs = shape_of(kernel)
    if sum(get_aval(x).size * get_aval(x).dtype.itemsize for x in split) > _MOST_BYTES:
        for i, x in enumerate(split):
            limits = (i + 1, inputs, groups, outputs)
            one = op.slice(kernel, start_indices=(i, 0, 0, 0), limit_indices=limits, strides=None)
            yield x, reshape(one, (inputs, groups, outputs))
        return
    whole = (
        split[0] if count == 1 else op.concatenate(*split, dimension=len(shape_of(split[0])) - 1)
    )
    yield whole, reshape(kernel, (count * inputs, groups, outputs))


def _grouped_product(x: Any, weights: Any, params: forms.Params) -> Any:
    """Return the product (..., groups, k) x (k, groups, n) -> (..., groups, n)."""
    rank, groups = len(shape_of(x)), shape_of(weights)[1]
    if groups == 1:
        x, weights = reshape(x, (*shape_of(x)[:-2], shape_of(x)[-1])), _without(weights, 1)
        out = _product(x, weights, (((rank - 2,), (0,)), ((), ())), params)
        return reshape(out, (*shape_of(out)[:-1], 1, shape_of(out)[-1]))
    out = _product(x, weights, (((rank - 1,), (0,)), ((rank - 2,), (1,))), params)
    return op.transpose(out, permutation=(*range(1, rank - 1), 0, rank - 1))


def product_of_windows(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by a product for each element of the result, as in a gradient of weights."""
    _, of_rhs, of_out = params["dimension_numbers"]
    groups, rank = params["feature_group_count"], len(shape)
    array, spec = _features_last(lhs, params)
    kernel = forms._laid_out(rhs, of_rhs, (0, rank - 1, *range(1, rank - 1)))
    outputs, counts = shape_of(kernel)[0], [shape[axis] for axis in of_out[2:]]
    sizes = shape_of(kernel)[1 : rank - 1]
    changed = params | {"window_strides": params["rhs_dilation"]}
    windows = _slices(array, spec, counts, sizes, params["window_strides"], changed)
    rows = [_windows_product(x, kernel, groups, params) for x in windows]
    stacked = op.concatenate(*rows, dimension=1) if len(rows) > 1 else rows[0]
    out = reshape(stacked, (shape_of(stacked)[0], *counts, outputs))
    return forms._finished(out, (0, rank - 1, *range(1, rank - 1)), lhs, params)


def _windows_product(x: Any, kernel: Any, groups: int, params: forms.Params) -> Any:
    """Return the product of a window (batch, *space, features) and the kernel: (batch, 1, outputs).

    The kernel is (outputs, *space, features of a group).
    """
    rank, batch = len(shape_of(x)), shape_of(x)[0]
    outputs, space = shape_of(kernel)[0], tuple(range(1, rank - 1))
    if groups == 1:
        axes = tuple(range(1, rank))
        return reshape(_product(x, kernel, ((axes, axes), ((), ())), params), (batch, 1, outputs))
    x = reshape(x, (*shape_of(x)[:-1], groups, shape_of(x)[-1] // groups))
    kernel = reshape(kernel, (groups, outputs // groups, *shape_of(kernel)[1:]))
    mine, theirs = (*space, rank), (*[a + 1 for a in space], rank)
    out = _product(x, kernel, ((mine, theirs), ((rank - 1,), (0,))), params)  # groups, batch, ...
    return reshape(op.transpose(out, permutation=(1, 0, 2)), (batch, 1, outputs))


def _features_last(lhs: Any, params: forms.Params) -> tuple[Any, tuple[int, ...]]:
    """Return the padded array in the order (batch, *space, features), and its specification."""
    of_lhs, rank = params["dimension_numbers"].lhs_spec, len(shape_of(lhs))
    spec = (0, rank - 1, *range(1, rank - 1))
    return forms._laid_out(forms._padded(lhs, of_lhs, params), of_lhs, spec), spec


def _slices(
    array: Any,
    spec: Sequence[int],
    counts: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
    params: forms.Params,
) -> Iterator[Any]:
    """Yield the slice of `sizes` at each place of a grid of `counts`, which are `steps` apart."""
    for place in itertools.product(*map(range, counts)):
        starts = [i * step for i, step in zip(place, steps, strict=True)]
        yield forms._strided(array, spec, starts, sizes, params["window_strides"])


def _product(x: Any, y: Any, dimension_numbers: Any, params: forms.Params) -> Any:
    return op.dot_general(
        x,
        y,
        dimension_numbers=dimension_numbers,
        precision=params["precision"],
        preferred_element_type=params["preferred_element_type"],
    )


def _without(x: Any, axis: int) -> Any:
    """Return the array without an axis of length 1."""
    return reshape(x, tuple([n for i, n in enumerate(shape_of(x)) if i != axis]))
