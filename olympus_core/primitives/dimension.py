"""`dimension_value`: a symbolic dimension as an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.expression import SymbolicDim, register_as_array
from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.primitive import Batched, SingleResult
from olympus_core.ir.trace import is_eager
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class DimensionValue(SingleResult):
    """The value of the symbolic `dimension`, as a weakly typed scalar of the default int dtype."""

    is_cheap = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped((), params["dtype"], True)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return mlir.full(ctx.aval_out, params["dimension"])

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(**params), None


dimension_value_p = DimensionValue("dimension_value")


def dimension_as_value(dimension: SymbolicDim) -> Any:
    """Return a symbolic dimension as a traced scalar; raise UnsupportedError outside of a trace.

    >>> jit(lambda x: x.sum() / dimension_as_value(x.shape[0])).trace(ShapeDtypeStruct((b,), "f4"))
    """
    if is_eager():
        raise UnsupportedError(
            "Evaluation rule for 'dim_as_value' is not implemented: the symbolic dimension "
            f"'{dimension}' was used as an array outside of a traced function",
            hint="use it in a function that jit(f).trace or export traces",
        )
    return dimension_value_p.bind(**dimension_params(dimension))


def dimension_params(dimension: SymbolicDim) -> dict[str, Any]:
    """Return the parameters of `dimension_value` for a dimension."""
    return {"dimension": dimension, "dtype": dtypes.default_dtype("i")}


register_as_array(dimension_as_value)
