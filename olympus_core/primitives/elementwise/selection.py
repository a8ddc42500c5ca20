"""Element-by-element selection: `select_n` and `clamp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of, shaped
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.primitive import Batched, Linear, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    BOOL,
    align,
    check_one_dtype,
    join_shapes,
    scalar_zero,
    shapes_text,
    spread,
    unbroadcast,
    zeros_like,
)
from olympus_core.primitives.elementwise.logic import lt_p

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class SelectN(SingleResult):
    """`cases[which]` element by element; `which` is bool for two cases, or an integer."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.of_cases)
    is_elementwise: ClassVar[bool] = True
    is_cheap = True
    takes_literals: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.select",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        which, *cases = avals
        if len({c.shape for c in cases if c.shape}) > 1:
            raise ShapeError(f"select cases must have the same shapes, got [{shapes_text(cases)}]")
        shape = join_shapes("select_n", tuple(cases))
        if which.shape not in ((), shape):
            raise ShapeError(
                "select `which` must be scalar or have the same shape as cases, got `which` shape "
                f"{which.shape} but case shape {shape}"
            )
        check_one_dtype("select", tuple(cases))
        if dtypes.kind(which.dtype) not in "bui":
            which_name = dtypes.long_name(which.dtype)
            raise DTypeError(f"select `which` must be boolean or integer type, got {which_name}")
        if which.dtype == BOOL and len(cases) > 2:
            raise DTypeError(
                f"select with boolean `which` cannot have > 2 cases, and got {len(cases)}"
            )
        return shaped(shape, cases[0].dtype, all(c.weak_type for c in cases))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        which, *cases = avals
        if which.shape and any(not c.shape for c in cases):  # it is broadcast, and others follow
            return [sharding_rules.broadcast_spec("select", avals)]
        spec = sharding_rules.same("select", cases)
        if which.shape and which.explicit is not None and sharding_rules.spec_of(which) != spec:
            if any(c.explicit is not None for c in cases):
                case = next(c for c in cases if c.explicit is not None)
                raise sharding_rules.ambiguous(
                    "select `which` must be scalar or have the same sharding as cases, got `which` "
                    f"sharding {which.sharding} but case sharding {case.sharding}",
                    avals,
                )
            return [(None,) * outs[0].ndim]
        return [spec]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        which = ctx.full(operands[0], ctx.avals_in[0], ctx.avals_in[0].shape)
        cases = [
            ctx.full(x, a, out.shape) for x, a in zip(operands[1:], ctx.avals_in[1:], strict=True)
        ]
        return self._choose(out, ctx.avals_in[0], which, cases, 0)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        which, *cases = operands
        return self.bind(which, *reversed(cases))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        which, *cases = primals
        out = self.bind(*primals)
        if all(t is None for t in tangents[1:]):
            return out, None
        parts = [
            scalar_zero(c) if t is None else t for c, t in zip(cases, tangents[1:], strict=True)
        ]
        return out, self.bind(which, *[spread(x, shape_of(out)) for x in parts])

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        which, *cases = operands
        zeros = [scalar_zero(cotangent)] * len(cases)
        shares: list[Any] = [None]
        for i, case in enumerate(cases):
            parts = [*zeros[:i], cotangent, *zeros[i + 1 :]]
            if isinstance(case, Linear):
                shares.append(unbroadcast(self.bind(which, *_same_shape(parts)), case.aval))
            else:
                shares.append(None)
        return shares

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        if dims[0] is None and not shape_of(args[0]):
            cases, dim = align(batched.size, args[1:], dims[1:])
            return self.bind(args[0], *_same_shape(cases)), dim
        args, dim = align(batched.size, args, dims)
        which, *cases = args
        if shape_of(which) == ():
            return self.bind(which, *_same_shape(cases)), dim
        return self.bind(which, *(spread(c, shape_of(which)) for c in cases)), dim

    def _choose(
        self, out: ShapedArray, aval: ShapedArray, which: Any, cases: list[Any], first: int
    ) -> Any:
        if len(cases) == 1:
            return cases[0]
        if aval.dtype == BOOL:
            return mlir.op1("stablehlo.select", out, (which, cases[1], cases[0]))
        half = len(cases) // 2
        low = self._choose(out, aval, which, cases[:half], first)
        high = self._choose(out, aval, which, cases[half:], first + half)
        bound = mlir.full(aval, first + half)
        attributes = lt_p.attributes(aval)
        is_low = mlir.op1(
            "stablehlo.compare",
            aval.update(dtype=BOOL, weak_type=False),
            (which, bound),
            attributes,
        )
        return mlir.op1("stablehlo.select", out, (is_low, low, high))


def _same_shape(cases: Sequence[Any]) -> list[Any]:
    """Return the cases with one shape: scalars among arrays are broadcast."""
    shape = next((shape_of(c) for c in cases if shape_of(c)), ())
    return [spread(c, shape) for c in cases]


class Clamp(SingleResult):
    """min(max(lo, x), hi); each bound has x's shape or rank 0."""

    is_elementwise: ClassVar[bool] = True
    is_cheap = True
    takes_literals: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.clamp",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        low, x, high = avals
        check_one_dtype("clamp", avals)
        for bound, name in ((low, "min"), (high, "max")):
            if bound.shape not in ((), x.shape):
                raise ShapeError(
                    f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                    f"{name}.shape={bound.shape}, operand.shape={x.shape}."
                )
        return x

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.spec_of(avals[1])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        shapes = [a.shape for a in ctx.avals_in]
        full = [ctx.full(*x) for x in zip(operands, ctx.avals_in, shapes, strict=True)]
        return mlir.op1("stablehlo.clamp", ctx.aval_out, full)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        shapes = [a.shape for a in operation.avals_in]
        if [shape_of(x) for x in operands] != shapes:  # scalar bounds stay scalars
            return None
        return self.bind(*operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        low, x, high = primals
        chosen: tuple[Callable[[], Any], ...] = (
            lambda: op.and_(op.gt(low, x), op.lt(low, high)),
            lambda: op.and_(op.gt(x, low), op.lt(x, high)),
            lambda: op.gt(x, high),
        )
        total = None
        for t, mask in zip(tangents, chosen, strict=True):
            if t is not None:
                full = spread(t, shape_of(x))
                part = op.select_n(spread(mask(), shape_of(x)), zeros_like(x), full)
                total = part if total is None else op.add_any(total, part)
        return self.bind(*primals), total

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        (low, x, high), dim = align(batched.size, args, dims)
        shape = next(shape_of(v) for v in (x, low, high) if shape_of(v))
        bounds = [spread(v, shape) if shape_of(v) else v for v in (low, high)]
        return self.bind(bounds[0], spread(x, shape), bounds[1]), dim


select_n_p = SelectN("select_n")
clamp_p = Clamp("clamp")
