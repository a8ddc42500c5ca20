"""Calls of programs with attributes for the compiler: metadata, and the place of the computation.

XLA gives the attributes of a call to the operations of the function that it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.errors import UnsupportedError
from olympus_core.control.call import ProgramCall
from olympus_core.control.ffi_call import emit_call
from olympus_core.ir.olympuspr import Eqn, ProgramParams
from olympus_core.ir.primitive import Linear, TangentSplit
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.attributes import attribute
from olympus_core.transforms.programs import jvp_program, split_program, transposed_program

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

#: the memory of a device, as the text that XLA gets
_DEVICE = "MemorySpace.Device"


class AnnotatedCall(ProgramCall):
    """A call of `olympuspr`, lowered as a call with the attributes `annotations`."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        program, annotations = params["olympuspr"], params["annotations"]
        return ctx.call(program, self.name, operands, annotations=annotations)


class MetadataCall(AnnotatedCall):
    """A call with the metadata `annotations`.

    The linear part of a derivative has the metadata `ad_annotations`, or the same ones if that is
    None.
    """

    def _derived(self, params: dict[str, Any]) -> dict[str, Any]:
        derived = params["ad_annotations"]
        if derived is None:
            return params
        return params | {"annotations": derived, "ad_annotations": None}

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        parts = super().split(unknown, **params)
        if parts is None:
            return None
        return parts._replace(linear_params=self._derived(parts.linear_params))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        return super().transpose(cotangent, *operands, **self._derived(params))


class ComputeOn(AnnotatedCall):
    """A call of a program that is computed in another place; the results are on the device."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        outs = super().lower(ctx, *operands, **params)
        return [mlir.in_memory(x, "device") for x in outs]


class FusedCall(ProgramCall):
    """A call of a program that XLA compiles as one fusion of a GPU.

    `out_spaces` are the memories of the results, as texts; the results of derivatives are in that
    of the device.
    """

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if ctx.platform != "cuda":
            raise UnsupportedError(
                f"MLIR translation rule for primitive '{self.name}' not found for platform "
                f"{ctx.platform}",
                hint="lower the program for a GPU, or call the function without `fused`",
            )
        symbol = ctx.function_symbol(params["olympuspr"], "fused")
        config = {"MUST_FUSE": True, "inlineable": False, "out_spaces": params["out_spaces"]}
        called = [mlir.ir.FlatSymbolRefAttr.get(symbol, mlir.context())]
        call = emit_call(
            "fused",
            operands,
            [mlir.tensor_type(a) for a in ctx.avals_out],
            api_version=1,
            extra={
                "called_computations": mlir.ir.ArrayAttr.get(called, mlir.context()),
                "mhlo.backend_config": attribute(config),
            },
        )
        return list(call.results)

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        spaces = [s for s, u in zip(eqn.params["out_spaces"], used, strict=True) if u]
        pruned = super().prune(eqn, used)
        return pruned.with_params(ProgramParams(pruned.params | {"out_spaces": tuple(spaces)}))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        program, spaces = params["olympuspr"], params["out_spaces"]
        nonzero = tuple(t is not None for t in tangents)
        _, has_tangent = jvp_program(program, nonzero, (False,) * len(spaces))
        more = tuple([s for s, m in zip(spaces, has_tangent, strict=True) if m])
        return super().jvp(primals, tangents, **(params | {"out_spaces": (*spaces, *more)}))

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        parts = split_program(params["olympuspr"], unknown)
        pairs = [*zip(params["out_spaces"], parts.unknown_outs, strict=True)]
        spaces = [tuple([s for s, u in pairs if u is wanted]) for wanted in (False, True)]
        count = len(spaces[0])

        def run(args: Sequence[Any]) -> list[Any]:
            residuals = len(parts.known.outvars) - count
            known_spaces = (*spaces[0], *[_DEVICE] * residuals)
            known = {"olympuspr": parts.known, "out_spaces": known_spaces}
            return list(self.bind(*args, **(params | known)))

        linear = params | {"olympuspr": parts.unknown, "out_spaces": spaces[1]}
        return TangentSplit(run, count, self, linear, parts.unknown_outs)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in operands)
        nonzero = tuple(c is not None for c in cotangent)
        program, _ = transposed_program(params["olympuspr"], linear, nonzero)
        spaces = (_DEVICE,) * len(program.outvars)
        return super().transpose(cotangent, *operands, **(params | {"out_spaces": spaces}))


xla_metadata_call_p = MetadataCall("xla_metadata_call")
compute_on_p = ComputeOn("compute_on")
fused_p = FusedCall("fused_call")


class OrderedCall(ProgramCall):
    """A call of a program that `program_order` takes for one operation.

    The operands with True in `excluded` need not wait for earlier operations.
    """

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.call(params["olympuspr"], self.name, operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return super().jvp(primals, tangents, **(params | {"excluded": ()}))

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return super().split(unknown, **(params | {"excluded": ()}))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        return super().transpose(cotangent, *operands, **(params | {"excluded": ()}))


program_order_p = OrderedCall("program_order")
