"""Reduction primitives: they combine the elements along axes, which the result lacks.

The common ones are one row of a table: name, StableHLO operation, kinds of dtype, and the value
of an empty reduction.  `reduce` takes a program of the user; argmax and argmin return positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.context import state
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError, TransformError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import Order, Reordered, renumbered
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Avals, Batched, MultipleResults, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    BOOL,
    at_front,
    check_kinds,
    elementwise_constant,
    reshape,
    shift_all,
)
from olympus_core.primitives.elementwise.logic import (
    emit_compare,
    emit_extremum,
    eq_p,
    gt_p,
    lt_p,
    ne_p,
)
from olympus_core.primitives.folded_tangents import fold_tangents
from olympus_core.primitives.order_keys import (
    MANY_SEARCHED,
    fits_order_key,
    packed_argmax,
    packed_argmin,
)

if TYPE_CHECKING:
    from olympus_core.ir.tracer import Array
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

#: least number of floats along an axis at which packed keys find a position faster on the CPU: a
#: third of the time for 1024 by 1024, nine tenths for 4096 by 16; integers take as long either way
_LONG = 32


def _extreme(dtype: DType, sign: int) -> Any:
    kind = dtypes.kind(dtype)
    if kind == "b":
        return sign > 0
    if kind in "iu":
        return dtypes.iinfo(dtype).max if sign > 0 else dtypes.iinfo(dtype).min
    if kind == "c":
        return complex(sign * np.inf, sign * np.inf)
    with np.errstate(all="ignore"):
        infinite = np.asarray(sign * np.inf).astype(dtype)
    limits = dtypes.finfo(dtype)
    return infinite if np.isinf(infinite) else limits.max if sign > 0 else limits.min


def lowest(dtype: DType) -> Any:
    """Return the least value of a dtype, minus infinity if it has one: max's identity."""
    return _extreme(dtype, -1)


def highest(dtype: DType) -> Any:
    """Return the greatest value of a dtype, infinity if it has one: min's identity."""
    return _extreme(dtype, 1)


def check_axes(name: str, x: ShapedArray, axes: tuple[int, ...]) -> None:
    """Raise ShapeError unless `axes` are distinct axes of `x`."""
    if not all(0 <= a < x.ndim for a in axes):
        raise ShapeError(
            f"reduction axes {axes} contains out-of-bounds indices for {x.long_name()}: in {name}, "
            f"axis {next(a for a in axes if not 0 <= a < x.ndim)} is out of bounds for array of "
            f"dimension {x.ndim}"
        )
    if len(set(axes)) != len(axes):
        raise ShapeError(
            f"duplicate value in 'axes' of reduction: {axes} for {x.long_name()}, in {name}"
        )


def same_bits(x: Any, scalar: Any) -> bool:
    """Return True if `x` is a scalar, not an array of a program, with the bits of `scalar`."""
    return isinstance(x, np.generic) and x.dtype == scalar.dtype and x.tobytes() == scalar.tobytes()


