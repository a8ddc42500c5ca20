"""Scatter primitives: they write windows at computed positions.

The operand, coordinates and updates enter; the operand with each update combined in leaves.  See
`indexing.py` for what coordinates and dimension numbers are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import dtypes, mlir
from olympus_core.avals import ShapedArray
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive
from olympus_core.primitives.elementwise import check_one_dtype
from olympus_core.primitives.indexing import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    check_indices,
    distinct,
    merge,
    require,
)
from olympus_core.primitives.reduction import fill_region

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = [
    "PRIMITIVES",
    "scatter_add_p",
    "scatter_apply_p",
    "scatter_max_p",
    "scatter_min_p",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub_p",
]


class Scatter(Primitive):
    """The operand with windows combined with the updates, by one operation (None: replaced)."""

    def __init__(self, name: str, op: str | None) -> None:
        super().__init__(name)
        self.op = op

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, indices, updates = avals
        dims: ScatterDimensionNumbers = params["dimension_numbers"]
        check_one_dtype(self.name, (x, updates))
        batching = (dims.operand_batching_dims, dims.scatter_indices_batching_dims)
        check_indices(self.name, avals, dims.scatter_dims_to_operand_dims, batching)
        absent = (*dims.inserted_window_dims, *dims.operand_batching_dims)
        whole = [n for i, n in enumerate(x.shape) if i not in absent]
        require(
            distinct(absent, x.ndim)
            and len(dims.update_window_dims) == len(whole)
            and distinct(dims.update_window_dims, updates.ndim)
            and updates.ndim == indices.ndim - 1 + len(whole),
            self.name,
            avals,
            f"the updates need an axis for each of the operand's but {absent}, and one for each "
            "of the indices' but the last",
        )
        window = [updates.shape[d] for d in dims.update_window_dims]
        shape = merge(updates.ndim, dims.update_window_dims, window, indices.shape[:-1])
        require(
            updates.shape == shape and all(w <= n for w, n in zip(window, whole, strict=True)),
            self.name,
            avals,
            f"the updates' windows {tuple(window)} must fit the operand, and their other axes be "
            f"the indices' {indices.shape[:-1]}",
        )
        return x

    def combine(self, ctx: LoweringContext, made: Any, params: dict[str, Any]) -> None:
        """Fill the region that combines an element with its update."""
        scalar, op = ctx.aval_out.update(shape=()), self.op
        fill_region(
            made, [scalar], lambda x, y: (y if op is None else mlir.op1(op, scalar, (x, y)),)
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x, indices, updates = operands
        dims: ScatterDimensionNumbers = params["dimension_numbers"]
        if params["mode"] is GatherScatterMode.CLIP:
            indices = _clipped(ctx, indices, dims)
        fields = [
            f"{_SCATTER_FIELDS.get(name, name)} = {list(value)}"
            for name, value in dims._asdict().items()
            if value
        ]
        fields.append(f"index_vector_dim = {ctx.avals_in[1].ndim - 1}")
        numbers = mlir.parsed_attr(f"#stablehlo.scatter<{', '.join(fields)}>")
        attributes = {
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": mlir.bool_attr(params["indices_are_sorted"]),
            "unique_indices": mlir.bool_attr(params["unique_indices"]),
        }
        types = [mlir.tensor_type(ctx.aval_out)]
        made = mlir.op("stablehlo.scatter", types, (x, indices, updates), attributes, regions=1)
        self.combine(ctx, made, params)
        return made.result


_SCATTER_FIELDS = {"operand_batching_dims": "input_batching_dims"}


def _clipped(ctx: LoweringContext, indices: Any, dims: ScatterDimensionNumbers) -> Any:
    """Emit the coordinates moved so that every window lies within the operand."""
    x, aval, updates = ctx.avals_in
    absent = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    sizes = [1 if i in absent else updates.shape[next(window)] for i in range(x.ndim)]
    highest = int(dtypes.iinfo(aval.dtype).max)
    bounds = [min(x.shape[i] - sizes[i], highest) for i in dims.scatter_dims_to_operand_dims]
    last = mlir.broadcast(ctx.numpy_constant(np.array(bounds, aval.dtype)), aval, (aval.ndim - 1,))
    return mlir.op1("stablehlo.clamp", aval, (mlir.full(aval, 0), indices, last))


class ScatterApply(Scatter):
    """The operand with the program `olympuspr` applied to the elements of each window."""

    def combine(self, ctx: LoweringContext, made: Any, params: dict[str, Any]) -> None:
        """Fill the region with the program; the update it also gets is not used."""
        program: Olympuspr = params["olympuspr"]
        scalar = ctx.aval_out.update(shape=())
        nested = ctx.nested()
        fill_region(made, [scalar], lambda x, _: nested.inline(program, [x]))


scatter_p = Scatter("scatter", None)
scatter_add_p = Scatter("scatter-add", "stablehlo.add")
scatter_sub_p = Scatter("scatter-sub", "stablehlo.subtract")
scatter_mul_p = Scatter("scatter-mul", "stablehlo.multiply")
scatter_min_p = Scatter("scatter-min", "stablehlo.minimum")
scatter_max_p = Scatter("scatter-max", "stablehlo.maximum")
scatter_apply_p = ScatterApply("scatter-apply", None)

PRIMITIVES: tuple[Primitive, ...] = (
    scatter_p,
    scatter_add_p,
    scatter_sub_p,
    scatter_mul_p,
    scatter_min_p,
    scatter_max_p,
    scatter_apply_p,
)
