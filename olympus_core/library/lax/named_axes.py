"""Named mapped axes: their sizes, the index along them, and the values that vary along them.

A name is bound by `vmap(..., axis_name=...)` around the call, by a `shard_map`, or by the
`axis_env` of `make_olympuspr` and `xla_computation`; UnboundAxisError is raised for a name that
is not bound.  If several names are given, their indices count in row-major order, and the first
name is the outermost.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.base import source, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.context import state, switched
from olympus_core.base.errors import ArgumentError, ShardingError, UnboundAxisError
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.placement.mesh import are_names
from olympus_core.primitives.axis_casts import (
    AxisCast,
    preduced_p,
    reduced_vary_cast_p,
    states,
    vary_unreduced_cast_p,
)
from olympus_core.primitives.collective import axis_index_p, pvary_p

#: one mapped axis, or several that act as one
AxisName = Hashable | Sequence[Hashable]
_T = TypeVar("_T")


def _names(axis_name: AxisName) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _bound_size(function: str, name: Any) -> int:
    """Return the size of a named axis; of the innermost one if several have the name."""
    bound = trace.axes()
    for other, size in reversed(bound):
        if other == name:
            return size
    here = source.current_location()
    bound_text = ", ".join(f"{n!r} (of size {s})" for n, s in bound)
    raise UnboundAxisError(
        f"Found an unbound axis name: {name}. To fix this, please call {function} under "
        f"`jax.shard_map`: {function} needs the axis {name!r}, which is not "
        "bound here"
        f"{here.place()}\n"
        f"  the axes bound here: {bound_text or 'none'}",
        hint=f"map over it with vmap(..., axis_name={name!r})",
        location=str(here.position() or "") or None,
    )


#: the functions of axes that exchange nothing between devices
_LOCAL = frozenset({"axis_index", "axis_size", "pcast", "pvary"})


def no_collectives(
    new_val: set[Hashable] | frozenset[Hashable],
) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise ShardingError for a collective along one of some axes.

    It applies to the functions that take the names of axes, such as `lax.psum`; operations on
    explicit axes may still exchange data. Raises ArgumentError for a value that is no set.

    >>> with no_collectives({"i"}):
    ...     vmap(lambda x: lax.psum(x, "i"), axis_name="i")(ones(3))
    Traceback (most recent call last):
      ...
    olympus.errors.ShardingError: Collective across axis 'i' is forbidden by `no_collectives`...
    """
    if not isinstance(new_val, set | frozenset):
        raise ArgumentError(
            f"Expected axis name(s) as set or frozenset, got {new_val!r:.60} of type "
            f"{type(new_val)}: no_collectives"
        )
    return switched("no_collectives", frozenset(new_val))


def _check_allowed(function: str, names: tuple[Any, ...]) -> None:
    for name in names:
        if are_names((name,)) and name in state.no_collectives:
            raise ShardingError(
                f"Collective across axis {name!r} is forbidden by `no_collectives`, but "
                f"`{function}` acts on axis {name!r}."
            )


def axis_sizes(function: str, axis_name: AxisName) -> tuple[tuple[Any, ...], list[int]]:
    """Return the distinct axes of a collective, and their sizes."""
    names = _names(axis_name)
    if state.no_collectives and function not in _LOCAL:
        _check_allowed(function, names)
    if not are_names(names):
        raise ArgumentError(f"{function} needs names that can be hashed, and got {axis_name!r:.80}")
    sizes = [_bound_size(function, n) for n in names]
    if len(set(names)) != len(names):
        raise ArgumentError(f"{function} needs different axes, and got the names {names}")
    return names, sizes


def axis_size(axis_name: AxisName) -> int:
    """Return the number of indices along one mapped axis or several together, a Python int.

    >>> vmap(lambda x: x * axis_size("i"), axis_name="i")(array([1, 2]))
    Array([2, 4], dtype=int32)
    """
    return math.prod(axis_sizes("axis_size", axis_name)[1])


def axis_index(axis_name: AxisName) -> Array:
    """Return the index along a mapped axis, an int32 scalar; that along no axis is 0.

    >>> vmap(lambda x: axis_index("i"), axis_name="i")(zeros(3))
    Array([0, 1, 2], dtype=int32)
    """
    names, sizes = axis_sizes("axis_index", axis_name)
    if not names:
        return put_array(0)
    checked = trace.checked_axes()

    def index_of(name: Any) -> Array:
        varies = {"varies": True} if name in checked else {}
        return axis_index_p.bind(axis_name=name, **varies)

    index = index_of(names[0])
    for name, size in zip(names[1:], sizes[1:], strict=True):
        index = index * np.int32(size) + index_of(name)
    return index


