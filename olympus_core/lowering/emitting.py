"""A trace that writes each operation into a StableHLO block as soon as the operation is bound.

A lowering rule that needs many operations is a Python function on primitives under this trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.ir.olympuspr import Literal
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.trace import using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir


class EmittedArray(Tracer):
    """A value of the block that is being filled."""

    __slots__ = ("value",)
    value: ir.Value

    def __init__(self, trace: EmittingTrace, value: ir.Value, aval: ShapedArray) -> None:
        self.owner = trace
        self.value = value
        self.aval = aval


def _literal(x: Any) -> Literal:
    """Return a scalar as a literal; a NumPy scalar keeps its dtype, also without `enable_x64`."""
    return Literal(x, shaped((), x.dtype) if isinstance(x, np.generic) else get_aval(x))


class EmittingTrace:
    """A trace that writes each bound operation into the block at the insertion point of `ctx`.

    A function that runs under it writes its loops with `while_loop`.
    """

    def __init__(self, ctx: LoweringContext) -> None:
        self.ctx = ctx

    def wrap(self, values: Sequence[ir.Value], avals: Sequence[ShapedArray]) -> list[EmittedArray]:
        """Return the values as arrays of this trace."""
        return [EmittedArray(self, x, a) for x, a in zip(values, avals, strict=True)]

    def emit(self, x: Any) -> ir.Value:
        """Return the StableHLO value of an array; a scalar becomes a constant of the block."""
        return x.value if isinstance(x, EmittedArray) else self.ctx.constant(_literal(x))

    def run(
        self, fun: Callable[..., Any], values: Sequence[ir.Value], avals: Sequence[ShapedArray]
    ) -> list[ir.Value]:
        """Return the result values of `fun`, which returns one array or several."""
        results = fun(*self.wrap(values, avals))
        arrays = results if isinstance(results, Sequence) else [results]
        return [self.emit(x) for x in arrays]

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Emit the operation, and return arrays for its results."""
        ctx, values, avals = self.ctx, [], []
        for x in args:
            atom = x if isinstance(x, EmittedArray) else _literal(x)
            keeps = primitive.takes_literals and isinstance(atom, Literal)
            values.append(atom if keeps else self.emit(x))
            avals.append(atom.aval)
        ctx.avals_in = tuple(avals)
        ctx.avals_out = outs = primitive.out_avals(ctx.avals_in, params)
        results = primitive.lower(ctx, *values, **params)
        if primitive.multiple_results:
            return self.wrap(results, outs)
        return EmittedArray(self, results, outs[0])

    def while_loop(
        self,
        condition: Callable[..., Any],
        body: Callable[..., Any],
        carry: Sequence[Any],
    ) -> list[EmittedArray]:
        """Emit `while condition(*carry): carry = body(*carry)`, and return the last carry."""
        avals = [(x if isinstance(x, EmittedArray) else _literal(x)).aval for x in carry]
        types = [mlir.tensor_type(a) for a in avals]
        loop = mlir.op("stablehlo.while", types, [self.emit(x) for x in carry], regions=2)
        for region, fun in zip(loop.regions, (condition, body), strict=True):
            block = region.blocks.append(*types, arg_locs=[loop.location] * len(types))
            inner = EmittingTrace(self.ctx.nested())
            with mlir.ir.InsertionPoint(block), using_trace(inner):
                outs = inner.run(fun, block.arguments, avals)
                mlir.op("stablehlo.return", (), outs)
        return self.wrap(loop.results, avals)
