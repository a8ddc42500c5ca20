"""Trees of arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.library.lax.slicing import split
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.promotion import convert


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Array], Any]]:
    """Return the leaves of a tree of arrays joined to one vector, and the inverse function.

    The vector has the dtype that the leaves are promoted to, float32 for a tree without leaves.
    The function takes a vector of the same length.  If the leaves differ in dtype, the vector must
    have the promoted dtype, and the leaves are converted back; otherwise it may have any dtype.
    The function raises ShapeError and DTypeError (ValueError and TypeError) for other vectors, and
    can be traced and differentiated.
    >>> vector, unravel = ravel_pytree({"a": 1.0, "b": numpy.ones((2, 2))})
    >>> vector.shape, unravel(2 * vector)["b"].shape
    ((5,), (2, 2))
    """
    leaves, treedef = tree.flatten(pytree)
    avals = [get_aval(x) for x in leaves]
    sizes = [math.prod(a.shape) for a in avals]
    mixed = len({a.dtype for a in avals}) > 1
    dtype = dtypes.promote(*((a.dtype, a.weak_type) for a in avals))[0] if leaves else None
    values = [convert(x, dtype) for x in leaves] if mixed and dtype else leaves
    vector = concatenate([ravel(asarray(x)) for x in values]) if leaves else zeros(0)
    length, dtype = vector.shape[0], vector.dtype

    def unravel(flat: Array) -> Any:
        have = get_aval(flat)
        if have.shape != (length,):
            raise ShapeError(
                f"Sum of sizes {length} must be equal to dimension 0 of the operand shape "
                f"{list(have.shape)}: unravel needs a vector of as many elements"
            )
        if mixed and have.dtype != dtype:
            raise DTypeError(
                f"unravel function given array of dtype {dtypes.long_name(have.dtype)}, but "
                f"expected dtype {dtypes.long_name(dtype)}"
            )
        flat_leaves = (
            split(asarray(flat), sizes) if len(sizes) > 1 else [asarray(flat)] * len(sizes)
        )
        shaped = [reshape(x, a.shape) for x, a in zip(flat_leaves, avals, strict=True)]
        if mixed:
            shaped = [convert(x, a.dtype) for x, a in zip(shaped, avals, strict=True)]
        return treedef.unflatten(shaped)

    return vector, unravel
