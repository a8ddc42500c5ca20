"""Collectives over named mapped axes that reduce or gather: `psum`, `all_gather` and others.

They operate along one or several of the axes of `named_axes.py`. `collective_moves.py` has the
collectives that only move values.

`axis_index_groups`, a partition of the indices into lists of one length, restricts a collective
to each list; it is for axes of devices or replicas, and is not allowed for an axis of `vmap`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from olympus_core.base import dtypes, source, tree
from olympus_core.base.avals import get_aval
from olympus_core.base.dtypes import is_python_scalar
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.named_axes import (
    AxisName,
    axis_sizes,
    cast_varying,
    check_same_axes,
)
from olympus_core.library.lax.shape import reshape
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.axis_casts import (
    AxisCast,
    all_gather_invariant_p,
    all_gather_reduced_p,
    psum_invariant_p,
    states,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)
from olympus_core.primitives.collective import (
    CollectivePrimitive,
    all_gather_p,
    pmax_p,
    pmin_p,
    psum_p,
    reduce_scatter_p,
)

Groups = Sequence[Sequence[int]] | None
_T = TypeVar("_T")


def checked_groups(
    function: str, groups: Groups, size: int, is_even: bool = True
) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups as a parameter; raise ArgumentError unless they split the axis.

    If `is_even`, they must have one length.
    """
    if groups is None:
        return None
    try:
        group_indices = tuple([tuple([operator.index(i) for i in g]) for g in groups])
    except TypeError:
        raise ArgumentError(
            f"{function}: axis_index_groups must be lists of ints, and is {groups!r:.80}"
        ) from None
    is_split = sorted(i for p in group_indices for i in p) == list(range(size))
    if not is_split or (is_even and len({*map(len, group_indices)}) > 1):
        lengths = ", in lists of one length" if is_even else ""
        raise ArgumentError(
            f"axis_index_groups must cover all indices exactly once{lengths}: those "
            f"of {function} are {groups!r} for the indices 0 to {size - 1}"
        )
    return group_indices


def checked_tiled(function: str, tiled: Any) -> bool:
    """Return the argument `tiled` of a collective; raise ArgumentError unless it is a bool."""
    if not isinstance(tiled, bool | int | np.bool_):
        raise ArgumentError(f"{function}: tiled is True or False, and is {tiled!r:.60}")
    return bool(tiled)


def map_arrays(function: str, per_leaf: Callable[[Any], Any], x: ArrayLike | _T) -> Array | _T:
    """Apply `per_leaf` to each array of the tree `x`, an argument of `function`."""
    leaves, treedef = tree.flatten(x)
    check_arrays(function, *leaves)
    mapped: Array | _T = treedef.unflatten(map(per_leaf, leaves))
    return mapped


def _check_ordered(function: str, x: Any, names: Sequence[Any]) -> None:
    """Raise DTypeError for a complex value of a device: XLA has no message for its order."""
    manual = {name for name, _ in trace.manual_axes()}
    if manual & {*names} and dtypes.kind(get_aval(x).dtype) == "c":
        raise DTypeError(
            f"{function} over devices takes real arrays, and got {get_aval(x).long_name()}"
            f"{source.current_location().place()}",
            hint=f"lax.all_gather(x, {names[0]!r}).{function[1:]}(0) compares complex values by "
            "real and then by imaginary part",
        )


def _reducing(
    primitive: CollectivePrimitive, axis_name: AxisName, axis_index_groups: Groups
) -> Callable[[Any], Array]:
    """Return the function that reduces one value."""
    names, sizes = axis_sizes(primitive.name, axis_name)
    groups = checked_groups(primitive.name, axis_index_groups, math.prod(sizes), is_even=False)
    checked = trace.checked_axes() & {*names}
    if groups is not None and checked and primitive is psum_p:
        raise UnsupportedError(
            f"psum takes no axis_index_groups along {min(checked, key=str)!r}, which "
            "a shard_map checks: no type records that its groups have different results",
            hint="use all_gather with axis_index_groups, or shard_map(..., check_vma=False)",
        )

    def reduce_leaf(v: Any) -> Array:
        if primitive is psum_p:
            check_same_axes("psum", v, names)
            if states(get_aval(v), names) == {"unreduced"}:
                return unreduced_psum_p.bind(v, axes=names)
            if names and trace.checked_axes() >= frozenset(names):
                return psum_invariant_p.bind(cast_varying(v, names), axes=names)
        else:
            _check_ordered(primitive.name, v, names)
        return primitive.bind(cast_varying(v, names), axes=names, axis_index_groups=groups)

    return reduce_leaf


