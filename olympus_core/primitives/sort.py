"""Sorting primitives: they sort elements, or select the greatest."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of, shaped
from olympus_core.base.dimensions.expression import is_symbolic_dim, known_at_least
from olympus_core.base.errors import ShapeError
from olympus_core.ir import sharding_rules
from olympus_core.ir.olympuspr import Eqn
from olympus_core.ir.primitive import Batched, MultipleResults, op
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.primitives.elementwise.base import (
    BOOL,
    at_front,
    check_kinds,
    move_axis,
    reshape,
    to_dtype,
)
from olympus_core.primitives.elementwise.logic import emit_compare, eq_p, ne_p
from olympus_core.primitives.gather import GatherDimensionNumbers, GatherScatterMode
from olympus_core.primitives.order_keys import (
    MANY_SORTED,
    fits_order_key,
    key_and_place,
    place_of,
)
from olympus_core.primitives.reduction import check_axes

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Sort(MultipleResults):
    """The operands sorted along `dimension` by the first `num_keys` of them.

    The order is total: -0 equals 0, NaNs equal each other and come last, complex numbers compare by
    their real parts, then their imaginary parts.
    """

    raised_from: tuple[str, ...] = ("stablehlo.sort",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        if any(a.shape != avals[0].shape for a in avals):
            text = " ".join(str(a.shape) for a in avals)
            raise ShapeError(f"Arguments to sort must have equal shapes, got: {text}")
        check_axes("sort", avals[0], (params["dimension"],))
        if not 1 <= params["num_keys"] <= len(avals):
            term = "equal 1 for a single operand"
            if len(avals) > 1:
                term = f"be between 1 and len(operand)={len(avals)}"
            raise ShapeError(f"num_keys={params['num_keys']} must {term}.")
        return avals

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """A result differs if its operand or a key does, because the keys determine the order."""
        keys = frozenset[Any]().union(*operands[: eqn.params["num_keys"]])
        return [x | keys for x in operands]

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        message = (
            "Arguments to sort must be unsharded over the sorting dimension. "
            "Got arg sharding={sharding} and sorting dimension={axis}"
        )
        spec = sharding_rules.unsplit_axis(self.name, avals, params["dimension"], message)
        return [spec] * len(outs)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        axis = params["dimension"]
        if ctx.is_for_unsplit_cpu and params["num_keys"] == 1 and _is_packed(ctx.avals_in):
            counting = tuple([_counts_along(x, axis) for x in operands])
            return ctx.form(packed_sort, operands, "sort", axis=axis, counting=counting)
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        attributes = {
            "dimension": mlir.i64_attr(params["dimension"]),
            "is_stable": mlir.bool_attr(params["is_stable"]),
        }
        operation = mlir.op("stablehlo.sort", types, operands, attributes, regions=1)
        scalars = [a.update(shape=()) for a in ctx.avals_out]
        pairs = [mlir.tensor_type(a) for a in scalars for _ in range(2)]
        block = operation.regions[0].blocks.append(
            *pairs, arg_locs=[operation.location] * len(pairs)
        )
        with mlir.ir.InsertionPoint(block):
            before = _emit_before(scalars[: params["num_keys"]], block.arguments)
            mlir.op("stablehlo.return", (), (before,))
        return list(operation.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        scalars = [a.update(shape=()) for a in operation.avals_out]
        pairs = [a for a in scalars for _ in range(2)]
        for count in range(1, len(operands) + 1):
            emit = functools.partial(_emit_order, scalars[:count])
            if operation.region_equals(pairs, emit):
                return self.bind(
                    *operands,
                    dimension=operation.integer("dimension", -1)
                    % len(operation.avals_out[0].shape),
                    is_stable=operation.flag("is_stable"),
                    num_keys=count,
                )
        return None

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        is_packed = _is_packed(operation.avals_in)
        return is_packed and operation.avals_in[0].size >= MANY_SORTED

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        shape, axis = shape_of(primals[0]), params["dimension"]
        dtype = np.dtype("int64" if known_at_least(shape[axis], 2**31) else "int32")
        positions = op.iota(shape=shape, dimension=axis, dtype=dtype)
        *outs, order = self.bind(*primals, positions, **params)
        moved = [None if t is None else along(t, order, axis) for t in tangents]
        return outs, moved

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        axis, dim = params["dimension"], dims[0] or 0
        if any(d != dim for d in dims):
            dim = 0
            args = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        outs = self.bind(*args, **(params | {"dimension": axis + (axis >= dim)}))
        return outs, [dim] * len(outs)


def _is_packed(avals: Sequence[ShapedArray]) -> bool:
    """Return True if a sort by the first of arrays is faster on keys with positions in them."""
    plain = len(avals) == 1 and dtypes.kind(avals[0].dtype) != "f"  # compared without keys
    return not plain and fits_order_key(avals[0])


def _counts_along(value: Any, axis: int) -> bool:
    """Return True for an iota along an axis of int32, which an argsort has as an operand."""
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.iota":
        return False
    element = value.type.element_type
    is_int32 = element == mlir.element_type(np.dtype("int32"))
    is_along: bool = owner.attributes["iota_dimension"].value == axis
    return is_int32 and is_along


def packed_sort(*operands: Any, axis: int, counting: tuple[bool, ...]) -> list[Any]:
    """Return the operands sorted by the first: it sorts its keys with the places in them.

    `counting` is True for each operand whose elements are the positions along the axis.
    """
    shape = shape_of(operands[0])
    last, inner = len(shape) - 1, math.prod(shape[axis + 1 :])
    packed = move_axis(key_and_place(operands[0]), axis, last)
    (packed,) = op.sort(packed, dimension=last, is_stable=True, num_keys=1)
    places = move_axis(place_of(packed), last, axis)
    return [
        _positions(places, inner, shape[axis]) if counts else at(x, places)
        for x, counts in zip(operands, counting, strict=True)
    ]


def _positions(places: Any, inner: int, size: int) -> Any:
    """Return the positions along an axis of `size`, with `inner` elements in the axes after it."""
    kind = np.dtype("uint32")  # XLA divides it by a power of two with one operation
    positions = op.rem(op.div(to_dtype(places, kind), kind.type(inner)), kind.type(size))
    return to_dtype(positions, np.dtype("int32"))


def at(x: Any, places: Any) -> Any:
    """Return the elements of `x` at places in row-major order."""
    count = math.prod(shape_of(x))
    flat = op.gather(
        reshape(x, (count,)),
        reshape(places, (count, 1)),
        dimension_numbers=GatherDimensionNumbers((), (0,), (0,), (), ()),
        slice_sizes=(1,),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )
    return reshape(flat, shape_of(places))


def along(x: Any, positions: Any, axis: int) -> Any:
    """Return the elements of `x` at positions along an axis; all positions are within it."""
    rank = len(shape_of(x))
    if 0 in shape_of(x):  # a gather needs at least one element
        return reshape(x, shape_of(positions))
    others = tuple([i for i in range(rank) if i != axis])
    return op.gather(
        x,
        reshape(positions, (*shape_of(positions), 1)),
        dimension_numbers=GatherDimensionNumbers((), (axis,), (axis,), others, others),
        slice_sizes=(1,) * rank,
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def _emit_before(scalars: Sequence[ShapedArray], values: Sequence[Any]) -> Any:
    """Emit True if the first of each pair comes first; `scalars` are the types of the keys."""
    keys: list[tuple[ShapedArray, Any, Any]] = []
    for i, aval in enumerate(scalars):
        keys += _keys(aval, *values[2 * i : 2 * i + 2])
    return _before(keys)


def _emit_order(scalars: Sequence[ShapedArray], *values: Any) -> tuple[Any]:
    return (_emit_before(scalars, values),)


def _keys(aval: ShapedArray, x: Any, y: Any) -> list[tuple[ShapedArray, Any, Any]]:
    """Return pairs of values of real dtypes whose total order is the order of x and y."""
    kind = dtypes.kind(aval.dtype)
    if kind == "c":
        part = shaped(aval.shape, dtypes.to_real(aval.dtype))
        pairs = [
            [mlir.op1(f"stablehlo.{name}", part, (v,)) for v in (x, y)] for name in ("real", "imag")
        ]
        return [(part, _canonical(part, a), _canonical(part, b)) for a, b in pairs]
    if kind == "f":
        return [(aval, _canonical(aval, x), _canonical(aval, y))]
    return [(aval, x, y)]


def _canonical(aval: ShapedArray, x: Any) -> Any:
    """Return x with 0 for -0, and one NaN for all NaNs."""
    zero, nan = mlir.full(aval, 0), mlir.full(aval, np.nan)
    signless = mlir.op1("stablehlo.select", aval, (emit_compare(eq_p, aval, x, zero), zero, x))
    return mlir.op1("stablehlo.select", aval, (emit_compare(ne_p, aval, x, x), nan, signless))


def _before(keys: list[tuple[ShapedArray, Any, Any]]) -> Any:
    """Emit True if the first of each pair is less, in lexicographic order of the pairs."""
    flag = shaped((), BOOL)
    *first, last = keys
    result = _compare("LT", *last)
    for key in reversed(first):
        tie = mlir.op1("stablehlo.and", flag, (_compare("EQ", *key), result))
        result = mlir.op1("stablehlo.or", flag, (_compare("LT", *key), tie))
    return result


def _compare(direction: str, aval: ShapedArray, x: Any, y: Any) -> Any:
    kind = dtypes.kind(aval.dtype)
    compare_type = "TOTALORDER" if kind == "f" else "SIGNED" if kind == "i" else "UNSIGNED"
    attributes = {
        "comparison_direction": mlir.parsed_attr(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": mlir.parsed_attr(f"#stablehlo<comparison_type {compare_type}>"),
    }
    return mlir.op1("stablehlo.compare", shaped((), BOOL), (x, y), attributes)


class TopK(MultipleResults):
    """The `k` greatest elements along the last axis in descending order, and their indices.

    Of equal elements the first comes first; NaN is greater than all.
    """

    raised_from: tuple[str, ...] = ("chlo.top_k",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (x,), k = avals, params["k"]
        check_kinds("top_k", "buif", x)
        if k < 0:
            raise ShapeError(f"k argument to top_k must be nonnegative, got {k}")
        if not x.ndim or k > x.shape[-1]:
            raise ShapeError(
                "k argument to top_k must be no larger than size along axis; got "
                f"{k=} with shape={list(x.shape)} and axis={x.ndim - 1}"
            )
        shape = (*x.shape[:-1], k)
        return x.update(shape=shape), shaped(shape, np.dtype("int32"))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        message = (
            "The input should be unsharded over the axis along which to compute the top_k values"
        )
        return [sharding_rules.unsplit_axis(self.name, avals, avals[0].ndim - 1, message)] * 2

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        if is_symbolic_dim(params["k"]):
            name = {"call_target_name": mlir.string_attr("stablehlo.dynamic_top_k")}
            k = dynamic.size_value(params["k"])
            return list(mlir.op("stablehlo.custom_call", types, (*operands, k), name).results)
        operation = mlir.op("chlo.top_k", types, operands, {"k": mlir.i64_attr(params["k"])})
        return list(operation.results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, k=operation.integer("k"))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        greatest, positions = self.bind(*primals, **params)
        (t,) = tangents
        moved = None if t is None else along(t, positions, len(shape_of(t)) - 1)
        return [greatest, positions], [moved, None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        (x,), dim = args, dims[0] or 0
        if dim == len(shape_of(x)) - 1:
            x, dim = move_axis(x, dim, 0), 0
        return self.bind(x, **params), [dim, dim]


sort_p = Sort("sort")
top_k_p = TopK("top_k")
