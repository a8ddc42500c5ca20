"""Axis arguments in the forms that users write: numbers from either end, one or several."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from olympus_core.base.avals import as_sequence
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.primitives.shape import broadcast_in_dim_p

_F = TypeVar("_F", bound=Callable[..., Any])

Axis = int | Sequence[int] | None


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """Return `axis` as an int in [0, ndim); raise ShapeError, which names it `what`, otherwise."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise ShapeError(f"{what} must be an int, and is {axis!r}") from None
    if not -ndim <= index < ndim:
        raise ShapeError(f"{what} {index} is out of bounds for an array of {ndim} dimensions")
    return index + ndim if index < 0 else index


def canonical_axes(axes: int | Iterable[Any], ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Return one or several axes as a tuple of ints from 0; raise ShapeError if one repeats."""
    requested = as_sequence(axes)
    canonical = tuple([canonical_axis(a, ndim, what) for a in requested])
    if len(set(canonical)) != len(canonical):
        raise ShapeError(f"{what} is given more than once: {tuple(requested)}")
    return canonical


def one_axis(name: str, ndim: int, axis: Any) -> int:
    """Return an axis as an int from 0; raise ShapeError if the array does not have it."""
    if axis.__class__ is int and 0 <= axis < ndim:
        return int(axis)
    return canonical_axis(axis, ndim, f"the axis of {name}")


def list_axis(function: _F, place: int = 1) -> _F:
    """Return `function` such that its axes argument, at index `place`, may be a list too."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place and isinstance(args[place], list):
            args = (*args[:place], tuple(args[place]), *args[place + 1 :])
        if isinstance(kwargs.get("axis"), list):
            kwargs["axis"] = tuple(kwargs["axis"])
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def axis_tuple(name: str, ndim: int, axis: Axis) -> tuple[int, ...]:
    """Return the axes that `axis` (an int, a sequence of ints, or None for all) names, in order.

    Raises ShapeError for an axis that the array does not have, or has twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int or not isinstance(axis, (tuple, list)):
        return (one_axis(name, ndim, axis),)
    return canonical_axes(axis, ndim, f"an axis of {name}")


def keep_dims(x: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Return a reduction's result with the reduced axes as axes of size 1."""
    if not axes:
        return x
    remaining_axes = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=remaining_axes)
