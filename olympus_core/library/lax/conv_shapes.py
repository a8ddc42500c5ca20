"""Layouts, padding and shapes of convolutions: what the user writes enters, tuples leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.avals import Shape
from olympus_core.errors import ShapeError
from olympus_core.library.lax.window import ints, pads_of
from olympus_core.primitives.conv import ConvDimensionNumbers
from olympus_core.primitives.window import Padding, dilated, windows

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
]

ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Where a convolution's arrays have their axes, from three strings such as "NHWC".

    Letters: N batch, C feature; O, I output and input features of the kernel; any others are
    space axes, in the kernel's order.  None is for batch, features, space.

    Raises ShapeError for strings that do not fit the ranks or each other.

    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*map(ints, dimension_numbers))
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise ShapeError(
            "a convolution needs an array and a kernel of one rank, and got shapes "
            f"{tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(rank)),) * 3)
    texts = list(dimension_numbers)
    if len(texts) != 3 or any(not isinstance(t, str) or len(t) != rank for t in texts):
        raise ShapeError(
            f"dimension_numbers for arrays of {rank} dimensions are three strings of {rank} "
            f"letters, and not {dimension_numbers!r}"
        )
    return ConvDimensionNumbers(*conv_general_permutations(texts))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The axes of (lhs, rhs, out) in the order batch or output features, features, space.

    Raises ShapeError for letters that are repeated, missing, or not shared.
    """
    lhs, rhs, out = dimension_numbers
    for text, names in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if any(text.count(c) != 1 for c in set(text) | set(names)):
            raise ShapeError(
                f"dimension_numbers need each of {names[0]} and {names[1]}, and each space axis, "
                f"once, and got {text!r}"
            )
    space = [c for c in rhs if c not in "OI"]
    if not set(space) == set(lhs) - set("NC") == set(out) - set("NC"):
        raise ShapeError(f"dimension_numbers must share their space axes: {lhs}, {rhs}, {out}")
    orders = ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
    return tuple([tuple([text.index(c) for c in (*names, *space)]) for text, names in orders])


def check_cropped(sizes: Sequence[int], pads: Padding) -> None:
    """Raise ShapeError unless there is a pair for each size, and none crops more than it."""
    if len(pads) != len(sizes):
        raise ShapeError(f"a convolution needs {len(sizes)} pairs of padding, and got {pads}")
    if any(n + low + high < 0 for n, (low, high) in zip(sizes, pads, strict=True)):
        raise ShapeError(f"the negative padding {pads} is larger than the sizes {tuple(sizes)}")


def transpose_padding(
    sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: Any
) -> tuple[tuple[int, int], ...]:
    """The padding of a transposed convolution, from that of the one that is transposed.

    "SAME" makes the result `stride` times the input, "VALID" as large as all that a kernel
    touches; pairs (low, high) pad the other convolution, and so crop this one.
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
    pads: Any,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of a convolution of layouts (N, C, space...) and (O, I, space...)."""
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
    padding: Any,
    dimension_numbers: Sequence[str],
) -> Shape:
    """The shape of a convolution of arrays of any layouts."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple([shape[out.index(i)] for i in range(len(out))])


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Sequence[str],
) -> Shape:
    """The shape of a transposed convolution of arrays of any layouts."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    sizes, kernel = [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs]
    pads = padding
    if isinstance(padding, str):
        pads = transpose_padding(kernel[2:], window_strides, (1,) * len(kernel[2:]), padding)
    grown = [dilated(n, s) for n, s in zip(sizes[2:], window_strides, strict=True)]
    shape = conv_shape_tuple((*sizes[:2], *grown), kernel, (1,) * len(grown), pads)
    return tuple([shape[out.index(i)] for i in range(len(out))])
