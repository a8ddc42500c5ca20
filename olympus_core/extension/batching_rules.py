"""Batching rules of users: registries of older forms, and forms that are shorter than a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.extension.rules import (
    AxisData,
    Registry,
    Rule,
    batch_by,
    batch_of,
    dims_of,
    fancy_primitive_batchers,
    front,
    sized,
)
from olympus_core.ir.primitive import Primitive, op

#: a value without a mapped axis, in a list of their places
not_mapped = None


class _OlderRegistry(Registry):
    """A registry of rules of an older form, which are kept as `fancy_primitive_batchers`."""

    def __init__(
        self, newer: Callable[[Rule, Primitive], Rule], older: Callable[[Rule], Rule]
    ) -> None:
        super().__init__("batch", batch_by, batch_of)
        self._newer, self._older = newer, older

    def __getitem__(self, primitive: Primitive) -> Rule:
        if primitive in self._rules:
            return self._rules[primitive]
        return self._older(fancy_primitive_batchers[primitive])

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        self._rules[primitive] = rule
        fancy_primitive_batchers[primitive] = self._newer(rule, primitive)

    def __delitem__(self, primitive: Primitive) -> None:
        self._rules.pop(primitive, None)
        del fancy_primitive_batchers[primitive]

    def __contains__(self, primitive: object) -> bool:
        return primitive in fancy_primitive_batchers


def _with_axis(rule: Rule, primitive: Primitive) -> Rule:
    def newer(axis: AxisData, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        if all(d is None for d in dims):
            out = primitive.bind(*args, **params)
            return out, [None] * len(out) if primitive.multiple_results else None
        return rule(args, dims, **params)

    return newer


def _without_axis(rule: Rule) -> Rule:
    return lambda args, dims, **params: rule(sized(args, dims), args, dims, **params)


def _with_parts(rule: Rule, primitive: Primitive) -> Rule:
    return lambda axis, args, dims, **params: rule(axis.size, axis.name, None, args, dims, **params)


def _without_parts(rule: Rule) -> Rule:
    return lambda size, name, _, args, dims, **params: rule(
        AxisData(name, size), args, dims, **params
    )


#: rules (values, places of mapped axes, **params) -> (results, places of theirs)
primitive_batchers = _OlderRegistry(_with_axis, _without_axis)
#: rules (axis size, axis name, None, values, places, **params)
axis_primitive_batchers = _OlderRegistry(_with_parts, _without_parts)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """Return an array repeated along a new axis of length `sz`.

    >>> broadcast(array([1, 2]), 3, 0).shape
    (3, 2)
    """
    shape = list(get_aval(x).shape)
    shape.insert(axis, sz)
    axes = tuple(i for i in range(len(shape)) if i != axis)
    return op.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=axes)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """Return an array with its mapped axis in front, repeated along it if it has none.

    >>> bdim_at_front(ones((2, 3)), 1, 3).shape
    (3, 2)
    """
    return front(x, bdim, size)


def defvectorized(prim: Primitive) -> None:
    """Declare that an operation treats elements independently, and takes operands of one shape.

    Raises TransformError when it is mapped over different axes of its operands.

    >>> defvectorized(square_p)
    """

    def rule(axis: AxisData, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        if len(set(dims)) > 1:
            raise TransformError(
                f"'{prim}' must be mapped over the same axis of all operands, and is over "
                f"{tuple(dims)}"
            )
        return prim.bind(*args, **params), dims[0]

    fancy_primitive_batchers[prim] = rule


def defbroadcasting(prim: Primitive) -> None:
    """Declare that an operation treats elements independently, and broadcasts axes of length 1.

    >>> defbroadcasting(times_p)
    """

    def rule(axis: AxisData, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        several = prim.multiple_results
        mapped = next((i for i, d in enumerate(dims) if d is not None), None)
        if mapped is None:
            out = prim.bind(*args, **params)
            return out, [None] * len(out) if several else None
        shape, dim = get_aval(args[mapped]).shape, dims[mapped]
        if any(
            get_aval(x).shape != shape or d != dim
            for x, d in zip(args, dims, strict=True)
            if dims_of(x)
        ):
            args = [front(x, d, 1) if dims_of(x) else x for x, d in zip(args, dims, strict=True)]
            rank, dim = max(map(dims_of, args)), 0
            args = [
                x if d is None else _with_rank(x, rank) for x, d in zip(args, dims, strict=True)
            ]
        out = prim.bind(*args, **params)
        return (out, [dim] * len(out)) if several else (out, dim)

    fancy_primitive_batchers[prim] = rule


def _with_rank(x: Any, rank: int) -> Any:
    shape = get_aval(x).shape
    if len(shape) == rank:
        return x
    return op.reshape(x, new_sizes=(*shape, *(1,) * (rank - len(shape))), dimensions=None)


def defreducer(prim: Primitive) -> None:
    """Declare that an operation reduces its only operand along the axes of its parameter `axes`.

    >>> defreducer(total_p)
    """

    def rule(
        axis: AxisData, args: Sequence[Any], dims: Sequence[Any], *, axes: Any, **params: Any
    ) -> Any:
        (dim,) = dims
        if dim is None:
            return prim.bind(*args, axes=axes, **params), None
        moved = tuple(i if i < dim else i + 1 for i in axes)
        out = prim.bind(*args, axes=moved, **params)
        return out, dim - sum(i < dim for i in moved)

    fancy_primitive_batchers[prim] = rule
