"""Batching: a function of single values, applied along a mapped axis.

A `BatchTracer` is a value that stands for one of each along an axis of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core import source, trace
from olympus_core.array import put
from olympus_core.avals import ShapedArray, get_aval, shape_of
from olympus_core.olympuspr import named_axes
from olympus_core.primitive import Batched, Primitive, op
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.trace import Trace, naming, using
from olympus_core.tracer import Array, Tracer
from olympus_core.transforms.data import is_float0
from olympus_core.transforms.leaks import check_leaks

__all__ = ["BatchTrace", "BatchTracer", "batch_flat", "batched_aval", "place_axis"]


def batched_aval(aval: ShapedArray, dim: int | None) -> ShapedArray:
    """The type of one of the values along axis `dim`."""
    if dim is None:
        return aval
    return aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


class BatchTracer(Tracer):
    """One of the values along an axis of an array."""

    __slots__ = ("dim", "mark", "value")
    owner: BatchTrace

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        self.owner = trace
        self.value = value
        self.dim = dim
        self.aval = batched_aval(get_aval(value), dim)
        self.mark = None if isinstance(value, Tracer) else source.current()

    def origin(self) -> str:
        """Which function it is a value of; and where it comes from."""
        inner = self.mark.place(", made at ") if self.mark else f": {self.value.origin()}"
        return f"a value in {self.owner.what}{inner}"


class BatchTrace:
    """Applies primitives to all values along a mapped axis at once.

    `axis` is the identity of the mapped axis: the values of two traces that share it are mapped
    together, as those of a function and of the derivative rule that is run in its place.
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
        with using(self.parent):
            if not mapped and not self._names_axis(primitive, params):
                return self.parent.process(primitive, args, params)
            out, out_dims = primitive.batch(self.batched, values, dims, **params)
        if primitive.multiple_results:
            return [self._result(o, d) for o, d in zip(out, out_dims, strict=True)]
        return self._result(out, out_dims)

    def _result(self, value: Any, dim: int | None) -> Any:
        """As `wrap`, and always an array: a rule may give an operand back."""
        if dim is None:
            return value if isinstance(value, Array) or is_float0(value) else put(value)
        return BatchTracer(self, value, dim)

    def _names_axis(self, primitive: Primitive, params: dict[str, Any]) -> bool:
        name = self.batched.name
        return name is not None and name in named_axes(primitive, params)

    def wrap(self, value: Any, dim: int | None) -> Any:
        """A tracer; or the value itself where it has no mapped axis."""
        return value if dim is None else BatchTracer(self, value, dim)

    def unwrap(self, x: Any) -> tuple[Any, int | None]:
        """A value and its mapped axis."""
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
    """The flat results of `fun` mapped over the axes `dims` of `args`, and their mapped axes.

    `what` names the transformed function in messages.  With the `axis` of a `BatchTrace`, `fun`
    may also close over values of that.
    """
    made = BatchTrace(trace.current(), batched, what, axis)
    inputs = [made.wrap(*_without_data(x, d)) for x, d in zip(args, dims, strict=True)]
    with using(made), naming(() if batched.name is None else ((batched.name, batched.size),)):
        outs = fun(*inputs)
    pairs = [made.unwrap(x) for x in outs]
    del inputs, outs
    check_leaks(made, what)
    return [v for v, _ in pairs], [d for _, d in pairs]


def _without_data(x: Any, dim: int | None) -> tuple[Any, int | None]:
    """The value and its mapped axis; a float0 array is one of its rows, and none is mapped."""
    if dim is None or not is_float0(x):
        return x, dim
    return np.zeros(batched_aval(get_aval(x), dim).shape, x.dtype), None


def place_axis(value: Any, dim: int | None, wanted: int | None, size: int) -> Any:
    """`value` with its mapped axis at `wanted`; one without is repeated along a new axis."""
    if wanted is None or dim == wanted:
        return value
    if dim is not None:
        return move_axis(value, dim, wanted)
    have = shape_of(value)
    shape = (*have[:wanted], size, *have[wanted:])
    if is_float0(value):
        return np.zeros(shape, value.dtype)
    kept = tuple(i for i in range(len(shape)) if i != wanted)
    return op.broadcast_in_dim(value, shape=shape, broadcast_dimensions=kept)