def cast_varying(x: Any, names: Sequence[Any]) -> Any:
    """Return a value typed to vary along the axes in `names` of a `shard_map`.

    Raises ShardingError for a value that is unreduced or reduced along one of them.
    """
    missing = (trace.checked_axes() & frozenset(names)) - get_aval(x).vma
    return pvary_p.bind(x, axes=tuple(sorted(missing, key=str))) if missing else x


def pcast(x: _T, /, axis_name: AxisName, *, to: str) -> _T:
    """Return a tree of arrays with another type along the axes `axis_name` of a `shard_map`.

    `to` is "varying" for values that are the same on each device, or reduced. Operations on such
    values and on values that differ convert them implicitly; a loop whose carry starts with one
    type and continues with the other does not. For "unreduced", the values of the devices are
    terms of a sum. For "reduced", the values are the same, and their cotangents are unreduced.

    Raises ArgumentError for another `to`, ShardingError for an array of another type than these.

    >>> lax.scan(step, pcast(zeros(3), "data", to="varying"), xs)  # the carry comes to differ
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ArgumentError(
            "Got unexpected `to` value. Allowed `to` values are: 'varying', 'unreduced', "
            f"'reduced'; pcast got {to!r:.60}"
        )
    names, _ = axis_sizes("pcast", axis_name)
    checked = trace.checked_axes()
    axes = tuple([n for n in names if n in checked])
    cast: _T = tree.map(lambda v: _cast(v, axes, to), x) if axes else x
    return cast


#: the primitive of a cast, by the states before and after it
_CASTS = {
    ("invarying", "varying"): pvary_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
    ("reduced", "varying"): reduced_vary_cast_p,
    ("invarying", "reduced"): preduced_p,
}


def _cast(x: Any, axes: tuple[Any, ...], to: str) -> Any:
    check_one_state("pcast", x, axes)
    (before,) = states(get_aval(x), axes)
    primitive = _CASTS.get((before, to))
    if primitive is None:
        raise ShardingError(
            f"Unsupported pcast from={before}, to={to!r}: the array is {get_aval(x).long_name()}, "
            f"and the axes are {', '.join(map(repr, axes))}",
        )
    if isinstance(primitive, AxisCast):
        return primitive.cast(x, axes=axes)
    return primitive.bind(x, axes=axes)


def check_one_state(function: str, x: Any, axes: Sequence[Any]) -> None:
    """Raise ShardingError for a value that has different states along the axes."""
    found = states(get_aval(x), axes)
    if len(found) > 1:
        raise ShardingError(
            f"jax.lax.{function} can only accept axis_name which corresponds to one of varying, "
            f"unreduced, reduced or invarying state of the input. Got input type: "
            f"{get_aval(x).long_name()}, axes: {tuple(axes)} and input state: "
            f"{', '.join(sorted(map(repr, found)))}",
            hint=f"call {function} for the axes of each state",
        )


def pvary(x: _T, /, axis_name: AxisName) -> _T:
    """Apply `pcast` with "varying", under the name in older programs.

    >>> lax.scan(step, pvary(zeros(3), "data"), xs)
    """
    return _all_varying("pvary", x, axis_name)


def _all_varying(function: str, x: _T, axis_name: AxisName) -> _T:
    names, _ = axis_sizes(function, axis_name)
    for leaf in tree.leaves(x):
        check_same_axes(function, leaf, names)
    varied: _T = tree.map(lambda v: cast_varying(v, names), x)
    return varied


def check_same_axes(function: str, x: Any, names: Sequence[Any]) -> None:
    """Raise ShardingError for a value that varies along any of the checked axes among `names`."""
    checked = [n for n in names if n in trace.checked_axes()]
    aval = get_aval(x)
    varying = [n for n in checked if n in aval.vma]
    if varying and len(varying) < len(checked):
        same = [n for n in checked if n not in aval.vma]
        differs, same_text = (", ".join(map(repr, axis_names)) for axis_names in (varying, same))
        raise ShardingError(
            f"{function} over {', '.join(map(repr, names))} got {aval.long_name()}, which may "
            f"differ along {differs} and is the same on all devices along {same_text}: it can only "
            "accept axis_name which corresponds to one of varying, unreduced, reduced or invarying "
            "state of the input"
            f"{source.current_location().place()}",
            hint=f"leave {same_text} out, or pass lax.pcast(x, {same[0]!r}, to='varying') for a "
            "value of each device",
        )
