"""`constant`: an array of a nested program, as an equation without operands."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.primitive import Avals, SingleResult

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class ArrayConstant:
    """An array as a parameter: equal to another of the same type and elements."""

    __slots__ = ("__dict__", "aval", "value")

    def __init__(self, value: np.ndarray[Any, Any], aval: ShapedArray | None = None) -> None:
        self.value = value
        self.aval = aval or get_aval(value)

    @functools.cached_property
    def digest(self) -> str:
        """A fingerprint of the elements."""
        import hashlib  # imported here because few programs contain arrays

        return hashlib.sha256(np.ascontiguousarray(self.value).tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ArrayConstant)
            and self.aval is other.aval
            and self.digest == other.digest
        )

    def __hash__(self) -> int:
        return hash((self.aval, self.digest))

    def __str__(self) -> str:
        return f"{self.aval.short_name()}#{self.digest[:16]}"

    def __repr__(self) -> str:
        return f"{self.aval.short_name()}#{self.digest}"


class Constant(SingleResult):
    """The array `value`."""

    higher_order: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.constant",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        value: ArrayConstant = params["value"]
        return value.aval

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return ctx.numpy_constant(params["value"].value)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        value = operation.elements()
        if value is None:
            return None
        return self.bind(value=ArrayConstant(value, operation.aval_out))

    def produced(self, order: Order, avals: Avals, **params: Any) -> Reordered | None:
        value: ArrayConstant = params["value"]
        array = ArrayConstant(np.transpose(value.value, order))
        return Reordered({"value": array}, (), (order,))


constant_p = Constant("constant")
