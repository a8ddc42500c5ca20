"""Batches of functions and programs, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.errors import TransformError
from olympus_core.extension.linear_util import Store, transformation_with_aux2
from olympus_core.extension.rules import AxisData
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Batched
from olympus_core.transforms.batching import batch_flat, place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.staging import stage


class _ZeroIfMapped:
    """The class of `zero_if_mapped`."""

    def __repr__(self) -> str:
        return "zero_if_mapped"


#: the place of a result's mapped axis for `batch_jaxpr_axes`: 0, or None if it is not mapped
zero_if_mapped = _ZeroIfMapped()


def batched_by(axis_data: AxisData) -> Batched:
    """Return the mapped axis that an AxisData describes."""
    return Batched(axis_data.size, axis_data.name, None, axis_data.spmd_name)


@transformation_with_aux2
def batch_subtrace(
    f: Callable[..., Sequence[Any]],
    store: Store,
    tag: Any,
    axis_data: AxisData,
    in_dims: Sequence[int | None] | Callable[[], Sequence[int | None]],
    *in_vals: Any,
) -> list[Any]:
    """Map a flat function over the axes `in_dims` of its operands: a transformation.

    It is called with a WrappedFun, the identity of the transformation, the mapped axis, and the
    places of the operands' mapped axes (None: not mapped), or a function of them.  It returns the
    mapped WrappedFun, and a function that returns the places of the results' mapped axes.  Values
    of one `tag` are mapped together.

    >>> flat, axis = ox.extend.linear_util.wrap_init(lambda x, y: [x + y]), AxisData(None, 2)
    >>> fun, out_dims = batch_subtrace(flat, object(), axis, (0, None))
    >>> fun.call_wrapped(ones(2), 1.0), out_dims()
    ([Array([2., 2.], dtype=float32)], [0])
    """
    dims = in_dims() if callable(in_dims) else in_dims
    outs, out_dims = batch_flat(f, batched_by(axis_data), in_vals, dims, "batch_subtrace", tag)
    store.store(out_dims)
    return outs


def batch_jaxpr_axes(
    closed_jaxpr: Olympuspr,
    axis_data: AxisData,
    in_axes: Sequence[int | None],
    out_axes_dest: Sequence[Any],
) -> tuple[Olympuspr, list[bool]]:
    """Return the program mapped over axes of its inputs, and which results are mapped.

    `out_axes_dest` has a place of the mapped axis for each result, None for a result that is not
    mapped, or `zero_if_mapped`.  Raises TransformError if a result at None depends on the index.

    >>> program = make_jaxpr(lambda x, y: (x + y, y))(1.0, 2.0)
    >>> axis = AxisData(None, 3)
    >>> batch_jaxpr_axes(program, axis, [0, None], [0, zero_if_mapped])[1]
    [True, False]
    """
    batched = batched_by(axis_data)
    is_mapped: list[bool] = []

    def mapped(*args: Any) -> list[Any]:
        outs, dims = batch_flat(
            lambda *xs: evaluate(closed_jaxpr, xs), batched, args, in_axes, "batch_jaxpr_axes"
        )
        results = []
        for i, (x, dim, place) in enumerate(zip(outs, dims, out_axes_dest, strict=True)):
            if place is zero_if_mapped:
                place = None if dim is None else 0
            if place is None and dim is not None:
                raise TransformError(
                    f"batch_jaxpr_axes: result {i} is mapped along axis {dim}, and out_axes_dest "
                    "has None for it"
                )
            is_mapped.append(place is not None)
            results.append(place_axis(x, dim, place, batched.size))
        return results

    avals = [
        a if d is None else a.with_axis(d, batched.size, batched.entry)
        for a, d in zip(closed_jaxpr.in_avals, in_axes, strict=True)
    ]
    return stage(mapped, avals, what="a batched program"), is_mapped
