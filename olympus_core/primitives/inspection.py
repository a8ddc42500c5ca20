"""The inspection of the sharding of an array by a callback of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core import xla
from olympus_core.base.avals import Shape, ShapedArray, shape_of
from olympus_core.base.source import function_name
from olympus_core.ir.primitive import Batched, MultipleResults
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.sharding import (
    Sharding,
    SingleDeviceSharding,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

#: the name of the operation in XLA's partitioner
_TARGET = "InspectSharding"


class Inspection:
    """A callback that takes the shape and the sharding of an array, with a `name` for programs.

    An inspection equals only itself, and so do the equations that contain it.
    """

    def __init__(self, callback: Callable[[Shape, Sharding], Any], name: str) -> None:
        self.callback = callback
        self.name = name

    @staticmethod
    def of(callback: Callable[[Sharding], Any]) -> Inspection:
        """Return the inspection of a function of the sharding alone."""
        return Inspection(lambda _, sharding: callback(sharding), function_name(callback))

    def __repr__(self) -> str:
        return self.name


class InspectSharding(MultipleResults):
    """Call `callback`, an `Inspection`, with the operand's shape and sharding; it has no results.

    Outside of a program the callback runs immediately; in a program it runs when the program is
    compiled.  Only the module that the compiler gets contains the operation, because it contains an
    address of the process.  The transpose does nothing.
    """

    inlined: ClassVar[bool] = True
    is_effect: ClassVar[bool] = True
    is_inspection: ClassVar[bool] = True
    higher_order: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return ()

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        (value,) = args
        sharding = getattr(value, "sharding", None)
        if not isinstance(sharding, Sharding):  # a NumPy array will be placed there
            sharding = SingleDeviceSharding(xla.default_device())
        params["callback"].callback(shape_of(value), sharding)
        return []

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if ctx.watch is None:
            return []
        config = ctx.watch(params["callback"], ctx.avals_in[0], ctx.manual)
        if config is None:
            return []
        attributes = {
            "call_target_name": mlir.string_attr(_TARGET),
            "has_side_effect": mlir.bool_attr(True),
            "backend_config": mlir.string_attr(config),
        }
        mlir.op("stablehlo.custom_call", [operands[0].type], operands, attributes)
        return []

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return self.bind(*primals, **params), []

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        return self.bind(*args, **params), []


inspect_sharding_p = InspectSharding("inspect_sharding")
