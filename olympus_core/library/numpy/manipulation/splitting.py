"""Splitting of arrays: `split`, `array_split`, `unstack`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim, max_dim, min_dim
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax import slicing as lax
from olympus_core.library.operands import operand
from olympus_core.library.structural import structural


@structural()
def unstack(x: ArrayOrKeys, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of `x` along an axis, without that axis; the inverse of `stack`.

    >>> unstack(asarray([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x, aval = operand("unstack", x)
    if not aval.shape:
        raise ShapeError("unstack needs an array with dimensions, and got a scalar")
    return lax.unstack(x, canonical_axis(axis, aval.ndim))


@structural()
def split(
    ary: ArrayOrKeys, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Split an array along an axis: into a number of equal parts, or before given indices.

    Raises ShapeError if equal parts are impossible.

    >>> split(asarray([1, 2, 3, 4]), 2)
    [Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, even=True)


@structural()
def array_split(
    ary: ArrayOrKeys, indices_or_sections: int | Sequence[int] | ArrayLike, axis: int = 0
) -> list[Array]:
    """Split like `split`; if the length is not divisible, the first parts are longer by one.

    >>> array_split(asarray([1, 2, 3]), 2)
    [Array([1, 2], dtype=int32), Array([3], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, even=False)


def _split(name: str, ary: Any, sections: Any, axis: int, even: bool) -> list[Array]:
    ary, aval = operand(name, ary)
    place = canonical_axis(axis, aval.ndim)
    length = aval.shape[place]
    if isinstance(sections, (int, np.integer)) or not shape_of(sections):
        count = int(sections)
        if count <= 0 or (even and length % count):
            raise ShapeError(f"{name} cannot make {count} parts of length {length}")
        section_size, longer = divmod(length, count)
        sizes = [section_size + 1] * longer + [section_size] * (count - longer)
    else:
        cuts = [_cut(i, length) for i in sections]
        sizes = [max_dim(b - a, 0) for a, b in zip([0, *cuts], [*cuts, length], strict=True)]
        if not any(map(is_symbolic_dim, cuts)) and cuts != sorted(cuts):
            return _slices(ary, place, [0, *cuts], sizes)
    return lax.split(ary, sizes, place)


def _cut(i: Any, length: int) -> int:
    """Return the place of a cut within an axis; a negative one counts from the end."""
    if not is_symbolic_dim(length) and not is_symbolic_dim(i):
        return slice(None, int(i)).indices(length)[1]
    i = i if is_symbolic_dim(i) else int(i)
    place: int = min_dim(max_dim(i + length if i < 0 else i, 0), length)
    return place


def _slices(x: Any, axis: int, starts: list[int], sizes: list[int]) -> list[Array]:
    """Return parts that overlap, for indices that are not sorted."""
    bounds = zip(starts, sizes, strict=True)
    return [lax.slice_in_dim(x, a, a + n, axis=axis) for a, n in bounds]


@structural()
def hsplit(ary: ArrayOrKeys, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Split along axis 1, or axis 0 of a vector; see `split`.

    >>> hsplit(asarray([1, 2, 3, 4]), 2)
    [Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return split(ary, indices_or_sections, 0 if get_aval(ary).ndim == 1 else 1)


@structural()
def vsplit(ary: ArrayOrKeys, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Split along axis 0; see `split`.

    >>> vsplit(asarray([[1, 2], [3, 4]]), 2)
    [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return split(ary, indices_or_sections, 0)


@structural()
def dsplit(ary: ArrayOrKeys, indices_or_sections: int | Sequence[int] | ArrayLike) -> list[Array]:
    """Split along axis 2; see `split`.

    >>> dsplit(ones((1, 2, 4)), 2)[0].shape
    (1, 2, 2)
    """
    return split(ary, indices_or_sections, 2)
