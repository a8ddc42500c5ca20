"""`call_exported`: a call of an exported program, whose StableHLO is put into the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ArgumentError, TransformError
from olympus_core.ir.primitive import Avals, Batched, MultipleResults
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class ExportedProgram(Protocol):
    """The parts of an exported program that a call of it uses; it is compared by identity."""

    fun_name: str
    nr_devices: int

    @property
    def in_avals(self) -> Avals:
        """The types of the arguments."""

    @property
    def out_avals(self) -> Avals:
        """The types of the results."""

    def result_types(self, avals: Avals) -> Avals:
        """Return the types of the results of a call; raise ShapeError for other arguments."""

    def module_for(self, platform: str, avals: Avals) -> Any:
        """Return the module for a platform; with static shapes, if those of the call are."""


class CallExported(MultipleResults):
    """The results of the program `exported`."""

    higher_order: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        exported: ExportedProgram = params["exported"]
        return exported.result_types(avals)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        exported: ExportedProgram = params["exported"]
        avals, outs, here = ctx.avals_in, ctx.avals_out, ctx.module.num_partitions
        if exported.nr_devices not in (1, here):
            raise ArgumentError(
                f"Function {exported.fun_name} was exported for {exported.nr_devices} devices and "
                f"is called in a context with {here} devices, which is not allowed.",
                hint="call it under jit with in_shardings on a mesh of as many devices",
            )
        module = exported.module_for(ctx.platform, avals)
        is_static = not any(a.is_symbolic for a in avals)
        wanted = avals if is_static else exported.in_avals
        results = outs if is_static else exported.out_avals
        values = [
            _typed(x, have, want) for x, have, want in zip(operands, avals, wanted, strict=True)
        ]
        key = exported, avals
        called = ctx.call_module(module, exported.fun_name, key, values, results)
        return [_typed(x, have, want) for x, have, want in zip(called, results, outs, strict=True)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        raise TransformError(
            f"vmap of the exported program '{params['exported'].fun_name}', whose operations are "
            "fixed",
            hint="export the mapped function, jit(vmap(f)), or call it for each row with lax.map",
        )

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        raise TransformError(
            f"the exported program '{params['exported'].fun_name}' has no derivative in forward "
            "mode",
            hint="use grad or vjp, with a program that was serialized with vjp_order=1 or more",
        )


def _typed(value: Any, have: ShapedArray, want: ShapedArray) -> Any:
    """Return a value with other static sizes in its type; the sizes are equal in each run."""
    if mlir.tensor_type(have) == mlir.tensor_type(want):
        return value
    shape = dynamic.size_vector(have.shape)
    return mlir.created("stablehlo.dynamic_reshape", want, (value, shape), {})


call_exported_p = CallExported("call_exported")
