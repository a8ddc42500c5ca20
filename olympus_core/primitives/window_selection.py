"""Selections from windows: two arrays in, and of each window of one the element where the other
has its greatest or least out.

They are the derivative of window maxima and minima: a tangent is selected as the value is.  See
`window.py` for what a window is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, shape_of, shaped
from olympus_core.errors import ShapeError
from olympus_core.primitive import Batched, LinearPrimitive, op
from olympus_core.primitives.elementwise.base import at_front, spread, zero_like
from olympus_core.primitives.elementwise.logic import emit_compare, ge_p, le_p
from olympus_core.primitives.indexing import GatherScatterMode, ScatterDimensionNumbers
from olympus_core.primitives.reduction import fill_region, highest, lowest
from olympus_core.primitives.window import map_axis, window_attributes, window_shape

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["select_and_gather_add_p"]

_SELECTIONS = {"ge": (ge_p, lowest), "le": (le_p, highest)}


class SelectAndGather(LinearPrimitive):
    """For each window of the second operand the first's element where the second's is selected.

    `select_prim` is "ge" to select the greatest, "le" the least; 0 where nothing but padding is.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        taken, x = avals
        if taken.shape != x.shape:
            raise ShapeError(
                f"{self.name} needs arrays of one shape, and got {taken.short_name()} and "
                f"{x.short_name()}"
            )
        return shaped(window_shape(self.name, x.shape, params), taken.dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        compare, identity = _SELECTIONS[params["select_prim"]]
        taken, x = (a.update(shape=()) for a in ctx.avals_in)
        inits = [
            ctx.numpy_constant(np.asarray(identity(x.dtype)).astype(x.dtype)),
            ctx.numpy_constant(np.zeros((), taken.dtype)),
        ]
        outs = [x.update(shape=ctx.aval_out.shape), ctx.aval_out]
        made = mlir.op(
            "stablehlo.reduce_window",
            [mlir.tensor_type(a) for a in outs],
            (operands[1], operands[0], *inits),
            window_attributes(params),
            regions=1,
        )

        def better(a: Any, s: Any, b: Any, t: Any) -> tuple[Any, Any]:
            first = emit_compare(compare, x, a, b)
            value = mlir.op1("stablehlo.select", x, (first, a, b))
            return value, mlir.op1("stablehlo.select", taken, (first, s, t))

        fill_region(made, [x, taken], better)
        return made.results[1]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Each window's cotangent is added where its element was selected."""
        shape, x = operands[0].aval.shape, operands[1]
        count = math.prod(shape)
        numbers = op.iota(shape=(count,), dimension=0, dtype=np.dtype("int32"))
        # from 1 on, for 0 says that nothing was selected
        numbers = op.reshape(op.add(numbers, np.int32(1)), dimensions=None, new_sizes=shape)
        places = op.sub(self.bind(numbers, x, **params), np.int32(1))
        total = op.scatter_add(
            spread(zero_like(cotangent), (count,)),
            op.reshape(places, dimensions=None, new_sizes=(*shape_of(places), 1)),
            cotangent,
            dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
            indices_are_sorted=False,
            unique_indices=False,
            mode=GatherScatterMode.FILL_OR_DROP,
        )
        return [op.reshape(total, dimensions=None, new_sizes=shape), None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        arrays = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*arrays, **map_axis(params, 0)), 0


select_and_gather_add_p = SelectAndGather("select_and_gather_add")
