"""The lowering of `scan`: a StableHLO `while` that slices the xs and fills the ys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, shaped
from olympus_core.olympuspr import Olympuspr

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["Loop"]

_INDEX = shaped((), np.dtype("int32"))


class Loop:
    """The lowering of one scan: a `while` over (i, carry, ys), the xs captured."""

    def __init__(self, ctx: LoweringContext, params: dict[str, Any]) -> None:
        self.ctx = ctx
        self.body: Olympuspr = params["olympuspr"]
        self.length: int = params["length"]
        self.reverse: bool = params["reverse"]
        self.unroll: int = max(1, min(params["unroll"], params["length"]))
        self.n_consts: int = params["num_consts"]
        self.n_carry: int = params["num_carry"]
        self.y_avals = ctx.avals_out[self.n_carry :]
        self.x_avals = ctx.avals_in[self.n_consts + self.n_carry :]

    def lower(self, operands: list[Any]) -> list[Any]:
        consts = operands[: self.n_consts]
        carry = operands[self.n_consts : self.n_consts + self.n_carry]
        xs = operands[self.n_consts + self.n_carry :]
        ys = [mlir.full(a, 0) for a in self.y_avals]
        if not self.length:  # there is no row that a body could be typed with
            return [*carry, *ys]
        rolled = self.length - self.length % self.unroll
        start = mlir.full(_INDEX, 0)
        if rolled == self.unroll:  # the loop would run once
            state = [start, *carry, *ys]
            done = 0
        else:
            state = self._while(rolled, [start, *carry, *ys], consts, xs)
            done = rolled
        for _ in range(self.length - done):
            state = self._step(self.ctx, state, consts, xs)
        return state[1:]

    def _while(self, stop: int, state: list[Any], consts: list[Any], xs: list[Any]) -> list[Any]:
        types = [v.type for v in state]
        made = mlir.op("stablehlo.while", types, state, regions=2)
        unknown = [mlir.ir.Location.unknown()] * len(types)
        test = made.regions[0].blocks.append(*types, arg_locs=unknown)
        with mlir.ir.InsertionPoint(test):
            less = mlir.parsed_attr("#stablehlo<comparison_direction LT>")
            signed = mlir.parsed_attr("#stablehlo<comparison_type SIGNED>")
            more = mlir.op1(
                "stablehlo.compare",
                shaped((), np.dtype("bool")),
                (test.arguments[0], mlir.full(_INDEX, stop)),
                {"comparison_direction": less, "compare_type": signed},
            )
            mlir.op("stablehlo.return", (), (more,))
        block = made.regions[1].blocks.append(*types, arg_locs=unknown)
        with mlir.ir.InsertionPoint(block):
            inner = self.ctx.nested()
            values = list(block.arguments)
            for _ in range(self.unroll):
                values = self._step(inner, values, consts, xs)
            mlir.op("stablehlo.return", (), values)
        return list(made.results)

    def _step(
        self, ctx: LoweringContext, state: list[Any], consts: list[Any], xs: list[Any]
    ) -> list[Any]:
        i, carry = state[0], state[1 : 1 + self.n_carry]
        ys = state[1 + self.n_carry :]
        where = i
        if self.reverse:
            last = mlir.full(_INDEX, self.length - 1)
            where = mlir.op1("stablehlo.subtract", _INDEX, (last, i))
        zero = (
            mlir.full(_INDEX, 0) if any(a.ndim > 1 for a in (*self.x_avals, *self.y_avals)) else i
        )
        slices = [_read(x, a, where, zero) for x, a in zip(xs, self.x_avals, strict=True)]
        outs = ctx.inline(self.body, [*consts, *carry, *slices])
        carry, new = outs[: self.n_carry], outs[self.n_carry :]
        ys = [_write(y, v, a, where, zero) for y, v, a in zip(ys, new, self.y_avals, strict=True)]
        return [mlir.op1("stablehlo.add", _INDEX, (i, mlir.full(_INDEX, 1))), *carry, *ys]


def _read(x: Any, aval: ShapedArray, i: Any, zero: Any) -> Any:
    one = aval.update(shape=(1, *aval.shape[1:]))
    starts = [i] + [zero] * (aval.ndim - 1)
    sizes = {"slice_sizes": mlir.i64_array(one.shape)}
    piece = mlir.op1("stablehlo.dynamic_slice", one, (x, *starts), sizes)
    return mlir.op1("stablehlo.reshape", aval.update(shape=aval.shape[1:]), (piece,))


def _write(y: Any, value: Any, aval: ShapedArray, i: Any, zero: Any) -> Any:
    one = aval.update(shape=(1, *aval.shape[1:]))
    piece = mlir.op1("stablehlo.reshape", one, (value,))
    starts = [i] + [zero] * (aval.ndim - 1)
    return mlir.op1("stablehlo.dynamic_update_slice", aval, (y, piece, *starts))
