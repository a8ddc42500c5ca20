"""Collectives: operations on the values along a mapped axis that has a name.

The axis has one value for each index.  Under `vmap` a collective becomes arithmetic on the axis;
a program of replicas (see `xla_computation.py`) runs it as communication among the replicas whose
indices differ along that axis alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.context import state
from olympus_core.base.errors import LoweringError, ShardingError, TransformError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.olympuspr import Eqn, named_axes
from olympus_core.ir.primitive import Avals, Batched, LinearPrimitive, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.device_groups import (
    group_axes,
    grouped,
    numbered_axis,
    replica_groups,
)
from olympus_core.primitives.elementwise.base import (
    at_front,
    elementwise_constant,
    move_axis,
    reshape,
    shift_all,
)
from olympus_core.primitives.reduction import (
    Reduction,
    fill_region,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

_INT32 = np.dtype("int32")


class CollectivePrimitive(SingleResult):
    """A primitive along mapped axes; `across` batches over one of them, `along` over another."""

    axis_param: ClassVar[str] = "axis_name"
    types_varying_axes: ClassVar[bool] = True
    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        if avals and avals[0].explicit is not None:
            self._check_states(avals[0], params)
        return super()._typed(avals, params)

    def _check_states(self, aval: ShapedArray, params: dict[str, Any]) -> None:
        """Raise ShardingError for an operand that is unreduced or reduced along one of the axes."""
        unreduced, reduced = unreduced_rules.unchanged("", (aval,))
        for state_name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if wrong := axes & named_axes(self, params):
                raise ShardingError(
                    f"pvary cannot accept args which are {state_name}. Got "
                    f"{aval.short_name()} and axes={set(wrong)}",
                    hint="sum an unreduced value by lax.psum, or cast a reduced one by lax.pcast",
                )

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        if outs[0].ndim != avals[0].ndim:
            return super().sharding_rule(tuple(avals), tuple(outs), params)
        return [sharding_rules.resized(self.name, avals[0], outs[0].shape)]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        """Return (result, its mapped axis) for a collective over the mapped axis."""
        self._missing("across", "batched")

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        """Return (result, its mapped axis) for a collective over other axes."""
        return self.bind(x, **params), dim

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        if batched.name not in named_axes(self, params):
            return self.along(args[0], dims[0] or 0, params)
        if params.get("axis_index_groups") is not None:
            raise TransformError(
                f"{self.name} takes axis_index_groups along an axis of devices or replicas, and "
                f"{batched.name!r} is an axis that vmap maps over"
            )
        return self.across(batched, args[0], dims[0], params)

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        return named_axes(self, params)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """The results differ along the axes; subclasses whose result is the same override this."""
        return [operands[0] | named_axes(self, eqn.params) & agreement.several]

    def _shared(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """The result is the same on all devices along the axes, or on those of one group."""
        if eqn.params.get("axis_index_groups") is not None:
            return CollectivePrimitive.differing(self, agreement, eqn, operands)
        return [operands[0] - named_axes(self, eqn.params)]

    def groups(self, ctx: LoweringContext, params: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return the groups of replicas; raise LoweringError in a program without replicas."""
        names = params[self.axis_param]
        names = names if isinstance(names, tuple) else (names,)
        missing = [n for n in names if n not in dict(ctx.axes)]
        if missing:
            raise LoweringError(
                f"{self.name} works along the mapped axis {missing[0]!r}, and the program has "
                "no replicas along it",
                hint="map over the axis with vmap, or name it in the axis_env of xla_computation",
            )
        return replica_groups(ctx.axes, names, params.get("axis_index_groups"))


def _emit_reducing(
    name: str, reduction: Reduction, out: ShapedArray, operand: Any, attributes: dict[str, Any]
) -> Any:
    """Emit an operation that reduces the values of several replicas."""
    operation = mlir.op(name, [mlir.tensor_type(out)], (operand,), attributes, regions=1)
    scalar = out.update(shape=())
    fill_region(operation, [scalar], lambda a, b: (reduction.combine(scalar, a, b),))
    return operation.results[0]


