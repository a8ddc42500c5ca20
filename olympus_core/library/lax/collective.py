"""Collectives over named mapped axes: `psum`, `all_gather`, `ppermute`, and related functions.

They operate along one or several of the axes of `named_axes.py`.

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
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.named_axes import (
    AxisName,
    axis_sizes,
    cast_varying,
    check_same_axes,
)
from olympus_core.library.lax.shape import expand_dims, reshape, squeeze
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.placement.mesh import as_tuple
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
from olympus_core.primitives.collective_moves import all_to_all_p, ppermute_p

Groups = Sequence[Sequence[int]] | None
_T = TypeVar("_T")


def _groups(
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


def _flag(function: str, tiled: Any) -> bool:
    if not isinstance(tiled, bool | int | np.bool_):
        raise ArgumentError(f"{function}: tiled is True or False, and is {tiled!r:.60}")
    return bool(tiled)


def _map(function: str, per_leaf: Callable[[Any], Any], x: ArrayLike | _T) -> Array | _T:
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
    groups = _groups(primitive.name, axis_index_groups, math.prod(sizes), is_even=False)
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
    groups = _groups("psum", axis_index_groups, size)
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
    return _map("pmax", _reducing(pmax_p, axis_name, axis_index_groups), x)


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
    return _map("pmin", _reducing(pmin_p, axis_name, axis_index_groups), x)


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
    tiled = _flag("all_gather", tiled)
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

    return _map("all_gather", leaf, x)


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
    return None if groups is None else _groups(function, groups, sizes[0])


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
    tiled = _flag("psum_scatter", tiled)
    names, sizes = axis_sizes("psum_scatter", axis_name)
    groups = _single("psum_scatter", names, sizes, axis_index_groups)
    counts = sizes if groups is None else [len(groups[0])]

    def leaf(v: Any) -> Any:
        shape = get_aval(v).shape
        place = canonical_axis(scatter_dimension, len(shape))
        _check_length("psum_scatter", shape[place], place, math.prod(counts), tiled)
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

    return _map("psum_scatter", leaf, x)


def _check_length(function: str, length: int, place: int, size: int, tiled: bool) -> None:
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


@overload
def ppermute(x: ArrayLike, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Array: ...
@overload
def ppermute(x: _T, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> _T: ...
def ppermute(x: ArrayLike | _T, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Array | _T:
    """Send the value of the source to the destination for each pair (source, destination).

    An index that is not a destination gets zeros.  Several axes are named in the order of the mesh,
    in which their indices count, and `vmap` maps over one axis only.  Raises ArgumentError for axes
    in another order, for an index out of range, and if two pairs have the same source or the same
    destination.

    >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(array([5, 6]))
    Array([6, 5], dtype=int32)
    """
    names, sizes = axis_sizes("ppermute", axis_name)
    _check_order(names)
    size = math.prod(sizes)
    pairs = _pairs(perm)
    along = f"ppermute along {', '.join(map(repr, names))} needs pairs (source, destination)"
    for kind, ends in (("source", [s for s, _ in pairs]), ("destination", [d for _, d in pairs])):
        for i in ends:
            if not 0 <= i < size:
                raise ArgumentError(
                    f"{along} of indices from 0 to {size - 1}, and got the {kind} {i} in "
                    f"{perm!r:.80}{source.current_location().place()}"
                )
        repeated = [i for k, i in enumerate(ends[: size + 1]) if i in ends[:k]]
        if repeated:
            raise ArgumentError(
                f"ppermute sources and destinations must be unique, got {pairs}: {along} in which "
                f"each index is a {kind} at most once, and got {repeated[0]} twice"
                f"{source.current_location().place()}"
            )
    return _map(
        "ppermute",
        lambda v: ppermute_p.bind(cast_varying(v, names), axis_name=names, perm=pairs),
        x,
    )


def _check_order(names: Sequence[Any]) -> None:
    """Raise ArgumentError for axes in another order than that of the mesh.

    JAX counts the indices in the order of the mesh up to 0.10, and refuses this from 0.12 on.
    """
    manual = trace.manual_axes()
    order = manual[-1].mesh.axis_names if manual else [name for name, _ in trace.axes()]
    mesh_order = tuple([n for n in order if n in names])
    if len(mesh_order) == len(names) and mesh_order != tuple(names):
        raise ArgumentError(
            "ppermute numbers the indices along axes in the order of the mesh, and got the axes "
            f"{', '.join(map(repr, names))}{source.current_location().place()}",
            hint=f"name them in the order {mesh_order}, and number the pairs in this order",
        )


def _pairs(perm: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple([(operator.index(s), operator.index(d)) for s, d in perm])
    except (TypeError, ValueError):
        raise ArgumentError(
            f"ppermute needs pairs (source, destination) of ints, and got {perm!r:.80}"
        ) from None


@overload
def pshuffle(x: ArrayLike, axis_name: AxisName, perm: Sequence[int]) -> Array: ...
@overload
def pshuffle(x: _T, axis_name: AxisName, perm: Sequence[int]) -> _T: ...
def pshuffle(x: ArrayLike | _T, axis_name: AxisName, perm: Sequence[int]) -> Array | _T:
    """Return to index i the value of index `perm[i]`; raise ArgumentError for no permutation.

    >>> vmap(lambda x: pshuffle(x, "i", [1, 2, 0]), axis_name="i")(array([5, 6, 7]))
    Array([6, 7, 5], dtype=int32)
    """
    size = math.prod(axis_sizes("pshuffle", axis_name)[1])
    sources = as_tuple(perm, "the permutation of pshuffle")
    if len(sources) != size or any(i not in sources for i in range(size)):
        raise ArgumentError(
            f"`perm` does not represent a permutation: {perm!r}: pshuffle needs one of 0 to "
            f"{size - 1}"
        )
    return ppermute(x, axis_name, list(zip(sources, range(size), strict=True)))


@overload
def pswapaxes(
    x: ArrayLike, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None
) -> Array: ...
@overload
def pswapaxes(x: _T, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> _T: ...
def pswapaxes(
    x: ArrayLike | _T, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None
) -> Array | _T:
    """Exchange the mapped axis with the axis `axis` of each value, of the same length.

    >>> vmap(lambda x: pswapaxes(x, "i", 0), axis_name="i")(array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@overload
def all_to_all(
    x: ArrayLike,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Array: ...
@overload
def all_to_all(
    x: _T,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> _T: ...
def all_to_all(
    x: ArrayLike | _T,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Array | _T:
    """Return to index i part i along `split_axis` of every value, joined along `concat_axis`.

    `split_axis` is as long as the mapped axis, and the result lacks it: the parts are stacked on a
    new axis `concat_axis`.  With `tiled`, its length is a multiple, and both axes remain.  Several
    names are one axis, the first of which varies most slowly.  Raises ShapeError for another
    length, and ArgumentError for groups of the indices of several axes.

    >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    tiled = _flag("all_to_all", tiled)
    names, sizes = axis_sizes("all_to_all", axis_name)
    if len(names) != 1:
        if axis_index_groups is not None:
            raise ArgumentError(
                f"all_to_all takes groups along one axis, and got the names {names}"
            )
        return _map(
            "all_to_all", lambda v: _exchange(v, names, sizes, split_axis, concat_axis, tiled), x
        )
    name, axis_size = names[0], sizes[0]
    groups = _groups("all_to_all", axis_index_groups, axis_size)
    size = axis_size if groups is None else len(groups[0])

    def leaf(v: Any) -> Any:
        rank = get_aval(v).ndim
        split, concat = canonical_axis(split_axis, rank), canonical_axis(concat_axis, rank)
        _check_length("all_to_all", get_aval(v).shape[split], split, size, tiled)
        has_separate_axes = not tiled and split != concat
        if has_separate_axes:  # concat_axis does not count the split axis
            concat += split < concat
            split += concat <= split
            v = expand_dims(v, (concat,))
        v = _swapped(v, name, size, split, concat, groups, tiled)
        return squeeze(v, (split,)) if has_separate_axes else v

    return _map("all_to_all", leaf, x)


def _swapped(
    v: Any, name: Any, size: int, split: int, concat: int, groups: Any = None, tiled: bool = False
) -> Any:
    """Apply `all_to_all` to one value along one axis."""
    return all_to_all_p.bind(
        cast_varying(v, [name]),
        axis_index_groups=groups,
        axis_name=name,
        axis_size=size,
        concat_axis=concat,
        split_axis=split,
        tiled=tiled,
    )


def _exchange(
    v: Any,
    names: Sequence[Any],
    sizes: Sequence[int],
    split_axis: int,
    concat_axis: int,
    tiled: bool,
) -> Any:
    """Apply `all_to_all` to one value along several axes: their indices are axes of the parts."""
    shape, count, device_count = get_aval(v).shape, len(names), math.prod(sizes)
    split, concat = canonical_axis(split_axis, len(shape)), canonical_axis(concat_axis, len(shape))
    _check_length("all_to_all", shape[split], split, device_count, tiled)
    split_shape = (*shape[:split], *sizes, shape[split] // device_count, *shape[split + 1 :])
    v = op.reshape(v, dimensions=None, new_sizes=split_shape)
    for axis, (name, size) in enumerate(zip(names, sizes, strict=True), split):
        v = _swapped(v, name, size, axis, axis)
    sources = range(split, split + count)
    own = [i for i in range(len(split_shape)) if i not in sources and (tiled or i != split + count)]
    order = (*own[:concat], *sources, *own[concat:])
    if not tiled:  # the axis of length one that remains of `split_axis`
        order = (*order, split + count)
    v = op.transpose(v, permutation=order)
    remaining_shape = [split_shape[i] for i in own]
    joined = [device_count * remaining_shape[concat]] if tiled else [device_count]
    after = remaining_shape[concat + 1 :] if tiled else remaining_shape[concat:]
    return op.reshape(v, dimensions=None, new_sizes=(*remaining_shape[:concat], *joined, *after))