def _without(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """Return a shape without some of its axes."""
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def _emit_reduce(
    ctx: LoweringContext,
    operands: Sequence[Any],
    inits: Sequence[Any],
    axes: tuple[int, ...],
    body: Callable[..., Sequence[Any]],
) -> list[Any]:
    """Emit `stablehlo.reduce`; `body` emits the results for two lists of scalars."""
    types = [mlir.tensor_type(a) for a in ctx.avals_out]
    operation = mlir.op(
        "stablehlo.reduce",
        types,
        (*operands, *inits),
        {"dimensions": mlir.i64_array(axes)},
        regions=1,
    )
    fill_region(operation, [a.update(shape=()) for a in ctx.avals_out], body)
    return list(operation.results)


def fill_region(
    operation: Any,
    scalars: Sequence[ShapedArray],
    body: Callable[..., Sequence[Any]],
    region: int = 0,
) -> None:
    """Fill a region of an operation with the results of `body` for two lists of scalars."""
    ir = mlir.ir
    types = [mlir.tensor_type(a) for a in scalars] * 2
    locations = [operation.location] * len(types)
    block = operation.regions[region].blocks.append(*types, arg_locs=locations)
    with ir.InsertionPoint(block):
        mlir.op("stablehlo.return", (), body(*block.arguments))


class Reduction(SingleResult):
    """A reduction over `axes` by one operation; `identity` is the value of an empty one."""

    raised_from: tuple[str, ...] = ("stablehlo.reduce",)

    def __init__(self, name: str, op: str, kinds: str, identity: Callable[[DType], Any]) -> None:
        super().__init__(name)
        self.op = op
        self.kinds = kinds
        self.identity = identity

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), axes = avals, params["axes"]
        check_kinds(self.name, self.kinds, x)
        check_axes(self.name, x, axes)
        return x.update(shape=_without(x.shape, axes))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.without(sharding_rules.spec_of(avals[0]), params["axes"])]

    def combine(self, aval: ShapedArray, x: Any, y: Any) -> Any:
        """Emit the operation on two values of one aval."""
        return mlir.op1(self.op, aval, (x, y))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,) = ctx.avals_in
        scalar = x.update(shape=())
        init = ctx.numpy_constant(np.asarray(self.identity(x.dtype)).astype(x.dtype))
        return _emit_reduce(
            ctx, operands, (init,), params["axes"], lambda a, b: (self.combine(scalar, a, b),)
        )[0]

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Recognize a reduction that starts from the identity of the operation."""
        if len(operands) != 2 or operation.combiner != self.op:
            return None
        x, init = operands
        dtype, axes = operation.aval_out.dtype, operation.ints("dimensions")
        identity = np.asarray(self.identity(dtype)).astype(dtype)[()]
        if not same_bits(init, identity) or not self.is_one_operation(dtype):
            return None
        return self.bind(x, axes=axes)

    def is_one_operation(self, dtype: DType) -> bool:
        """Return True if `combine` emits one operation for elements of this dtype."""
        return True

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), None

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, axes = dims[0] or 0, params["axes"]
        moved = shift_all(axes, dim)
        return self.bind(args[0], axes=moved), dim - sum(a < dim for a in moved)

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order, axes = orders[0], params["axes"]
        if order is None:
            return None
        places = tuple([i for i, axis in enumerate(order) if axis in axes])
        rest = renumbered([axis for axis in order if axis not in axes])
        return Reordered(params | {"axes": places}, (order,), (rest,))


def _spread_back(x: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return a reduction's result, broadcast along the axes it lost."""
    remaining = tuple([i for i in range(len(shape)) if i not in axes])
    return op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=remaining)


def _check_half(aval: ShapedArray, axes: Sequence[int]) -> None:
    """Raise ArgumentError for the sum of half floats, which `allow_f16_reductions` forbids."""
    is_half = dtypes.kind(aval.dtype) == "f" and aval.dtype in (dtypes.bfloat16, np.float16)
    if is_half and any(aval.shape[i] != 1 for i in axes):
        raise ArgumentError(
            f"reduce_sum on operand {aval.long_name()} is not allowed when "
            "jax_allow_f16_reductions=False",
            hint="convert the operand to float32",
        )


class ReduceSum(Reduction):
    """The sum, which is linear."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)

    def bind(self, *args: Any, **params: Any) -> Array:
        if not state.allow_f16_reductions:
            _check_half(get_aval(args[0]), params["axes"])
        return super().bind(*args, **params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(tangents[0], **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [_spread_back(cotangent, operands[0].aval.shape, params["axes"])]


class ReduceProduct(Reduction):
    """The product; its derivative by an element is the product of all others."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,), axes = primals, tangents, params["axes"]
        out = self.bind(x, axes=axes)
        shape = shape_of(x)
        remaining = [i for i in range(len(shape)) if i not in axes]
        flat = (*[shape[i] for i in remaining], math.prod(shape[i] for i in axes))
        order = (*remaining, *axes)
        x, t = (reshape(op.transpose(v, permutation=order), flat) for v in (x, t))
        others = _others(x, len(remaining))
        return out, op.reduce_sum(op.mul(t, others), axes=(len(remaining),))


