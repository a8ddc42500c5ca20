"""Check `axis` arguments: one axis number or several, which may be negative."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from olympus_core.base.avals import as_sequence
from olympus_core.base.errors import ConcretizationTypeError, ShapeError
from olympus_core.base.source import wraps
from olympus_core.ir.tracer import Array
from olympus_core.primitives.shape import broadcast_in_dim_p

_F = TypeVar("_F", bound=Callable[..., Any])

Axis = int | Sequence[int] | None


def canonical_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """Return `axis` as an int in [0, ndim).

    `what` names the argument in messages.  Raises ShapeError if `axis` is no int or out of bounds.
    """
    try:
        index = operator.index(axis)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise ShapeError(f"{what} must be an int, and is {axis!r}") from None
    if not -ndim <= index < ndim:
        raise ShapeError(
            f"axis {index} is out of bounds for array of dimension {ndim}{_argument(what)}"
        )
    return index + ndim if index < 0 else index


def _argument(what: str) -> str:
    """Return the name of an argument, for the end of a message about its axis."""
    return "" if what == "axis" else f", in {what}"


def canonical_axes(
    axes: int | Iterable[Any],
    ndim: int,
    what: str = "axis",
    repeated: str = "duplicate value in 'axis'",
) -> tuple[int, ...]:
    """Return one or several axes as a tuple of ints in [0, ndim), in their order.

    `what` names the argument in messages, and `repeated` is the message's begin for repeated axes.
    Raises ShapeError for an axis that is no int or out of
    bounds, and for repeated axes.
    """
    requested = as_sequence(axes)
    canonical = tuple([canonical_axis(a, ndim, what) for a in requested])
    if len(set(canonical)) != len(canonical):
        raise ShapeError(f"{repeated}: {tuple(requested)}{_argument(what)}")
    return canonical


def one_axis(name: str, ndim: int, axis: Any) -> int:
    """Return the `axis` argument of the function `name` as an int in [0, ndim).

    Unlike `canonical_axis`, this makes no text for messages unless `axis` is negative or invalid.
    Raises ShapeError if `axis` is no int or out of bounds.
    """
    if axis.__class__ is int and 0 <= axis < ndim:
        return int(axis)
    return canonical_axis(axis, ndim, f"the axis of {name}")


def accepts_list_axis(function: _F, place: int = 1) -> _F:
    """Decorate `function` to accept a list as its `axis` argument, at position `place`.

    The list is converted to a tuple, because static arguments must be hashable.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place and isinstance(args[place], list):
            args = (*args[:place], tuple(args[place]), *args[place + 1 :])
        if isinstance(kwargs.get("axis"), list):
            kwargs["axis"] = tuple(kwargs["axis"])
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def axis_tuple(name: str, ndim: int, axis: Axis) -> tuple[int, ...]:
    """Return the `axis` argument of the function `name` as a tuple of ints in [0, ndim).

    Unlike `canonical_axes`, this accepts None for all axes.  Raises ShapeError for an axis that is
    no int or out of bounds, and for repeated axes.
    """
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int or not isinstance(axis, (tuple, list)):
        return (one_axis(name, ndim, axis),)
    return canonical_axes(axis, ndim, f"an axis of {name}")


def keep_dims(x: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Return the result `x` of a reduction with the reduced `axes` inserted as axes of size 1.

    `shape` is the shape of the operand of the reduction.
    """
    if not axes:
        return x
    remaining_axes = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=remaining_axes)
