"""The inspection of where an array lies: a function of the user's is told its sharding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core import mlir, xla
from olympus_core.avals import Shape, ShapedArray, shape_of
from olympus_core.primitive import Batched, MultipleResults
from olympus_core.sharding import Sharding, SingleDeviceSharding
from olympus_core.source import function_name

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["Inspection", "inspect_sharding_p"]

#: what XLA's partitioner knows the operation by
_TARGET = "InspectSharding"


class Inspection:
    """What is called with the shape and the sharding of an array, and `name`d so in programs.

    It is equal to itself alone, and so are the equations that have it.
    """

    def __init__(self, tell: Callable[[Shape, Sharding], Any], name: str) -> None:
        self.tell = tell
        self.name = name

    @staticmethod
    def of(callback: Callable[[Sharding], Any]) -> Inspection:
        """That of a function of the sharding alone."""
        return Inspection(lambda _, sharding: callback(sharding), function_name(callback))

    def __repr__(self) -> str:
        return self.name


class InspectSharding(MultipleResults):
    """Tells `callback`, an `Inspection`, where its operand lies; it has no results.

    For a value that is known it does so at once.  In a program it does when that is compiled: its
    operation is in no module but the one that the compiler gets, for it has an address of the
    process in it.  In reverse there is nothing to do.
    """

    inlined: ClassVar[bool] = True
    is_effect: ClassVar[bool] = True
    higher_order: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return ()

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        (value,) = args
        sharding = getattr(value, "sharding", None)
        if not isinstance(sharding, Sharding):  # an array of NumPy goes there where it is used
            sharding = SingleDeviceSharding(xla.default_device())
        params["callback"].tell(shape_of(value), sharding)
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
