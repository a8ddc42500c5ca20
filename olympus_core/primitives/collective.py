"""Collectives: what the values along a mapped axis that has a name make of one another.

There is a value for each index of the axis.  Under `vmap` a collective becomes arithmetic on the
axis; a program of replicas (see `xla_computation.py`) keeps it, as a message among the replicas
whose indices differ along the axis alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.context import state
from olympus_core.errors import LoweringError, TransformError
from olympus_core.olympuspr import Eqn, named_axes
from olympus_core.primitive import Batched, LinearPrimitive, SingleResult, op
from olympus_core.primitives.elementwise.base import (
    at_front,
    constant,
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
from olympus_core.trace import Axes

if TYPE_CHECKING:
    from olympus_core.agreement import Agreement, Differing
    from olympus_core.lowering import LoweringContext

__all__ = [
    "Collective",
    "all_gather_p",
    "all_to_all_p",
    "axis_index_p",
    "parted",
    "pmax_p",
    "pmin_p",
    "ppermute_p",
    "psum_p",
    "pvary_p",
    "reduce_scatter_p",
    "summed",
    "varying",
]

_INT32 = np.dtype("int32")


def _replica_groups(
    axes: Axes, names: Sequence[Any], within: Sequence[Sequence[int]] | None
) -> np.ndarray[Any, Any]:
    """The replicas that a collective over the axes `names` brings together, a row a group.

    Replicas are numbered in row-major order of `axes`; a group is in the order of `names`.  With
    `within`, a group is parted: one row for each list of places in it.
    """
    sizes = [size for _, size in axes]
    places = [[name for name, _ in axes].index(n) for n in names]
    every = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    rows = np.moveaxis(every, places, range(len(places)))
    rows = rows.reshape(math.prod(sizes[p] for p in places), -1).T
    return rows if within is None else rows[:, np.asarray(within)].reshape(-1, len(within[0]))


class Collective(SingleResult):
    """A primitive along mapped axes; `across` batches over one of them, `along` over another."""

    axis_param: ClassVar[str] = "axis_name"
    says_varying: ClassVar[bool] = True

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        """(result, its mapped axis) where the collective is over the mapped axis."""
        self._missing("across", "batched")

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        """(result, its mapped axis) where the collective is over other axes."""
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
        """Each device gets something of its own; where all get the same, it has another rule."""
        return [operands[0] | named_axes(self, eqn.params) & agreement.several]

    def _shared(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """All devices along the axes get the same; with groups, those of one group do."""
        if eqn.params.get("axis_index_groups") is not None:
            return Collective.differing(self, agreement, eqn, operands)
        return [operands[0] - named_axes(self, eqn.params)]

    def groups(self, ctx: LoweringContext, params: dict[str, Any]) -> np.ndarray[Any, Any]:
        """The groups of replicas; raises LoweringError in a program that has none."""
        names = params[self.axis_param]
        names = names if isinstance(names, tuple) else (names,)
        missing = [n for n in names if n not in dict(ctx.axes)]
        if missing:
            raise LoweringError(
                f"{self.name} works along the mapped axis {missing[0]!r}, and the program has "
                "no replicas along it",
                hint="map over the axis with vmap, or name it in the axis_env of xla_computation",
            )
        return _replica_groups(ctx.axes, names, params.get("axis_index_groups"))


def _grouped(
    ctx: LoweringContext, groups: np.ndarray[Any, Any], *, by_device: bool = True, **numbers: int
) -> dict[str, Any]:
    """The attributes of a message among groups, which are of partitions in a manual body.

    Most operations must be told that; those that are not `by_device` know by the channel alone.
    """
    told = _channel(ctx)
    if told and by_device:
        told["use_global_device_ids"] = mlir.unit_attr()
    made = {name: mlir.i64_attr(value) for name, value in numbers.items()}
    return {"replica_groups": mlir.dense(groups), **made, **told}


def _channel(ctx: LoweringContext) -> dict[str, Any]:
    """What says that a message goes among partitions; nothing for replicas."""
    if ctx.manual is None:
        return {}
    return {"channel_handle": mlir.parsed_attr("#stablehlo.channel_handle<handle = 1, type = 1>")}


def _emit_reducing(
    name: str, reduction: Reduction, out: ShapedArray, operand: Any, attributes: dict[str, Any]
) -> Any:
    """Emit an operation that reduces the values of several replicas."""
    made = mlir.op(name, [mlir.tensor_type(out)], (operand,), attributes, regions=1)
    scalar = out.update(shape=())
    fill_region(made, [scalar], lambda a, b: (reduction.combine(scalar, a, b),))
    return made.results[0]


class AllReduce(Collective):
    """One value of all that there are along the axes `axes`, by a reduction."""

    axis_param: ClassVar[str] = "axes"

    def __init__(self, name: str, reduction: Reduction) -> None:
        super().__init__(name)
        self.reduction = reduction

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0].update(vma=avals[0].vma - frozenset(params["axes"]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = _grouped(ctx, self.groups(ctx, params))
        return _emit_reducing(
            "stablehlo.all_reduce", self.reduction, ctx.aval_out, operands[0], groups
        )

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return self._shared(agreement, eqn, operands)

    def repeated(self, x: Any, size: int) -> Any:
        """The result for a value that is the same at every index."""
        return x

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        mapped = dim is not None
        out = self.reduction.bind(x, axes=(dim,)) if mapped else self.repeated(x, batched.size)
        rest = tuple([n for n in params["axes"] if n != batched.name])
        return self.bind(out, **(params | {"axes": rest})) if rest else out, None


class Psum(AllReduce, LinearPrimitive):
    """The sum; every index's cotangent comes back to every value, so its transpose is a sum.

    Where types say what varies along the axes, the sum does not, and its cotangent is the same at
    every index: each value gets it once, and where it is in parts (`parted`) their sum.
    """

    def repeated(self, x: Any, size: int) -> Any:
        return op.mul(x, constant(x, size))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        if axes := operands[0].aval.vma & frozenset(params["axes"]):
            return [varying(summed(cotangent, axes & state.parted), axes)]
        return [self.bind(cotangent, **params)]


class Pvary(Collective, LinearPrimitive):
    """Its operand, as a value that may differ along the axes `axes` of a `shard_map`."""

    axis_param: ClassVar[str] = "axes"

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0].update(vma=avals[0].vma | frozenset(params["axes"]))

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return operands  # it is a type, and no device has another value for it

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return operands[0]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [summed(cotangent, frozenset(params["axes"]) - state.parted)]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        return x, dim


class Pextremum(AllReduce):
    """The greatest or least value; those that tie share its derivative."""

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


class AxisIndex(Collective):
    """The index along the axis, as int32; `varies` where types say what varies along it."""

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


class AllGather(Collective, LinearPrimitive):
    """All values along the axis, stacked on a new axis, or with `tiled` joined on one there is."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), d, size = avals, params["all_gather_dimension"], params["axis_size"]
        own = (size * x.shape[d],) if params["tiled"] else (size,)
        return x.update(shape=(*x.shape[:d], *own, *x.shape[d + params["tiled"] :]))

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return self._shared(agreement, eqn, operands)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), (operand,), d = ctx.avals_in, operands, params["all_gather_dimension"]
        if not params["tiled"]:
            kept = shift_all(range(x.ndim), d)
            operand = mlir.broadcast(operand, x.update(shape=(*x.shape[:d], 1, *x.shape[d:])), kept)
        attributes = _grouped(ctx, self.groups(ctx, params), all_gather_dim=d)
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


