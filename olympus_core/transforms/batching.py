"""Batching: a function of single values, applied along a mapped axis.

A `BatchTracer` represents each of the values along an axis of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.base import source
from olympus_core.base.avals import ShapedArray, get_aval, shape_of
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import named_axes
from olympus_core.ir.primitive import Batched, Primitive, op
from olympus_core.ir.trace import Trace, naming, using_trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.transforms.data import is_float0
from olympus_core.transforms.flat import check_leaks


def batched_aval(aval: ShapedArray, dim: int | None) -> ShapedArray:
    """Return the type of one of the values along axis `dim`."""
    if dim is None:
        return aval
    return aval.without_axis(dim)


class BatchTracer(Tracer):
    """One of the values along an axis of an array."""

    __slots__ = ("dim", "mark", "value")
    owner: BatchTrace

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        self.owner = trace
        self.value = value
        self.dim = dim
        self.aval = batched_aval(get_aval(value), dim)
        self.mark = None if isinstance(value, Tracer) else source.current_location()

    def origin(self) -> str:
        """Return the transformed function of the value, and the origin of the value."""
        inner = self.mark.place(", made at ") if self.mark else f": {self.value.origin()}"
        return f"a value in {self.owner.what}{inner}"

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"


class BatchTrace:
    """Applies primitives to all values along a mapped axis together.

    `axis` is the identity of the mapped axis: the values of two traces with the same identity are
    mapped together, such as the values of a function and of the derivative rule that replaces it.
    """

    __slots__ = ("axis", "batched", "parent", "what")

    def __init__(
        self, parent: Trace, batched: Batched, what: str = "vmap", axis: object = None
    ) -> None:
        self.parent = parent
        self.batched = batched
        self.what = what
        self.axis = axis or object()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's `batch` in the parent trace."""
        values: list[Any] = []
        dims: list[int | None] = []
        mapped = False
        for x in args:
            if x.__class__ is BatchTracer and x.owner.axis is self.axis:
                values.append(x.value)
                dims.append(x.dim)
                mapped = True
            else:
                values.append(x)
                dims.append(None)
        with using_trace(self.parent):
            if not mapped and not self._names_axis(primitive, params):
                return self.parent.process(primitive, args, params)
            out, out_dims = primitive.batch(self.batched, values, dims, **params)
        if primitive.multiple_results:
            return [self._result(o, d) for o, d in zip(out, out_dims, strict=True)]
        return self._result(out, out_dims)

    def _result(self, value: Any, dim: int | None) -> Any:
        """Return `wrap(value, dim)` as an array: a rule may return an operand unchanged."""
        if dim is None:
            return value if isinstance(value, Array) or is_float0(value) else put_array(value)
        return BatchTracer(self, value, dim)

    def _names_axis(self, primitive: Primitive, params: dict[str, Any]) -> bool:
        name = self.batched.name
        return name is not None and name in named_axes(primitive, params)

    def wrap(self, value: Any, dim: int | None) -> Any:
        """Return a tracer; or the value itself if it has no mapped axis."""
        return value if dim is None else BatchTracer(self, value, dim)

    def unwrap(self, x: Any) -> tuple[Any, int | None]:
        """Return a value and its mapped axis."""
        if x.__class__ is BatchTracer and x.owner.axis is self.axis:
            return x.value, x.dim
        return x, None


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    batched: Batched,
    args: Sequence[Any],
    dims: Sequence[int | None],
    what: str = "vmap",
    axis: object = None,
) -> tuple[list[Any], list[int | None]]:
    """Return the flat results of `fun` mapped over the axes `dims` of `args`, and their axes.

    `what` names the transformed function in messages.  With the `axis` of a `BatchTrace`, `fun`
    may also close over values of that trace.
    """
    batch_trace = BatchTrace(trace.current_trace(), batched, what, axis)
    inputs = [batch_trace.wrap(*_without_data(x, d)) for x, d in zip(args, dims, strict=True)]
    with (
        using_trace(batch_trace),
        naming(() if batched.name is None else ((batched.name, batched.size),)),
    ):
        outs = fun(*inputs)
    pairs = [batch_trace.unwrap(x) for x in outs]
    del inputs, outs
    check_leaks(batch_trace, what)
    return [v for v, _ in pairs], [d for _, d in pairs]


def _without_data(x: Any, dim: int | None) -> tuple[Any, int | None]:
    """Return the value and its mapped axis; a float0 array as one row that is not mapped."""
    if dim is None or not is_float0(x):
        return x, dim
    return np.zeros(batched_aval(get_aval(x), dim).shape, x.dtype), None


def place_axis(value: Any, dim: int | None, axis: int | None, size: int) -> Any:
    """Return `value` with its mapped axis at `axis`; repeat a value without one."""
    if axis is None or dim == axis:
        return value
    if dim is not None:
        return move_axis(value, dim, axis)
    value_shape = shape_of(value)
    shape = (*value_shape[:axis], size, *value_shape[axis:])
    if is_float0(value):
        return np.zeros(shape, value.dtype)
    value_axes = tuple(i for i in range(len(shape)) if i != axis)
    return op.broadcast_in_dim(value, shape=shape, broadcast_dimensions=value_axes)
