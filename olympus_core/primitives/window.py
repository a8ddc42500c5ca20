"""Window primitives: a reduction of each window of an array, and the elements that it selects.

`window_parameters.py` has the parameters of windows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.base.errors import ShapeError, TransformError
from olympus_core.ir import sharding_rules
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import (
    Avals,
    Batched,
    LinearPrimitive,
    MultipleResults,
    SingleResult,
    op,
)
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.primitives.elementwise.base import (
    at_front,
    check_kinds,
    reshape,
    scalar_zero,
    spread,
    zeros_like,
)
from olympus_core.primitives.elementwise.logic import emit_compare, ge_p, le_p
from olympus_core.primitives.folded_tangents import Dual, fold_tangents
from olympus_core.primitives.gather import GatherScatterMode, ScatterDimensionNumbers
from olympus_core.primitives.matrices import MANY_PRODUCTS
from olympus_core.primitives.reduction import (
    Reduction,
    check_combiner,
    fill_region,
    highest,
    lowest,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
    same_bits,
    split_half,
)
from olympus_core.primitives.window_forms import reads, window_form
from olympus_core.primitives.window_parameters import (
    dilated,
    pairs_attr,
    read_window,
    reordered_window,
    window_attributes,
    window_shape,
    with_mapped_axis,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


def emit_reduce_window(
    ctx: LoweringContext,
    operand: Any,
    init: Any,
    params: dict[str, Any],
    body: Callable[..., Sequence[Any]],
) -> Any:
    """Emit `stablehlo.reduce_window`; `body` emits the result for two scalars."""
    out = ctx.aval_out
    attributes = window_attributes(params)
    if any(isinstance(x, mlir.SymbolicValues) for x in attributes.values()):
        reducer = ctx.function("reducer", (out.update(shape=()),) * 2, body)
        return dynamic.reduce_window(out, (operand, init), attributes, reducer)
    operation = mlir.op(
        "stablehlo.reduce_window",
        (mlir.tensor_type(out),),
        (operand, init),
        attributes,
        regions=1,
    )
    fill_region(operation, (out.update(shape=()),), body)
    return operation.result


class WindowReduction(SingleResult):
    """The reduction of each window by the operation of `reduction`."""

    raised_from: tuple[str, ...] = ("stablehlo.reduce_window",)

    def __init__(self, name: str, reduction: Reduction, binary: str) -> None:
        super().__init__(name)
        self.reduction = reduction
        self.binary = binary  # the name of the primitive of two arrays

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        x, out = operation.avals_in[0], operation.aval_out
        params = read_window(operation)
        return reads(out, params) >= MANY_PRODUCTS and window_form(x, out, params) is not None

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        check_kinds(self.name, self.reduction.kinds, x)
        return x.update(shape=window_shape(self.name, x.shape, params))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.resized(self.name, avals[0], outs[0].shape)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, rule = ctx.aval_out, self.reduction
        scalar = out.update(shape=())
        form = window_form(ctx.avals_in[0], out, params) if ctx.is_for_unsplit_cpu else None
        if form is not None:
            options = {"shape": out.shape, "combiner": self.binary, "window": self.name}
            return ctx.form(form, operands, self.name, **options, **params)[0]
        init = ctx.numpy_constant(np.asarray(rule.identity(out.dtype)).astype(out.dtype))
        return emit_reduce_window(
            ctx, operands[0], init, params, lambda x, y: (rule.combine(scalar, x, y),)
        )

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        rule = self.reduction
        if len(operands) != 2 or operation.combiner != rule.op:
            return None
        x, init = operands
        dtype = operation.aval_out.dtype
        identity = np.asarray(rule.identity(dtype)).astype(dtype)[()]
        if not same_bits(init, identity) or not rule.is_one_operation(dtype):
            return None
        return self.bind(x, **read_window(operation))

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        return self.bind(args[0], **with_mapped_axis(params, dim)), dim

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        return reordered_window(orders, 1, params)


class WindowSum(WindowReduction):
    """The sum of each window, which is linear."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(tangents[0], **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Return window sums of the cotangents of nonempty windows, dilated by the strides."""
        shape = operands[0].aval.shape
        strides, ones = params["window_strides"], (1,) * len(shape)
        limits = zip(
            shape,
            params["base_dilation"],
            params["window_dimensions"],
            params["window_dilation"],
            params["padding"],
            shape_of(cotangent),
            strides,
            strict=True,
        )
        around = []
        for n, base, window, dilation, (low, _), count, stride in limits:
            extent = dilated(window, dilation)
            below = extent - low - 1
            above = dilated(n, base) + extent - 1 - dilated(count, stride) - below
            around.append((below, above, stride - 1))
        padded = op.pad(cotangent, scalar_zero(cotangent), padding_config=tuple(around))
        moved = params | {
            "window_strides": params["base_dilation"],
            "base_dilation": ones,
            "padding": ((0, 0),) * len(shape),
        }
        return [self.bind(padded, **moved)]


