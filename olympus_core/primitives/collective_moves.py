"""Collectives that move values between the indices of a mapped axis, and add none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.errors import TransformError
from olympus_core.ir.olympuspr import Eqn, named_axes
from olympus_core.ir.primitive import Batched, LinearPrimitive, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.collective import CollectivePrimitive
from olympus_core.primitives.device_groups import channel_of, group_axes, grouped, permutation
from olympus_core.primitives.elementwise.base import (
    at_front,
    elementwise_constant,
    move_axis,
    reshape,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class PPermute(CollectivePrimitive, LinearPrimitive):
    """Index d gets the value of index s for each pair (s, d) of `perm`; the others get zeros.

    Indices along several axes count in row-major order of the mesh, in which they are named.
    """

    raised_from: tuple[str, ...] = ("stablehlo.collective_permute",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        found = permutation(operation)
        if found is None or len(operands) != 1:
            return None
        return self.bind(*operands, axis_name=found[0], perm=found[1])

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        """On the CPU a message waits for all devices of the program, not only along the axes."""
        every = agreement.several if agreement.platform == "cpu" else frozenset[Any]()
        return every | named_axes(self, params)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """The result is the same on all devices if the operand is and each device gets a value."""
        names = named_axes(self, eqn.params)
        size = math.prod(agreement.sizes.get(n, 0) for n in names)
        if len(eqn.params["perm"]) == size and not names & operands[0]:
            return operands
        return super().differing(agreement, eqn, operands)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        groups = self.groups(ctx, params)
        perm = np.asarray(params["perm"], dtype=np.int64).reshape(-1, 2)
        pairs = groups[:, perm].swapaxes(0, 1).reshape(-1, 2)
        attributes = {"source_target_pairs": mlir.dense(pairs), **channel_of(ctx)}
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
    """Yield the sources as runs (first, length) of consecutive indices, or of None."""
    start = 0
    for i in range(1, len(sources) + 1):
        before = sources[i - 1]
        after = None if before is None else before + 1
        if i == len(sources) or sources[i] != after:
            yield sources[start], i - start
            start = i


def _rows(x: Any, start: int | None, length: int) -> Any:
    """Return `length` rows of `x` from `start` on; zeros if `start` is None."""
    shape = shape_of(x)
    if start is None:
        rows_shape = (length, *shape[1:])
        return op.broadcast_in_dim(
            elementwise_constant(x, 0), shape=rows_shape, broadcast_dimensions=()
        )
    if length == shape[0]:
        return x
    first, rest = (0,) * (len(shape) - 1), shape[1:]
    limits = (start + length, *rest)
    return op.slice(x, start_indices=(start, *first), limit_indices=limits, strides=None)


class AllToAll(CollectivePrimitive, LinearPrimitive):
    """Index i gets part i along `split_axis` of each value, joined along `concat_axis`.

    `tiled` is that of the call, for the text of the program: both axes remain in any case.
    """

    raised_from: tuple[str, ...] = ("stablehlo.all_to_all",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        names = group_axes(operation, by_device=False)
        if names is None or len(names) != 1 or len(operands) != 1:
            return None
        return self.bind(
            *operands,
            axis_index_groups=None,
            axis_name=names[0],
            axis_size=operation.integer("split_count"),
            concat_axis=operation.integer("concat_dimension"),
            split_axis=operation.integer("split_dimension"),
            tiled=True,
        )

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        shape, size = list(avals[0].shape), params["axis_size"]
        shape[params["split_axis"]] //= size
        shape[params["concat_axis"]] *= size
        return avals[0].update(shape=tuple(shape))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        attributes = grouped(
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


ppermute_p = PPermute("ppermute")
all_to_all_p = AllToAll("all_to_all")