def _others(x: Any, axis: int) -> Any:
    """Return, for each element along the last axis, the product of the others: exact with zeros."""
    before = op.cumprod(shifted(x, axis, 1, 1), axis=axis, reverse=False)
    after = op.cumprod(shifted(x, axis, -1, 1), axis=axis, reverse=True)
    return op.mul(before, after)


def shifted(x: Any, axis: int, by: int, value: float) -> Any:
    """Return the elements moved by `by` positions along an axis; `value` fills the gap."""
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (by, -by, 0)
    return op.pad(x, elementwise_constant(x, value), padding_config=tuple(config))


class ReduceExtremum(Reduction):
    """The greatest or least element; complex elements compare in lexicographic order."""

    def combine(self, aval: ShapedArray, x: Any, y: Any) -> Any:
        return emit_extremum(self.op, aval, x, y)

    def is_one_operation(self, dtype: DType) -> bool:
        return dtypes.kind(dtype) != "c"

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        # two computations, as in two fusions, could round differently, so that no element is equal
        (x,), (t,), axes = op.optimization_barrier(*primals), tangents, params["axes"]
        out = self.bind(x, axes=axes)
        where = op.eq(x, _spread_back(out, shape_of(x), axes))
        chosen = op.convert_element_type(where, new_dtype=get_aval(x).dtype, weak_type=False)
        count = op.reduce_sum(chosen, axes=axes)
        share = op.div(chosen, _spread_back(count, shape_of(x), axes))
        return out, op.reduce_sum(op.mul(t, share), axes=axes)