class WindowExtremum(WindowReduction):
    """The greatest or least element of each window."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        select = "ge" if self is reduce_window_max_p else "le"
        return self.bind(x, **params), select_and_gather_add_p.bind(
            t, x, select_prim=select, **params
        )


_SELECTIONS = {"ge": (ge_p, lowest), "le": (le_p, highest)}


class SelectAndGather(LinearPrimitive, SingleResult):
    """The element of the first operand, for each window of the second, that the second selects.

    `select_prim` is "ge" to select the greatest, "le" the least; windows of only padding give 0.
    This is the derivative of window maxima and minima: the tangent at the selected value.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        source, x = avals
        if source.shape != x.shape:
            raise ShapeError(
                f"{self.name} needs arrays of one shape, and got {source.short_name()} and "
                f"{x.short_name()}"
            )
        return shaped(window_shape(self.name, x.shape, params), source.dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        compare, identity = _SELECTIONS[params["select_prim"]]
        source, x = (a.update(shape=()) for a in ctx.avals_in)
        inits = [
            ctx.numpy_constant(np.asarray(identity(x.dtype)).astype(x.dtype)),
            ctx.numpy_constant(np.zeros((), source.dtype)),
        ]
        outs = [x.update(shape=ctx.aval_out.shape), ctx.aval_out]
        operation = mlir.op(
            "stablehlo.reduce_window",
            [mlir.tensor_type(a) for a in outs],
            (operands[1], operands[0], *inits),
            window_attributes(params),
            regions=1,
        )

        def better(a: Any, s: Any, b: Any, t: Any) -> tuple[Any, Any]:
            first = emit_compare(compare, x, a, b)
            value = mlir.op1("stablehlo.select", x, (first, a, b))
            return value, mlir.op1("stablehlo.select", source, (first, s, t))

        fill_region(operation, [x, source], better)
        return operation.results[1]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Return zeros with each window's cotangent added at its selected element."""
        shape, x = operands[0].aval.shape, operands[1]
        if _are_tiles(shape, params):
            return [_spread_in_tiles(cotangent, x, params), None]
        count = math.prod(shape)
        numbers = op.iota(shape=(count,), dimension=0, dtype=np.dtype("int32"))
        # numbers start at 1, and 0 marks a window without a selected element
        numbers = reshape(op.add(numbers, np.int32(1)), shape)
        places = op.sub(self.bind(numbers, x, **params), np.int32(1))
        total = op.scatter_add(
            spread(scalar_zero(cotangent), (count,)),
            reshape(places, (*shape_of(places), 1)),
            cotangent,
            dimension_numbers=ScatterDimensionNumbers((), (0,), (0,)),
            indices_are_sorted=False,
            unique_indices=False,
            mode=GatherScatterMode.FILL_OR_DROP,
        )
        return [reshape(total, shape), None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        arrays = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*arrays, **with_mapped_axis(params, 0)), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        return reordered_window(orders, 2, params)


#: most elements of a window for which unrolled comparisons find the selected one, and least
#: elements of an array for which that is faster than a scatter
_COMPARED, _MANY = 16, 2**17


def _are_tiles(shape: Shape, params: dict[str, Any]) -> bool:
    """Return True if windows are adjacent, without padding, and of size 1 along the last axis."""
    sizes = params["window_dimensions"]
    return (
        sizes == params["window_strides"]
        and math.prod(sizes) <= _COMPARED
        and sizes[-1:] == (1,)
        and {*params["base_dilation"], *params["window_dilation"]} <= {1}
        and not any(itertools.chain(*params["padding"]))
        and known_at_least(math.prod(shape), _MANY)
        and all(known_at_least(n, size) for n, size in zip(shape, sizes, strict=True))
    )


def _spread_in_tiles(cotangent: Any, x: Any, params: dict[str, Any]) -> Any:
    """Return each window's cotangent at its selected element, 0 elsewhere; windows are tiles.

    For windows of 2 by 2 a scatter takes XLA ten times as long on the CPU.
    """
    shape, count = shape_of(x), shape_of(cotangent)
    strides: Shape = params["window_strides"]
    dtype = get_aval(x).dtype
    keeps, identity = (op.ge, lowest) if params["select_prim"] == "ge" else (op.le, highest)
    best = spread(np.asarray(identity(dtype)).astype(dtype)[()], count)
    chosen = spread(np.int32(-1), count)  # elements equal to the identity are not selected
    for place in itertools.product(*map(range, strides)):
        limits = [i + (n - 1) * s + 1 for i, n, s in zip(place, count, strides, strict=True)]
        part = op.slice(x, start_indices=place, limit_indices=tuple(limits), strides=strides)
        number = np.int32(np.ravel_multi_index(place, strides))
        is_unchanged = keeps(best, part)
        best = op.select_n(is_unchanged, part, best)
        chosen = op.select_n(is_unchanged, spread(number, count), chosen)
    full = tuple([n * s for n, s in zip(count, strides, strict=True)])
    numbers = spread(np.int32(0), full)
    for axis, stride in enumerate(strides):
        index = op.rem(
            op.iota(shape=full, dimension=axis, dtype=np.dtype("int32")), np.int32(stride)
        )
        numbers = op.add(op.mul(numbers, np.int32(stride)), index)
    selected = op.eq(_repeat_elements(chosen, strides), numbers)
    repeated = _repeat_elements(cotangent, strides)
    out = op.select_n(selected, zeros_like(repeated), repeated)
    rest = tuple([(0, n - m, 0) for n, m in zip(shape, full, strict=True)])
    return out if shape == full else op.pad(out, scalar_zero(out), padding_config=rest)


def _repeat_elements(x: Any, times: Shape) -> Any:
    """Repeat each element `times[i]` times in a row along axis i."""
    shape = shape_of(x)
    full = tuple(itertools.chain(*zip(shape, times, strict=True)))
    axes = tuple(range(0, len(full), 2))
    out = op.broadcast_in_dim(x, shape=full, broadcast_dimensions=axes)
    return reshape(out, [n * s for n, s in zip(shape, times, strict=True)])


class SelectAndScatterAdd(LinearPrimitive, SingleResult):
    """Zeros with each element of the first operand added where a window of the second selects.

    `select_prim` is "ge" to select the greatest element, "le" the least. Windows are not dilated.
    This is the transpose of `SelectAndGather`, as JAX emits it for gradients of pools.
    """

    raised_from: tuple[str, ...] = ("stablehlo.select_and_scatter",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        source, x = avals
        shape = window_shape(self.name, x.shape, self._undilated(x.ndim, params))
        if source != x.update(shape=shape):
            raise ShapeError(
                f"{self.name} needs a source of type {x.update(shape=shape).short_name()}, and "
                f"got {source.short_name()}"
            )
        return x

    @staticmethod
    def _undilated(rank: int, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "base_dilation": (1,) * rank, "window_dilation": (1,) * rank}

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (source, x) = ctx.aval_out, operands
        scalar = out.update(shape=())
        operation = mlir.op(
            "stablehlo.select_and_scatter",
            (mlir.tensor_type(out),),
            (x, source, ctx.numpy_constant(np.zeros((), out.dtype))),
            {
                "window_dimensions": mlir.i64_array(params["window_dimensions"]),
                "window_strides": mlir.i64_array(params["window_strides"]),
                "padding": pairs_attr(params["padding"]),
            },
            regions=2,
        )
        compare, _ = _SELECTIONS[params["select_prim"]]
        fill_region(operation, (scalar,), lambda a, b: (emit_compare(compare, scalar, a, b),))
        fill_region(operation, (scalar,), lambda a, b: (reduce_sum_p.combine(scalar, a, b),), 1)
        return operation.result

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        x, source, init = operands
        out = operation.aval_out
        if not (
            same_bits(init, np.zeros((), out.dtype)[()])
            and operation.combiner_of(1) == reduce_sum_p.op
            and reduce_sum_p.is_one_operation(out.dtype)
        ):
            return None
        scalar, ones = out.update(shape=()), (1,) * out.ndim
        for name, (compare, _) in _SELECTIONS.items():
            emit = functools.partial(emit_compare, compare, scalar)
            if operation.region_equals((scalar, scalar), lambda *pair, emit=emit: (emit(*pair),)):
                return self.bind(
                    source,
                    x,
                    select_prim=name,
                    window_dimensions=operation.ints("window_dimensions", ones),
                    window_strides=operation.ints("window_strides", ones),
                    padding=operation.pairs("padding", out.ndim),
                )
        return None

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Return the cotangent at each window's selected element."""
        x = operands[1]
        undilated = self._undilated(get_aval(x).ndim, params)
        return [select_and_gather_add_p.bind(cotangent, x, **undilated), None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        arrays = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*arrays, **with_mapped_axis(params, 0)), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        # the array has the layout of the windows that its elements are selected from
        return reordered_window(orders, 2, params)


def _elements_of_windows(array: Dual, init: Dual, params: dict[str, Any]) -> Dual:
    """Return the elements of all windows, with an axis in front for the place in the window."""
    (x, moved), (value, moved_value) = array, init
    if moved is None and moved_value is None:
        return _gathered(x, value, params), None
    moved = _zeros(x) if moved is None else moved
    moved_value = _zeros(value) if moved_value is None else moved_value
    return _gathered(x, value, params), _gathered(moved, moved_value, params)


def _zeros(x: Any) -> Any:
    return spread(get_aval(x).dtype.type(0), shape_of(x))


def _gathered(x: Any, init: Any, params: dict[str, Any]) -> Any:
    dilations, strides = params["base_dilation"], params["window_strides"]
    config = [(*pad, d - 1) for pad, d in zip(params["padding"], dilations, strict=True)]
    padded = op.pad(x, init, padding_config=tuple(config))
    shape = window_shape("reduce_window", shape_of(x), params)
    parts = []
    for place in np.ndindex(*params["window_dimensions"]):
        begin = [i * d for i, d in zip(place, params["window_dilation"], strict=True)]
        end = [b + max(0, (n - 1) * s + 1) for b, n, s in zip(begin, shape, strides, strict=True)]
        limits = {"start_indices": tuple(begin), "limit_indices": tuple(end)}
        parts.append(reshape(op.slice(padded, **limits, strides=strides), (1, *shape)))
    return op.concatenate(*parts, dimension=0)


class ReduceWindow(MultipleResults):
    """The reduction of the windows of several arrays together, by the program `olympuspr`.

    Operands are the arrays, then an initial scalar for each.
    """

    higher_order: ClassVar[bool] = True
    is_general: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.reduce_window",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        arrays, inits = split_half(self.name, avals)
        check_combiner(self.name, params["olympuspr"], arrays, inits)
        shape = window_shape(self.name, arrays[0].shape, params)
        if any(x.shape != arrays[0].shape for x in arrays):
            text = ", ".join(a.short_name() for a in arrays)
            raise ShapeError(f"reduce_window needs arrays of one shape, and got {text}")
        return tuple([shaped(shape, x.dtype) for x in arrays])

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        program: Olympuspr = params["olympuspr"]
        attributes = window_attributes(params)
        operation = mlir.op("stablehlo.reduce_window", types, operands, attributes, regions=1)
        ctx.region(operation.regions[0], program)
        return list(operation.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        program = operation.closed_program()
        if program is None:
            return None
        return self.bind(*operands, olympuspr=program, **read_window(operation))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        half = len(primals) // 2
        pairs = list(zip(primals, tangents, strict=True))
        inits = pairs[half:]
        elements = [
            _elements_of_windows(array, init, params)
            for array, init in zip(pairs[:half], inits, strict=True)
        ]
        moved = fold_tangents(self.name, params["olympuspr"], elements, inits, (0,))
        return self.bind(*primals, **params), moved

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        half = len(args) // 2
        if any(d is not None for d in dims[half:]):
            raise TransformError("vmap cannot map over the initial values of lax.reduce_window")
        arrays = [
            at_front(x, d, batched.size) for x, d in zip(args[:half], dims[:half], strict=True)
        ]
        outs = self.bind(*arrays, *args[half:], **with_mapped_axis(params, 0))
        return outs, [0] * len(outs)


reduce_window_sum_p = WindowSum("reduce_window_sum", reduce_sum_p, "add")
reduce_window_max_p = WindowExtremum("reduce_window_max", reduce_max_p, "max")
reduce_window_min_p = WindowExtremum("reduce_window_min", reduce_min_p, "min")
select_and_gather_add_p = SelectAndGather("select_and_gather_add")
select_and_scatter_add_p = SelectAndScatterAdd("select_and_scatter_add")
reduce_window_p = ReduceWindow("reduce_window")