class AllReduce(CollectivePrimitive):
    """The reduction of all values along the axes `axes`."""

    axis_param: ClassVar[str] = "axes"
    raised_from: tuple[str, ...] = ("stablehlo.all_reduce",)

    def __init__(self, name: str, reduction: Reduction) -> None:
        super().__init__(name)
        self.reduction = reduction

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        names, reduction = group_axes(operation), self.reduction
        if names is None or operation.combiner != reduction.op or len(operands) != 1:
            return None
        if not reduction.is_one_operation(operation.aval_out.dtype):
            return None
        return self.bind(*operands, axes=names, axis_index_groups=None)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        if params.get("axis_index_groups") is not None:
            return avals[0]  # groups have different results
        return avals[0].update(vma=avals[0].vma - frozenset(params["axes"]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = grouped(ctx, self.groups(ctx, params))
        return _emit_reducing(
            "stablehlo.all_reduce", self.reduction, ctx.aval_out, operands[0], groups
        )

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return self._shared(agreement, eqn, operands)

    def repeated(self, x: Any, size: int) -> Any:
        """Return the result for a value that is the same at every index."""
        return x

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        mapped = dim is not None
        out = self.reduction.bind(x, axes=(dim,)) if mapped else self.repeated(x, batched.size)
        rest = tuple([n for n in params["axes"] if n != batched.name])
        return self.bind(out, **(params | {"axes": rest})) if rest else out, None


class Psum(AllReduce, LinearPrimitive):
    """The sum along the axes; its transpose gives each value the sum of all indices' cotangents.

    Where types record which values vary along the axes, the sum does not vary, and its cotangent
    is the same at every index: each value gets that cotangent once, summed if split by
    `split_along`.
    """

    def repeated(self, x: Any, size: int) -> Any:
        return op.mul(x, elementwise_constant(x, size))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        if axes := operands[0].aval.vma & frozenset(params["axes"]):
            return [varying(summed(cotangent, axes & state.parted), axes)]
        return [self.bind(cotangent, **params)]


class Pvary(CollectivePrimitive, LinearPrimitive):
    """The operand, typed as a value that may differ along the axes `axes` of a `shard_map`."""

    axis_param: ClassVar[str] = "axes"

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0].update(vma=avals[0].vma | frozenset(params["axes"]))

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return operands  # only the type changes, not the values on the devices

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return operands[0]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [summed(cotangent, frozenset(params["axes"]) - state.parted)]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        return x, dim


class Pextremum(AllReduce):
    """The greatest or least value; equal values share the derivative."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.only_reduced)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = (
            op.optimization_barrier(*primals),
            tangents,
        )  # as in the derivative of a maximum
        out = self.bind(x, **params)
        chosen = op.convert_element_type(
            op.eq(x, out), new_dtype=get_aval(x).dtype, weak_type=False
        )
        share = op.div(chosen, op.psum(chosen, **params))
        return out, op.psum(op.mul(t, share), **params)


class AxisIndex(CollectivePrimitive):
    """The index along the axis, as int32; `varies` if types record which values vary along it."""

    raised_from: tuple[str, ...] = ("stablehlo.convert",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        name = numbered_axis(operation)
        if name is None or operation.aval_out.dtype != _INT32:
            return None
        return self.bind(axis_name=name)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        varying = [params["axis_name"]] if params.get("varies") else []
        return shaped((), _INT32, False, frozenset(varying))

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return [named_axes(self, eqn.params) & agreement.several]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        self.groups(ctx, params)
        place = [name for name, _ in ctx.axes].index(params["axis_name"])
        own, inner = ctx.axes[place][1], math.prod(size for _, size in ctx.axes[place + 1 :])
        unsigned = shaped((), np.dtype("uint32"))
        number = "replica_id" if ctx.manual is None else "partition_id"
        index = ctx.all_manual(lambda: mlir.op1(f"stablehlo.{number}", unsigned, ()), unsigned)
        for operation, value in (("divide", inner), ("remainder", own)):
            by = mlir.full(unsigned, value)
            index = mlir.op1(f"stablehlo.{operation}", unsigned, (index, by))
        return mlir.op1("stablehlo.convert", ctx.aval_out, (index,))

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return op.iota(shape=(batched.size,), dimension=0, dtype=_INT32), 0


class AllGather(CollectivePrimitive, LinearPrimitive):
    """All values along the axis, stacked on a new axis, or with `tiled` joined on an old one."""

    raised_from: tuple[str, ...] = ("stablehlo.all_gather",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Return the values along all axes of the groups, along one after the other."""
        names = group_axes(operation)
        if names is None or len(operands) != 1:
            return None
        x, d = operands[0], operation.integer("all_gather_dim")
        for name in reversed(names):
            x = self.bind(
                x,
                all_gather_dimension=d,
                axis_index_groups=None,
                axis_name=(name,),
                axis_size=operation.axis_size(name),
                tiled=True,
            )
        return x

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), d, size = avals, params["all_gather_dimension"], params["axis_size"]
        gathered_sizes = (size * x.shape[d],) if params["tiled"] else (size,)
        return x.update(shape=(*x.shape[:d], *gathered_sizes, *x.shape[d + params["tiled"] :]))

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return self._shared(agreement, eqn, operands)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), (operand,), d = ctx.avals_in, operands, params["all_gather_dimension"]
        if not params["tiled"]:
            axes = shift_all(range(x.ndim), d)
            operand = mlir.broadcast(operand, x.update(shape=(*x.shape[:d], 1, *x.shape[d:])), axes)
        attributes = grouped(ctx, self.groups(ctx, params), all_gather_dim=d)
        return mlir.op1("stablehlo.all_gather", ctx.aval_out, (operand,), attributes)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [op.reduce_scatter(cotangent, **_renamed(params, _GATHER, _SCATTER))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        d, size = params["all_gather_dimension"], batched.size
        x = move_axis(at_front(x, dim, size) if dim is None else x, dim or 0, d)
        if params["tiled"]:
            have = shape_of(x)
            shape = (*have[:d], size * have[d + 1], *have[d + 2 :])
            x = reshape(x, shape)
        return x, None

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        moved = params | {"all_gather_dimension": params["all_gather_dimension"] + 1}
        return self.bind(move_axis(x, dim, 0), **moved), 0


class ReduceScatter(CollectivePrimitive, LinearPrimitive):
    """The sum along the axis, scattered: each index gets one part along `scatter_dimension`.

    With `tiled` the part keeps that axis; otherwise the part is one row without it.
    """

    raised_from: tuple[str, ...] = ("stablehlo.reduce_scatter",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Return the part along all axes of the groups, along one after the other."""
        names = group_axes(operation)
        if names is None or operation.combiner != reduce_sum_p.op:
            return None
        x, d = operands[0], operation.integer("scatter_dimension")
        for name in names:
            x = self.bind(
                x,
                axis_index_groups=None,
                axis_name=(name,),
                axis_size=operation.axis_size(name),
                scatter_dimension=d,
                tiled=True,
            )
        return x

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), d, size = avals, params["scatter_dimension"], params["axis_size"]
        part_sizes = (x.shape[d] // size,) if params["tiled"] else ()
        return x.update(shape=(*x.shape[:d], *part_sizes, *x.shape[d + 1 :]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), d, out = ctx.avals_in, params["scatter_dimension"], ctx.aval_out
        part = x.update(shape=(*x.shape[:d], x.shape[d] // params["axis_size"], *x.shape[d + 1 :]))
        attributes = grouped(ctx, self.groups(ctx, params), scatter_dimension=d)
        total = _emit_reducing(
            "stablehlo.reduce_scatter", reduce_sum_p, part, operands[0], attributes
        )
        return total if params["tiled"] else mlir.op1("stablehlo.reshape", out, (total,))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [op.all_gather(cotangent, **_renamed(params, _SCATTER, _GATHER))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        d, size = params["scatter_dimension"], batched.size
        x = (
            op.mul(x, elementwise_constant(x, size))
            if dim is None
            else op.reduce_sum(x, axes=(dim,))
        )
        if params["tiled"]:
            have = shape_of(x)
            shape = (*have[:d], size, have[d] // size, *have[d + 1 :])
            x = reshape(x, shape)
        return x, d

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        moved = params | {"scatter_dimension": params["scatter_dimension"] + 1}
        return self.bind(move_axis(x, dim, 0), **moved), 0


_GATHER, _SCATTER = "all_gather_dimension", "scatter_dimension"


def _renamed(params: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in params.items()}


psum_p = Psum("psum", reduce_sum_p)
pvary_p = Pvary("pvary")
pmax_p = Pextremum("pmax", reduce_max_p)
pmin_p = Pextremum("pmin", reduce_min_p)
axis_index_p = AxisIndex("axis_index")
all_gather_p = AllGather("all_gather")
reduce_scatter_p = ReduceScatter("reduce_scatter")


def varying(x: Any, axes: Collection[Any]) -> Any:
    """Return `x` typed as a value that may also differ along the axes `axes` of a `shard_map`."""
    missing = axes and frozenset(axes) - get_aval(x).vma
    if not missing:
        return x
    for name, names in implicit_casts(get_aval(x), frozenset(missing)):
        x = getattr(op, name)(x, axes=names)
    return x


def implicit_casts(
    aval: ShapedArray, axes: frozenset[Any]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the casts that make a value vary along axes: the names of primitives and their axes."""
    reduced = unreduced_rules.reduced(aval)
    for name, names in (("reduced_vary_cast_p", axes & reduced), ("pvary", axes - reduced)):
        if names:
            yield name, tuple(sorted(names, key=str))


def summed(x: Any, axes: Collection[Any]) -> Any:
    """Return the sum of a value over the axes `axes` of a `shard_map`."""
    names = tuple(sorted(axes, key=str))
    if names and frozenset(names) <= get_aval(x).vma:
        return op.psum_invariant(x, axes=names)
    return psum_p.bind(x, axes=names, axis_index_groups=None) if names else x


def split_along(x: Any, axes: Collection[Any]) -> Any:
    """Return parts whose sum over the axes `axes` is `x`: `x` itself if it may differ along them.

    Along the other axes the first device has all of `x` and the others have zeros, so no message is
    sent.
    """
    for name in sorted(frozenset(axes) - get_aval(x).vma, key=str):
        aval = get_aval(x)
        zero = op.broadcast_in_dim(
            elementwise_constant(x, 0), shape=aval.shape, broadcast_dimensions=()
        )
        first = op.eq(axis_index_p.bind(axis_name=name, varies=True), np.int32(0))
        x = op.select_n(first, zero, x)
    return x