class ArgExtremum(SingleResult):
    """The position of the first greatest or least element along the single axis of `axes`.

    A NaN counts as both; the result has dtype `index_dtype`.
    """

    raised_from: tuple[str, ...] = ("stablehlo.reduce",)

    def __init__(self, name: str, compare: Any, reduction: Reduction) -> None:
        super().__init__(name)
        self.compare = compare
        self.reduction = reduction
        self.identity = reduction.identity

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), axes, index_dtype = avals, params["axes"], params["index_dtype"]
        check_kinds(self.name, "buif", x)
        if len(axes) != 1:
            raise ShapeError(f"{self.name} takes one axis, and got {axes}")
        if not 0 <= axes[0] < x.ndim:
            raise ShapeError(f"Invalid axis {axes[0]} for operand shape {x.shape}")
        if dtypes.kind(index_dtype) not in "iu":
            text = dtypes.long_name(index_dtype)
            raise DTypeError(f"index_dtype must be an integer type, but got {text}, in {self.name}")
        if x.shape[axes[0]] < 1:
            raise ShapeError(
                "argmin and argmax require non-empty reduced dimension. "
                f"operand.shape={x.shape} axis={axes[0]}"
            )
        return shaped(_without(x.shape, axes), index_dtype)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.without(sharding_rules.spec_of(avals[0]), params["axes"])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), out, axes = ctx.avals_in, ctx.aval_out, params["axes"]
        if ctx.is_for_unsplit_cpu and _is_packed(x, axes[0]):
            form = packed_argmax if self is argmax_p else packed_argmin
            return ctx.form(form, operands, self.name, **params)[0]
        values, index = shaped((), x.dtype), shaped((), out.dtype)
        positions = mlir.op1(
            "stablehlo.iota",
            shaped(x.shape, out.dtype),
            (),
            {"iota_dimension": mlir.i64_attr(axes[0])},
        )
        inits = [
            ctx.numpy_constant(np.asarray(self.identity(x.dtype)).astype(x.dtype)),
            ctx.numpy_constant(np.zeros((), out.dtype)),
        ]
        ctx.avals_out = (shaped(out.shape, x.dtype), out)
        return _emit_reduce(
            ctx, (operands[0], positions), inits, axes, lambda *v: self._pick(values, index, *v)
        )[1]

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Recognize the joint reduction of an array and its positions, whose maximum is unused."""
        if len(operands) != 4 or operation.has_uses(0):
            return None
        x, _, *inits = operands
        (values, index), axes = operation.avals_out, operation.ints("dimensions")
        starts = [np.asarray(self.identity(values.dtype)).astype(values.dtype)[()]]
        starts.append(np.zeros((), index.dtype)[()])
        scalars = [a.update(shape=()) for a in (values, index)]
        is_own = (
            len(axes) == 1
            and all(map(same_bits, inits, starts))
            and operation.counts_along(1, axes[0])
            and operation.region_equals(scalars * 2, lambda *v: self._pick(*scalars, *v))
        )
        if not is_own:
            return None
        position = self.bind(x, axes=axes, index_dtype=index.dtype)
        best = self.reduction.bind(x, axes=axes)  # unused, so that it is removed
        return [best, position]

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        axes = operation.ints("dimensions")
        is_own = len(operation.avals_in) == 4 and len(axes) == 1 and not operation.has_uses(0)
        x = operation.avals_in[0]
        return is_own and x.size >= MANY_SEARCHED and _is_packed(x, axes[0])

    def _pick(
        self, values: ShapedArray, index: ShapedArray, x: Any, i: Any, y: Any, j: Any
    ) -> tuple[Any, Any]:
        """Emit the selection of (x, i) or (y, j): a NaN wins, then the better, then the first."""
        flag = shaped((), BOOL)
        better = emit_compare(self.compare, values, x, y)
        if dtypes.kind(values.dtype) == "f":
            better = mlir.op1("stablehlo.or", flag, (better, emit_compare(ne_p, values, x, x)))
        tie, earlier = emit_compare(eq_p, values, x, y), emit_compare(lt_p, index, i, j)
        both = mlir.op1("stablehlo.and", flag, (tie, earlier))
        first = mlir.op1("stablehlo.or", flag, (better, both))
        value = mlir.op1("stablehlo.select", values, (better, x, y))
        return value, mlir.op1("stablehlo.select", index, (first, i, j))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), None

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, (axis,) = dims[0] or 0, params["axes"]
        moved = axis + (axis >= dim)
        out = self.bind(args[0], axes=(moved,), index_dtype=params["index_dtype"])
        return out, dim - (moved < dim)


def _is_packed(x: ShapedArray, axis: int) -> bool:
    """Return True if a search along an axis is faster on keys with positions in them."""
    return (
        dtypes.kind(x.dtype) == "f" and known_at_least(x.shape[axis], _LONG) and fits_order_key(x)
    )


class Reduce(MultipleResults):
    """The joint reduction of several arrays over `dimensions`, by the program `olympuspr`.

    Operands are the arrays, then an initial scalar for each; the program takes two lists of scalars
    and returns one.
    """

    higher_order: ClassVar[bool] = True
    is_general: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.reduce",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        dimensions = params["dimensions"]
        arrays, inits = split_half(self.name, avals)
        check_combiner(self.name, params["olympuspr"], arrays, inits)
        for x in arrays:
            check_axes(self.name, x, dimensions)
            if x.shape != arrays[0].shape:
                text = ", ".join(a.short_name() for a in arrays)
                raise ShapeError(f"reduce needs arrays of one shape, and got {text}")
        outs = tuple([shaped(_without(x.shape, dimensions), x.dtype) for x in arrays])
        if all(a.explicit is None for a in arrays):
            return outs
        spec = sharding_rules.without(sharding_rules.same(self.name, arrays), dimensions)
        specs = [spec] * len(outs)
        sharding_rules.check_one_mesh(self.name, arrays)
        return sharding_rules.with_specs(self, arrays, outs, specs, unreduced_rules.NONE)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        half = len(operands) // 2
        program: Olympuspr = params["olympuspr"]
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        attributes = {"dimensions": mlir.i64_array(params["dimensions"])}
        operation = mlir.op("stablehlo.reduce", types, operands, attributes, regions=1)
        assert len(program.invars) == 2 * half
        ctx.region(operation.regions[0], program)
        return list(operation.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        program = operation.closed_program()
        if program is None:
            return None
        return self.bind(*operands, olympuspr=program, dimensions=operation.ints("dimensions"))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        half = len(primals) // 2
        pairs = list(zip(primals, tangents, strict=True))
        moved = fold_tangents(
            self.name, params["olympuspr"], pairs[:half], pairs[half:], params["dimensions"]
        )
        return self.bind(*primals, **params), moved

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        half = len(args) // 2
        if any(d is not None for d in dims[half:]):
            raise TransformError("vmap cannot map over the initial values of lax.reduce")
        arrays = [
            at_front(x, d, batched.size) for x, d in zip(args[:half], dims[:half], strict=True)
        ]
        moved = tuple([d + 1 for d in params["dimensions"]])
        outs = self.bind(*arrays, *args[half:], **(params | {"dimensions": moved}))
        return outs, [0] * len(outs)


def split_half(
    name: str, avals: tuple[ShapedArray, ...]
) -> tuple[tuple[ShapedArray, ...], tuple[ShapedArray, ...]]:
    """Return arrays and their initial scalars; raise ShapeError or DTypeError unless they match."""
    half = len(avals) // 2
    arrays, inits = avals[:half], avals[half:]
    if len(arrays) != len(inits) or not arrays:
        raise ShapeError(
            f"{name} needs an initial value for each array, and got {len(avals)} in all"
        )
    for x, init in zip(arrays, inits, strict=True):
        if init.shape:
            shapes = [i.shape for i in inits]
            raise ShapeError(
                f"{name} expected init_values to be scalars but init_values have shapes {shapes}."
                if "window" in name
                else f"{name} found non-scalar initial value: {shapes}"
            )
        if init.dtype != x.dtype:
            raise DTypeError(
                f"{name} of {x.long_name()} needs an initial value of its dtype, "
                f"and got {init.long_name()}"
            )
    return arrays, inits


def check_combiner(
    name: str,
    program: Olympuspr,
    arrays: tuple[ShapedArray, ...],
    inits: tuple[ShapedArray, ...],
) -> None:
    """Raise DTypeError unless the program returns scalars of the arrays' dtypes."""
    have = [(a.shape, a.dtype) for a in program.out_avals]
    if have != [(i.shape, x.dtype) for x, i in zip(arrays, inits, strict=True)]:
        got = ", ".join(a.short_name() for a in program.out_avals)
        want = ", ".join(i.short_name() for i in inits)
        raise DTypeError(f"the computation of {name} must give ({want}), and gives ({got})")


def _all_ones(dtype: DType) -> Any:
    return True if dtype == BOOL else dtypes.iinfo(dtype).max if dtypes.kind(dtype) == "u" else -1


reduce_sum_p = ReduceSum("reduce_sum", "stablehlo.add", "uifc", lambda _: 0)
reduce_prod_p = ReduceProduct("reduce_prod", "stablehlo.multiply", "uifc", lambda _: 1)
reduce_max_p = ReduceExtremum("reduce_max", "stablehlo.maximum", "buifc", lowest)
reduce_min_p = ReduceExtremum("reduce_min", "stablehlo.minimum", "buifc", highest)
reduce_and_p = Reduction("reduce_and", "stablehlo.and", "bui", _all_ones)
reduce_or_p = Reduction("reduce_or", "stablehlo.or", "bui", lambda _: 0)
reduce_xor_p = Reduction("reduce_xor", "stablehlo.xor", "bui", lambda _: 0)
argmax_p = ArgExtremum("argmax", gt_p, reduce_max_p)
argmin_p = ArgExtremum("argmin", lt_p, reduce_min_p)
reduce_p = Reduce("reduce")
