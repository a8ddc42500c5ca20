"""Collectives: what the values along a mapped axis that has a name make of one another.

One value for each index of an axis enters, and one leaves.  Under `vmap` a collective becomes
arithmetic on the axis; a program of replicas (see `xla_computation.py`) keeps it, as a message
among the replicas whose indices differ along the axis alone.  Reductions are here; collectives
that pass values on are in `exchange.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, get_aval, shaped
from olympus_core.errors import LoweringError, TransformError
from olympus_core.olympuspr import named_axes
from olympus_core.primitive import Batched, LinearPrimitive, Primitive, op
from olympus_core.primitives.elementwise.base import constant
from olympus_core.primitives.reduction import (
    Reduction,
    fill_region,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
)
from olympus_core.trace import Axes

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = [
    "Collective",
    "axis_index_p",
    "emit_reducing",
    "grouped",
    "pmax_p",
    "pmin_p",
    "psum_p",
    "replica_groups",
]

INT32 = np.dtype("int32")


def replica_groups(
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


class Collective(Primitive):
    """A primitive along mapped axes; `across` batches over one of them, `along` over another."""

    axis_param: ClassVar[str] = "axis_name"

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
                f"{self.name} takes axis_index_groups in a program of replicas alone, and "
                f"{batched.name!r} is an axis that vmap maps over"
            )
        return self.across(batched, args[0], dims[0], params)

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
        return replica_groups(ctx.axes, names, params.get("axis_index_groups"))


def grouped(groups: np.ndarray[Any, Any], **attributes: int) -> dict[str, Any]:
    numbers = {name: mlir.i64_attr(value) for name, value in attributes.items()}
    return {"replica_groups": mlir.dense(groups), **numbers}


def emit_reducing(
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
        return avals[0]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = grouped(self.groups(ctx, params))
        return emit_reducing(
            "stablehlo.all_reduce", self.reduction, ctx.aval_out, operands[0], groups
        )

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
    """The sum; every index's cotangent comes back to every value, so its transpose is a sum."""

    def repeated(self, x: Any, size: int) -> Any:
        return op.mul(x, constant(x, size))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, **params)]


class Pextremum(AllReduce):
    """The greatest or least value; those that tie share its derivative."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = self.bind(x, **params)
        chosen = op.convert_element_type(
            op.eq(x, out), new_dtype=get_aval(x).dtype, weak_type=False
        )
        share = op.div(chosen, op.psum(chosen, **params))
        return out, op.psum(op.mul(t, share), **params)


class AxisIndex(Collective):
    """The index along the axis, as int32."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped((), INT32)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        self.groups(ctx, params)
        place = [name for name, _ in ctx.axes].index(params["axis_name"])
        own, inner = ctx.axes[place][1], math.prod(size for _, size in ctx.axes[place + 1 :])
        unsigned = shaped((), np.dtype("uint32"))
        index = mlir.op1("stablehlo.replica_id", unsigned, ())
        for operation, value in (("divide", inner), ("remainder", own)):
            by = mlir.full(unsigned, value)
            index = mlir.op1(f"stablehlo.{operation}", unsigned, (index, by))
        return mlir.op1("stablehlo.convert", ctx.aval_out, (index,))

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return op.iota(shape=(batched.size,), dimension=0, dtype=INT32), 0


psum_p = Psum("psum", reduce_sum_p)
pmax_p = Pextremum("pmax", reduce_max_p)
pmin_p = Pextremum("pmin", reduce_min_p)
axis_index_p = AxisIndex("axis_index")
