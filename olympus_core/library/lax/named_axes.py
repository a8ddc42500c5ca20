"""Named mapped axes: their sizes, the index along them, and the values that vary along them.

A name is bound by `vmap(..., axis_name=...)` around the call, by a `shard_map`, or by the
`axis_env` of `make_olympuspr` and `xla_computation`; UnboundAxisError is raised for a name that
is not bound.  If several names are given, their indices count in row-major order, and the first
name is the outermost.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from olympus_core.base import source, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, ShardingError, UnboundAxisError
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.placement.mesh import are_names
from olympus_core.primitives.collective import axis_index_p, varying

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
        f"Found an unbound axis name: {name}: {function} needs the axis {name!r}, which is not "
        "bound here"
        f"{here.place()}\n"
        f"  the axes bound here: {bound_text or 'none'}",
        hint=f"map over it with vmap(..., axis_name={name!r})",
        location=str(here.position() or "") or None,
    )


def axis_sizes(function: str, axis_name: AxisName) -> tuple[tuple[Any, ...], list[int]]:
    """Return the distinct axes of a collective, and their sizes."""
    names = _names(axis_name)
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
    """Return the index along a mapped axis, an int32 scalar.

    >>> vmap(lambda x: axis_index("i"), axis_name="i")(zeros(3))
    Array([0, 1, 2], dtype=int32)
    """
    names, sizes = axis_sizes("axis_index", axis_name)
    if not names:
        raise ArgumentError("axis_index needs the name of an axis, and got none")
    checked = trace.checked_axes()

    def index_of(name: Any) -> Array:
        varies = {"varies": True} if name in checked else {}
        return axis_index_p.bind(axis_name=name, **varies)

    index = index_of(names[0])
    for name, size in zip(names[1:], sizes[1:], strict=True):
        index = index * np.int32(size) + index_of(name)
    return index


def cast_varying(x: Any, names: Sequence[Any]) -> Any:
    """Return a value typed to vary along the axes in `names` of a `shard_map`."""
    return varying(x, trace.checked_axes() & frozenset(names))


def pcast(x: _T, /, axis_name: AxisName, *, to: str) -> _T:
    """Return a tree of arrays typed to vary along the axes `axis_name` of a `shard_map`.

    Use it for values that are the same on each device.  Operations on such values and on values
    that differ convert them implicitly; a loop whose carry starts with one type and continues with
    the other does not.  `to` is "varying".

    Raises ArgumentError for another `to`, ShardingError for an array that varies along an axis.

    >>> lax.scan(step, pcast(zeros(3), "data", to="varying"), xs)  # the carry comes to differ
    """
    if not isinstance(to, str) or to != "varying":
        raise ArgumentError(
            f'Got unexpected `to` value: pcast takes "varying" as `to`, and got {to!r:.60}'
        )
    names, _ = axis_sizes("pcast", axis_name)
    for leaf in tree.leaves(x):
        if twice := [n for n in names if n in get_aval(leaf).vma]:
            raise ShardingError(
                f"Unsupported pcast from=varying, to='varying': {get_aval(leaf).long_name()} "
                f"varies along {', '.join(map(repr, twice))}",
                hint="leave it out",
            )
    return _all_varying("pcast", x, axis_name)


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
            f"differ along {differs} and is the same on all devices along {same_text}"
            f"{source.current_location().place()}",
            hint=f"leave {same_text} out, or pass lax.pcast(x, {same[0]!r}, to='varying') for a "
            "value of each device",
        )