class ReduceScatter(Collective, LinearPrimitive):
    """The sum along the axis, of which each index gets its part along `scatter_dimension`.

    With `tiled` the part keeps that axis, else it is one row.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), d, size = avals, params["scatter_dimension"], params["axis_size"]
        own = (x.shape[d] // size,) if params["tiled"] else ()
        return x.update(shape=(*x.shape[:d], *own, *x.shape[d + 1 :]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), d, out = ctx.avals_in, params["scatter_dimension"], ctx.aval_out
        part = x.update(shape=(*x.shape[:d], x.shape[d] // params["axis_size"], *x.shape[d + 1 :]))
        attributes = _grouped(ctx, self.groups(ctx, params), scatter_dimension=d)
        made = _emit_reducing(
            "stablehlo.reduce_scatter", reduce_sum_p, part, operands[0], attributes
        )
        return made if params["tiled"] else mlir.op1("stablehlo.reshape", out, (made,))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [op.all_gather(cotangent, **_renamed(params, _SCATTER, _GATHER))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        d, size = params["scatter_dimension"], batched.size
        x = op.mul(x, constant(x, size)) if dim is None else op.reduce_sum(x, axes=(dim,))
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


class PPermute(Collective, LinearPrimitive):
    """Index d gets the value of s for each pair (s, d) of `perm`; where none comes, zeros.

    Indices along several axes count in row-major order of the mesh, in which they are named.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        """On the CPU all devices of the program meet, and not those along the axes alone."""
        every = agreement.several if agreement.platform == "cpu" else frozenset[Any]()
        return every | named_axes(self, params)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """Where each device gets the value of one, and all have the same, they all get it."""
        names = named_axes(self, eqn.params)
        size = math.prod(agreement.sizes.get(n, 0) for n in names)
        if len(eqn.params["perm"]) == size and not names & operands[0]:
            return operands
        return super().differing(agreement, eqn, operands)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = self.groups(ctx, params)
        perm = np.asarray(params["perm"], dtype=np.int64).reshape(-1, 2)
        pairs = groups[:, perm].swapaxes(0, 1).reshape(-1, 2)
        attributes = {"source_target_pairs": mlir.dense(pairs), **_channel(ctx)}
        return mlir.op1("stablehlo.collective_permute", ctx.aval_out, operands, attributes)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        back = tuple([(d, s) for s, d in params["perm"]])
        return [self.bind(cotangent, **(params | {"perm": back}))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        if len(params["axis_name"]) > 1:
            raise TransformError(
                f"ppermute along {', '.join(map(repr, params['axis_name']))} mixes the indices of "
                f"several axes, and {batched.name!r} is an axis that vmap maps over",
                hint="permute along one axis after the other",
            )
        source = {d: s for s, d in params["perm"]}
        if dim is None and len(source) == batched.size:
            return x, None
        x = at_front(x, dim, batched.size)
        runs = list(_runs([source.get(i) for i in range(batched.size)]))
        parts = [_rows(x, start, length) for start, length in runs]
        return parts[0] if len(parts) == 1 else op.concatenate(*parts, dimension=0), 0


def _runs(sources: Sequence[int | None]) -> Iterator[tuple[int | None, int]]:
    """The sources as runs (first, length) of neighbours in order, or of indices without one."""
    start = 0
    for i in range(1, len(sources) + 1):
        before = sources[i - 1]
        after = None if before is None else before + 1
        if i == len(sources) or sources[i] != after:
            yield sources[start], i - start
            start = i


def _rows(x: Any, start: int | None, length: int) -> Any:
    """`length` rows of x from `start` on; zeros where that is None."""
    shape = shape_of(x)
    if start is None:
        wanted = (length, *shape[1:])
        return op.broadcast_in_dim(constant(x, 0), shape=wanted, broadcast_dimensions=())
    if length == shape[0]:
        return x
    first, rest = (0,) * (len(shape) - 1), shape[1:]
    limits = (start + length, *rest)
    return op.slice(x, start_indices=(start, *first), limit_indices=limits, strides=None)


class AllToAll(Collective, LinearPrimitive):
    """Index i gets part i along `split_axis` of each value, joined along `concat_axis`."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        shape, size = list(avals[0].shape), params["axis_size"]
        shape[params["split_axis"]] //= size
        shape[params["concat_axis"]] *= size
        return avals[0].update(shape=tuple(shape))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        attributes = _grouped(
            ctx,
            self.groups(ctx, params),
            by_device=False,
            split_dimension=params["split_axis"],
            concat_dimension=params["concat_axis"],
            split_count=params["axis_size"],
        )
        return mlir.op1("stablehlo.all_to_all", ctx.aval_out, operands, attributes)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        back = {"split_axis": params["concat_axis"], "concat_axis": params["split_axis"]}
        return [self.bind(cotangent, **(params | back))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        split, concat, size = params["split_axis"], params["concat_axis"], batched.size
        x = at_front(x, dim, size)
        out = list(shape_of(x)[1:])
        out[split] //= size
        cut = (size, *out[:split], size, out[split], *out[split + 1 :])
        out[concat] *= size
        x = reshape(x, cut)
        order = [i + 1 + (i >= split) for i in range(len(out))]  # where each own axis is now
        order.insert(concat, 0)
        x = op.transpose(x, permutation=(split + 1, *order))
        return reshape(x, (size, *out)), 0

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        moved = {name: params[name] + 1 for name in ("split_axis", "concat_axis")}
        return self.bind(move_axis(x, dim, 0), **(params | moved)), 0


psum_p = Psum("psum", reduce_sum_p)
pvary_p = Pvary("pvary")
pmax_p = Pextremum("pmax", reduce_max_p)
pmin_p = Pextremum("pmin", reduce_min_p)
axis_index_p = AxisIndex("axis_index")
all_gather_p = AllGather("all_gather")
reduce_scatter_p = ReduceScatter("reduce_scatter")
ppermute_p = PPermute("ppermute")
all_to_all_p = AllToAll("all_to_all")


def varying(x: Any, axes: Collection[Any]) -> Any:
    """A value as one that may differ along the axes `axes` of a `shard_map` too."""
    missing = axes and frozenset(axes) - get_aval(x).vma
    return pvary_p.bind(x, axes=tuple(sorted(missing, key=str))) if missing else x


def summed(x: Any, axes: Collection[Any]) -> Any:
    """The sum of a value over the axes `axes` of a `shard_map`."""
    names = tuple(sorted(axes, key=str))
    return psum_p.bind(x, axes=names, axis_index_groups=None) if names else x


def parted(x: Any, axes: Collection[Any]) -> Any:
    """Parts whose sum over the axes `axes` is `x`: it itself where it may differ along them.

    Along another the first device has all of it, and the others have zeros: no message is sent.
    """
    for name in sorted(frozenset(axes) - get_aval(x).vma, key=str):
        aval = get_aval(x)
        zero = op.broadcast_in_dim(constant(x, 0), shape=aval.shape, broadcast_dimensions=())
        first = op.eq(axis_index_p.bind(axis_name=name, varies=True), np.int32(0))
        x = op.select_n(first, zero, x)
    return x
