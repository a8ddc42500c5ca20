"""The primitive that scatters the elements of windows, by programs that select and combine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ShapeError
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.reduction import fill_region
from olympus_core.primitives.window_parameters import pairs_attr, window_shape
from olympus_core.transforms.staging import hoist_consts

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class _SelectAndScatter(UserPrimitive):
    """Combine each element of a source into the element that its window of an operand selects.

    The operands are the operand, the source and the scalar that results start from.
    `select_jaxpr` compares two elements, and `scatter_jaxpr` combines them; both take scalars.
    """

    inlined = False

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        operand, source, init = avals
        ones = (1,) * operand.ndim
        full = {**params, "base_dilation": ones, "window_dilation": ones}
        shape = window_shape(self.name, operand.shape, full)
        if source.shape != shape or init.shape:
            raise ShapeError(
                f"{self.name} needs a source of shape {shape} and a scalar to start from, and got "
                f"{source.long_name()} and {init.long_name()}"
            )
        return operand.strip_weak(), frozenset()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        operation = mlir.op(
            "stablehlo.select_and_scatter",
            (mlir.tensor_type(out),),
            operands,
            {
                "window_dimensions": mlir.i64_array(params["window_dimensions"]),
                "window_strides": mlir.i64_array(params["window_strides"]),
                "padding": pairs_attr(params["padding"]),
            },
            regions=2,
        )
        for i, name in enumerate(("select", "scatter")):
            program = params[f"{name}_jaxpr"].replace(consts=params[f"{name}_consts"])
            closed, consts = hoist_consts(program)
            values = [ctx.numpy_constant(np.asarray(c)) for c in consts]

            def body(*pair: Any, closed: Any = closed, values: Any = values) -> Any:
                return ctx.inline(closed, [*values, *pair])

            fill_region(operation, (out.update(shape=()),), body, i)
        return operation.result


select_and_scatter_p = _SelectAndScatter("select_and_scatter")
