"""`check`: a value that must be true, whose failure `checkify` returns as a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.errors import TransformError
from olympus_core.ir.primitive import Batched, MultipleResults, op
from olympus_core.primitives.elementwise.base import move_axis

_STAGED = (
    "Cannot abstractly evaluate a checkify.check which was not functionalized. This probably means "
    "you tried to stage (jit/scan/pmap/...) a `check` without functionalizing it through "
    "`checkify.checkify`."
)


class ProgramCheck(MultipleResults):
    """A check that fails if the first operand, a code, is not 0.

    The other operands are the arrays of the messages of `sites`, whose codes begin with 1.  A check
    for debugging (`is_debug`) has no effect in a program without `checkify`.
    """

    inlined: ClassVar[bool] = True
    higher_order: ClassVar[bool] = True
    is_effect: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return ()

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if not params["is_debug"]:
            params["fail"](args)
        return []

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        if not params["is_debug"]:
            raise TransformError(_STAGED)
        return []

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return self.bind(*primals, **params), []

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [None] * len(operands)

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        """Check the first element of the batch that fails."""
        if dims[0] is None:
            first: Any = np.int32(0)
        else:
            fails = op.ne(move_axis(args[0], dims[0], 0), np.int32(0))
            first = op.argmax(fails, axes=(0,), index_dtype=np.dtype("int32"))
        return self.bind(*[_at(x, d, first) for x, d in zip(args, dims, strict=True)], **params), []


def _at(x: Any, dim: int | None, index: Any) -> Any:
    """Return the element of a mapped operand at an index; others unchanged."""
    if dim is None:
        return x
    x = move_axis(x, dim, 0)
    shape = shape_of(x)
    rest = [np.int32(0)] * (len(shape) - 1)
    row = op.dynamic_slice(x, index, *rest, slice_sizes=(1, *shape[1:]))
    return op.squeeze(row, dimensions=(0,))


check_p = ProgramCheck("check")
