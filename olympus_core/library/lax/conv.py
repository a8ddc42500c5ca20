"""The convolutions of `olympus.lax`: their layouts, their padding, and the functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import Shape, get_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.dot import PrecisionLike, canonical_preferred
from olympus_core.library.lax.window import PaddingLike, ints, pads_of
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.conv import ConvDimensionNumbers, conv_general_dilated_p
from olympus_core.primitives.elementwise.arithmetic import rem_p
from olympus_core.primitives.elementwise.logic import eq_p
from olympus_core.primitives.precision import Precision, canonical_precision
from olympus_core.primitives.shape import iota_p, reshape_p, rev_p, transpose_p
from olympus_core.primitives.window_parameters import Padding, dilated, windows

ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Return the axes of a convolution's arrays, from three strings such as "NHWC".

    Letters: N batch, C feature; O, I output and input features of the kernel; all others are
    space axes, in the kernel's order.  None means batch, features, space.

    Raises ShapeError for strings that do not match the ranks or each other.

    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*map(ints, dimension_numbers))
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise ShapeError(
            f"convolution requires lhs and rhs ndim to be equal, got {rank} and {len(rhs_shape)}: "
            f"the shapes are {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(rank)),) * 3)
    if not isinstance(dimension_numbers, (tuple, list)):
        raise ShapeError(
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    texts = list(dimension_numbers)
    if len(texts) != 3:
        raise ShapeError(
            f"convolution dimension_numbers list/tuple must be length 3, got {len(texts)}."
        )
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ShapeError(
                f"convolution dimension_numbers elements must be strings, got {type(text)} at "
                f"position {i}."
            )
        if len(text) != rank:
            raise ShapeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(text)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(texts))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the axes of (lhs, rhs, out) in the order batch or output features, features, space.

    Raises ShapeError for letters that are repeated, missing, or not shared.

    >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    for i, (text, names) in enumerate(((lhs, "NC"), (rhs, "OI"), (out, "NC"))):
        term = f"convolution dimension_numbers[{i}] must"
        if any(text.count(c) != 1 for c in names):
            raise ShapeError(
                f"{term} contain the characters '{names[0]}' and '{names[1]}' exactly once, got "
                f"{text}."
            )
        if len(set(text)) != len(text):
            raise ShapeError(f"{term} not have duplicate characters, got {text}.")
    space = [c for c in rhs if c not in "OI"]
    if not set(space) == set(lhs) - set("NC") == set(out) - set("NC"):
        raise ShapeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {tuple(dimension_numbers)}."
        )
    orders = ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
    return tuple([tuple([text.index(c) for c in (*names, *space)]) for text, names in orders])


def check_cropped(sizes: Sequence[int], pads: Padding) -> None:
    """Raise ShapeError unless each size has a pair, and no pair crops more than the size."""
    if len(pads) != len(sizes):
        raise ShapeError(
            f"Wrong number of explicit pads for convolution: expected {len(sizes)}, got "
            f"{len(pads)}: {pads}"
        )
    if any(n + low + high < 0 for n, (low, high) in zip(sizes, pads, strict=True)):
        raise ShapeError(f"the negative padding {pads} is larger than the sizes {tuple(sizes)}")


def transpose_padding(
    sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: PaddingLike
) -> tuple[tuple[int, int], ...]:
    """Return the padding of a transposed convolution from the padding of the direct one.

    "SAME" makes the result `stride` times the input, "VALID" as large as the range that a kernel
    touches; pairs (low, high) pad the direct convolution, and so crop the transposed one.
    """
    names = [padding] * len(sizes) if isinstance(padding, str) else list(padding)
    pads = []
    for size, stride, spread, pad in zip(sizes, strides, dilation, names, strict=True):
        last = dilated(size, spread) - 1
        if pad == "SAME":
            total = last + stride - 1
            low = last if stride > last else -(-total // 2)
        elif pad == "VALID":
            low, total = last, last + stride - 1 + max(last + 1 - stride, 0)
        elif isinstance(pad, tuple):
            low, total = last - pad[0], 2 * last - sum(pad)
        else:
            raise ShapeError(f"padding is 'SAME', 'VALID' or pairs of ints, and not {pad!r}")
        pads.append((low, total - low))
    return tuple(pads)


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: PaddingLike,
    batch_group_count: int = 1,
) -> Shape:
    """Return the shape of a convolution of layouts (N, C, space...) and (O, I, space...).

    >>> conv_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (2, 2), [(0, 0), (0, 0)])
    (1, 4, 3, 3)
    """
    ones, sizes = (1,) * (len(lhs_shape) - 2), tuple(lhs_shape[2:])
    pads = pads_of(pads, sizes, rhs_shape[2:], strides, ones, ones)
    check_cropped(sizes, pads)
    space = [
        windows(n, pad, k, stride)
        for n, k, stride, pad in zip(sizes, rhs_shape[2:], strides, pads, strict=True)
    ]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: PaddingLike,
    dimension_numbers: Sequence[str],
) -> Shape:
    """Return the shape of a convolution of arrays of any layouts.

    >>> conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME",
    ...                          ("NHWC", "HWIO", "NHWC"))
    (1, 8, 8, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple([shape[out.index(i)] for i in range(len(out))])


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: PaddingLike,
    dimension_numbers: Sequence[str],
) -> Shape:
    """Return the shape of a transposed convolution of arrays of any layouts.

    >>> conv_transpose_shape_tuple((1, 3, 8, 8), (4, 3, 2, 2), (2, 2), "SAME",
    ...                            ("NCHW", "OIHW", "NCHW"))
    (1, 4, 16, 16)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    sizes, kernel = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    pads = padding
    if isinstance(padding, str):
        pads = transpose_padding(kernel[2:], window_strides, (1,) * len(kernel[2:]), padding)
    grown = [dilated(n, s) for n, s in zip(sizes[2:], window_strides, strict=True)]
    shape = conv_shape_tuple((*sizes[:2], *grown), kernel, (1,) * len(grown), pads)
    return tuple([shape[out.index(i)] for i in range(len(out))])


_INT32 = np.dtype("int32")


@out_sharded
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: PaddingLike,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Convolve `lhs` with the kernel `rhs` over any number n of space axes, without flipping it.

    lhs, rhs: arrays of rank n + 2.  window_strides, lhs_dilation, rhs_dilation: an int per space
    axis.  padding: pairs (low, high), negative to crop, or without lhs_dilation "VALID", "SAME" or
    "SAME_LOWER".  dimension_numbers: the layouts, such as ("NHWC", "HWIO", "NHWC"); by default
    ("NCHW", "OIHW", "NCHW").  feature_group_count, batch_group_count: the number of groups of
    features or of the batch that are convolved with separate kernels.

    Raises ShapeError if the shapes do not match, DTypeError for different dtypes.

    >>> conv_general_dilated(ones((1, 3, 8, 8)), ones((4, 3, 3, 3)), (1, 1), "SAME").shape
    (1, 4, 8, 8)
    """
    check_arrays("conv_general_dilated", lhs, rhs)
    left, right = get_aval(lhs).shape, get_aval(rhs).shape
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    space = len(left) - 2
    strides = ints(window_strides)
    grow, spread = ((1,) * space if d is None else ints(d) for d in (lhs_dilation, rhs_dilation))
    for name, values in (
        ("window_strides", strides),
        ("lhs_dilation", grow),
        ("rhs_dilation", spread),
    ):
        if len(values) != space:
            raise ShapeError(
                f"conv_general_dilated window and {name} must have the same number of dimensions, "
                f"but got {space} and {len(values)}"
            )
    if isinstance(padding, str) and grow != (1,) * space:
        raise ShapeError(
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose. The padding is "
            f"{padding!r}, and lhs_dilation is {grow}",
        )
    sizes = tuple([left[i] for i in numbers.lhs_spec[2:]])
    window = tuple([right[i] for i in numbers.rhs_spec[2:]])
    pads = pads_of(padding, sizes, window, strides, grow, spread)
    check_cropped([dilated(n, d) for n, d in zip(sizes, grow, strict=True)], pads)
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=pads,
        lhs_dilation=grow,
        rhs_dilation=spread,
        dimension_numbers=numbers,
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonical_precision(precision),
        preferred_element_type=canonical_preferred("conv_general_dilated", preferred_element_type),
    )


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: PaddingLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve arrays of layouts (N, C, space...) and (O, I, space...); `padding` is by name.

    >>> conv(ones((1, 3, 8, 8)), ones((4, 3, 3, 3)), (2, 2), "VALID").shape
    (1, 4, 3, 3)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: PaddingLike,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolve arrays of layouts (N, C, space...) and (O, I, space...), dilated and padded.

    >>> conv_with_general_padding(ones((1, 1, 4, 4)), ones((1, 1, 3, 3)), (1, 1), "SAME", None,
    ...                           (2, 2)).shape
    (1, 1, 4, 4)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: PaddingLike,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Return the transpose of a strided convolution ("deconvolution"): `lhs` grows by `strides`.

    padding: "SAME" or "VALID" of the direct convolution; pairs (low, high) are the padding here, or
    with `use_consistent_padding` the padding of the direct convolution.  dimension_numbers:
    ("NHWC", "HWIO", "NHWC") by default.  transpose_kernel: flip the kernel, and exchange its
    features, so that the result is the derivative of the convolution with it.

    Raises ShapeError if the shapes do not match.

    >>> conv_transpose(ones((1, 8, 8, 3)), ones((2, 2, 3, 4)), (2, 2), "SAME").shape
    (1, 16, 16, 4)
    """
    check_arrays("conv_transpose", lhs, rhs)
    left, right = get_aval(lhs).shape, get_aval(rhs).shape
    if dimension_numbers is None:
        dimension_numbers = _LAYOUTS.get(len(left))
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    space = numbers.rhs_spec[2:]
    spread = (1,) * len(space) if rhs_dilation is None else ints(rhs_dilation)
    pads = padding
    if use_consistent_padding or padding in ("SAME", "VALID"):
        sizes = [right[i] for i in space]
        pads = transpose_padding(sizes, ints(strides), spread, padding)
    if transpose_kernel:
        rhs = rev_p.bind(rhs, dimensions=space)
        order = list(range(len(right)))
        o, i = numbers.rhs_spec[:2]
        order[o], order[i] = i, o
        rhs = transpose_p.bind(rhs, permutation=tuple(order))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(space),
        pads,
        ints(strides),
        spread,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: PaddingLike,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the patches that a kernel of shape `filter_shape` covers, as features.

    The arguments are those of `conv_general_dilated`.  The result has C * prod(filter_shape)
    features, ordered by the feature of `lhs`, then by the position in the patch.

    >>> conv_general_dilated_patches(ones((1, 3, 8, 8)), (2, 2), (2, 2), "VALID").shape
    (1, 12, 4, 4)
    """
    check_arrays("conv_general_dilated_patches", lhs)
    aval, window = get_aval(lhs), ints(filter_shape)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *window), dimension_numbers)
    channels = aval.shape[numbers.lhs_spec[1]]
    return conv_general_dilated(
        lhs,
        _one_hot_kernel(window, channels, numbers, aval.dtype),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=channels,
        precision=None if precision is None else (Precision(precision), Precision.DEFAULT),
        preferred_element_type=preferred_element_type,
    )


def _one_hot_kernel(
    window: tuple[int, ...], channels: int, numbers: ConvDimensionNumbers, dtype: DType
) -> Any:
    """Return a kernel that copies each window position of each channel to a separate feature."""
    places = math.prod(window)
    flat = (channels * places, places)
    rows = iota_p.bind(dtype=_INT32, shape=flat, dimension=0)
    columns = iota_p.bind(dtype=_INT32, shape=flat, dimension=1)
    hot = eq_p.bind(rem_p.bind(rows, np.int32(places)), columns)
    hot = convert(hot, dtype)
    kernel = reshape_p.bind(hot, dimensions=None, new_sizes=(channels * places, 1, *window))
    order = tuple(map(numbers.rhs_spec.index, range(len(window) + 2)))
    return transpose_p.bind(kernel, permutation=order)
