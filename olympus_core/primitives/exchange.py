"""Collectives that pass values on along a mapped axis: gather, scatter, permute, exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, shape_of
from olympus_core.primitive import Batched, LinearPrimitive, op
from olympus_core.primitives.collective import Collective, emit_reducing, grouped
from olympus_core.primitives.elementwise.base import at_front, constant, move_axis, shift_all
from olympus_core.primitives.reduction import reduce_sum_p

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["all_gather_p", "all_to_all_p", "ppermute_p", "reduce_scatter_p"]


class AllGather(Collective, LinearPrimitive):
    """All values along the axis, stacked on a new axis, or with `tiled` joined on one there is."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), d, size = avals, params["all_gather_dimension"], params["axis_size"]
        own = (size * x.shape[d],) if params["tiled"] else (size,)
        return x.update(shape=(*x.shape[:d], *own, *x.shape[d + params["tiled"] :]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,), (operand,), d = ctx.avals_in, operands, params["all_gather_dimension"]
        if not params["tiled"]:
            kept = shift_all(range(x.ndim), d)
            operand = mlir.broadcast(operand, x.update(shape=(*x.shape[:d], 1, *x.shape[d:])), kept)
        attributes = grouped(self.groups(ctx, params), all_gather_dim=d)
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
            x = op.reshape(x, dimensions=None, new_sizes=shape)
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
        attributes = grouped(self.groups(ctx, params), scatter_dimension=d)
        made = emit_reducing(
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
            x = op.reshape(x, dimensions=None, new_sizes=shape)
        return x, d

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        moved = params | {"scatter_dimension": params["scatter_dimension"] + 1}
        return self.bind(move_axis(x, dim, 0), **moved), 0


_GATHER, _SCATTER = "all_gather_dimension", "scatter_dimension"


def _renamed(params: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in params.items()}


class PPermute(Collective, LinearPrimitive):
    """Index d gets the value of s for each pair (s, d) of `perm`; where none comes, zeros."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = self.groups(ctx, params)
        pairs = np.concatenate([groups[:, np.asarray(p)] for p in params["perm"]])
        attributes = {"source_target_pairs": mlir.dense(pairs)}
        return mlir.op1("stablehlo.collective_permute", ctx.aval_out, operands, attributes)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        back = tuple([(d, s) for s, d in params["perm"]])
        return [self.bind(cotangent, **(params | {"perm": back}))]

    def across(
        self, batched: Batched, x: Any, dim: int | None, params: dict[str, Any]
    ) -> tuple[Any, int | None]:
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
        attributes = grouped(
            self.groups(ctx, params),
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
        x = op.reshape(x, dimensions=None, new_sizes=cut)
        order = [i + 1 + (i >= split) for i in range(len(out))]  # where each own axis is now
        order.insert(concat, 0)
        x = op.transpose(x, permutation=(split + 1, *order))
        return op.reshape(x, dimensions=None, new_sizes=(size, *out)), 0

    def along(self, x: Any, dim: int, params: dict[str, Any]) -> tuple[Any, int]:
        moved = {name: params[name] + 1 for name in ("split_axis", "concat_axis")}
        return self.bind(move_axis(x, dim, 0), **(params | moved)), 0


all_gather_p = AllGather("all_gather")
reduce_scatter_p = ReduceScatter("reduce_scatter")
ppermute_p = PPermute("ppermute")
all_to_all_p = AllToAll("all_to_all")
