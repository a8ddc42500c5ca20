"""Trees of arrays as one vector, and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.base.tree import PyTreeDef
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
    The function raises ShapeError and DTypeError (ValueError and TypeError) for other vectors, can
    be traced and differentiated, and equals that of a tree of the same structure and types.

    >>> vector, unravel = ravel_pytree({"a": 1.0, "b": numpy.ones((2, 2))})
    >>> vector.shape, unravel(2 * vector)["b"].shape
    ((5,), (2, 2))
    """
    leaves, treedef = tree.flatten(pytree)
    avals = tuple([get_aval(x) for x in leaves])
    mixed = len({a.dtype for a in avals}) > 1
    dtype = dtypes.promote(*((a.dtype, a.weak_type) for a in avals))[0] if leaves else None
    values = [convert(x, dtype) for x in leaves] if mixed and dtype else leaves
    vector = concatenate([ravel(asarray(x)) for x in values]) if leaves else zeros(0)
    return vector, _Unravel(treedef, avals, vector.shape[0], vector.dtype, mixed)


@dataclasses.dataclass(frozen=True)
class _Unravel:
    """The inverse of `ravel_pytree`, which a `jit` may have as a static argument."""

    treedef: PyTreeDef
    avals: tuple[ShapedArray, ...]
    length: int
    dtype: DType
    mixed: bool

    def __call__(self, flat: Array) -> Any:
        have = get_aval(flat)
        if have.shape != (self.length,):
            raise ShapeError(
                f"Sum of sizes {self.length} must be equal to dimension 0 of the operand shape "
                f"{list(have.shape)}: unravel needs a vector of as many elements"
            )
        if self.mixed and have.dtype != self.dtype:
            raise DTypeError(
                f"unravel function given array of dtype {dtypes.long_name(have.dtype)}, but "
                f"expected dtype {dtypes.long_name(self.dtype)}"
            )
        sizes = [math.prod(a.shape) for a in self.avals]
        parts = split(asarray(flat), sizes) if len(sizes) > 1 else [asarray(flat)] * len(sizes)
        shaped = [reshape(x, a.shape) for x, a in zip(parts, self.avals, strict=True)]
        if self.mixed:
            shaped = [convert(x, a.dtype) for x, a in zip(shaped, self.avals, strict=True)]
        return self.treedef.unflatten(shaped)