def psum(x: _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> _T:
    """Sum each array of the tree `x` over the mapped axes `axis_name`; bools are counted.

    The sum of a constant is the constant times the size: `psum(1, axis_name)` is the axis's size, a
    Python int.

    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    leaves = tree.leaves(x)
    check_arrays("psum", *leaves)
    if any(isinstance(v, Tracer) for v in leaves):
        leaf = _reducing(psum_p, axis_name, axis_index_groups)
    else:
        leaf = _repeating(axis_name, axis_index_groups)
    total: _T = tree.map(lambda v: leaf(_counted(v)), x)
    return total


def _repeating(axis_name: AxisName, axis_index_groups: Groups) -> Callable[[Any], Any]:
    """Return the function that sums one value that is the same at every index."""
    size = math.prod(axis_sizes("psum", axis_name)[1])
    groups = checked_groups("psum", axis_index_groups, size)
    times = size if groups is None else len(groups[0])

    def total(v: Any) -> Any:
        if is_python_scalar(v):
            return v * times
        return v * convert(times, get_aval(v).dtype, get_aval(v).weak_type)

    return total


def _counted(x: Any) -> Any:
    return convert(x, np.dtype("int32")) if get_aval(x).dtype == np.bool_ else x


@overload
def pmean(x: float, axis_name: AxisName, *, axis_index_groups: Groups = None) -> float: ...
@overload
def pmean(x: _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> _T: ...
def pmean(x: _T | float, axis_name: AxisName, *, axis_index_groups: Groups = None) -> _T | float:
    """Return the mean over the mapped axes `axis_name` of each array of the tree `x`.

    >>> vmap(lambda x: pmean(x, "i"), axis_name="i")(array([1.0, 2.0]))
    Array([1.5, 1.5], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    mean: _T | float = tree.map(lambda v: v / count, total)
    return mean


@overload
def pmax(x: ArrayLike, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Array: ...
@overload
def pmax(x: _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> _T: ...
def pmax(x: ArrayLike | _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Array | _T:
    """Return the maximum over the mapped axes `axis_name` of each array of `x`, elementwise.

    Raises DTypeError for complex values of a `shard_map` or `pmap`.

    >>> vmap(lambda x: pmax(x, "i"), axis_name="i")(array([5, 6]))
    Array([6, 6], dtype=int32)
    """
    return map_arrays("pmax", _reducing(pmax_p, axis_name, axis_index_groups), x)


@overload
def pmin(x: ArrayLike, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Array: ...
@overload
def pmin(x: _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> _T: ...
def pmin(x: ArrayLike | _T, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Array | _T:
    """Return the minimum over the mapped axes `axis_name` of each array of `x`, elementwise.

    Raises DTypeError for complex values of a `shard_map` or `pmap`.

    >>> vmap(lambda x: pmin(x, "i"), axis_name="i")(array([5, 6]))
    Array([5, 5], dtype=int32)
    """
    return map_arrays("pmin", _reducing(pmin_p, axis_name, axis_index_groups), x)


@overload
def all_gather(
    x: ArrayLike,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Array: ...
@overload
def all_gather(
    x: _T,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> _T: ...
def all_gather(
    x: ArrayLike | _T,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Array | _T:
    """Stack the values of all indices on a new axis `axis`, or with `tiled` join them along it.

    In a `shard_map` with `check_vma`, `to` is the type of the result along the axis: "varying",
    "invarying", or "reduced", whose cotangent is unreduced. Raises ArgumentError for another `to`.

    >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(arange(2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    if to not in _GATHERS:
        raise ArgumentError(
            "Got unexpected `to` value for `jax.lax.all_gather`. Allowed `to` values are: "
            f"{', '.join(map(repr, _GATHERS))}; lax.all_gather got {to!r:.60}"
        )
    tiled = checked_tiled("all_gather", tiled)
    names, sizes = axis_sizes("all_gather", axis_name)
    groups = _single("all_gather", names, sizes, axis_index_groups)

    def leaf(v: Any) -> Any:
        shape = get_aval(v).shape
        place = canonical_axis(axis, len(shape) + (not tiled))
        checked = trace.checked_axes()
        for name, size in zip(reversed(names), reversed(sizes), strict=True):
            primitive = _GATHERS[to] if name in checked else all_gather_p
            typed = primitive.cast if isinstance(primitive, AxisCast) else primitive.bind
            v = typed(
                v if primitive is all_gather_reduced_p else cast_varying(v, [name]),
                all_gather_dimension=place,
                axis_index_groups=groups,
                axis_name=(name,),
                axis_size=size if groups is None else len(groups[0]),
                tiled=tiled,
            )
        if tiled or len(names) == 1:
            return v
        return reshape(v, (*shape[:place], math.prod(sizes), *shape[place:]))

    return map_arrays("all_gather", leaf, x)


_GATHERS = {
    "varying": all_gather_p,
    "invarying": all_gather_invariant_p,
    "reduced": all_gather_reduced_p,
}


def _single(
    function: str, names: Sequence[Any], sizes: Sequence[int], groups: Groups
) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups as a parameter; raise ArgumentError for groups of several axes."""
    if groups is not None and len(names) > 1:
        raise ArgumentError(f"{function} takes axis_index_groups along one axis, not along {names}")
    return None if groups is None else checked_groups(function, groups, sizes[0])


@overload
def psum_scatter(
    x: ArrayLike,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Array: ...
@overload
def psum_scatter(
    x: _T,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> _T: ...
def psum_scatter(
    x: ArrayLike | _T,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Array | _T:
    """Sum over a mapped axis, and return to each index its part along `scatter_dimension`.

    That dimension is as long as the mapped axis, and the result lacks it; with `tiled` its length
    is a multiple, and the part keeps it.  Raises ShapeError for another length.

    >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    tiled = checked_tiled("psum_scatter", tiled)
    names, sizes = axis_sizes("psum_scatter", axis_name)
    groups = _single("psum_scatter", names, sizes, axis_index_groups)
    counts = sizes if groups is None else [len(groups[0])]

    def leaf(v: Any) -> Any:
        shape = get_aval(v).shape
        place = canonical_axis(scatter_dimension, len(shape))
        check_length("psum_scatter", shape[place], place, math.prod(counts), tiled)
        if not tiled and len(names) > 1:
            v = reshape(v, (*shape[:place], *counts, *shape[place + 1 :]))
        is_unreduced = states(get_aval(v), names) == {"unreduced"}
        for name, count in zip(names, counts, strict=True):
            primitive = unreduced_reduce_scatter_p if is_unreduced else reduce_scatter_p
            v = primitive.bind(
                v if is_unreduced else cast_varying(v, [name]),
                axis_index_groups=groups,
                axis_name=(name,),
                axis_size=count,
                scatter_dimension=place,
                tiled=tiled,
            )
        return v

    return map_arrays("psum_scatter", leaf, x)


def check_length(function: str, length: int, place: int, size: int, tiled: bool) -> None:
    """Raise ShapeError unless axis `place` of an operand fits a mapped axis of `size` indices."""
    if length % size if tiled else length != size:
        needed = "a multiple of the mapped axis's size" if tiled else "as long as the mapped axis"
        if function == "all_to_all":
            term = (
                f"the size of split_axis ({length}) has to be divisible by the size of the named "
                f"axis ({size})"
                if tiled
                else "all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {size} and {length} respectively"
            )
        else:
            term = (
                f"tiled reduce_scatter operand scatter dimension size {length} must be divisible "
                f"by shard_count {size}"
                if tiled
                else f"reduce_scatter operand scatter dimension size {length} must match "
                f"shard_count {size}"
            )
        raise ShapeError(
            f"{term}: {function} needs axis {place} of its operand to be {needed}, which is "
            f"{size}, and it is {length}"
        )
