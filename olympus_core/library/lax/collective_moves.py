"""Collectives that move values between the indices of named mapped axes, such as `ppermute`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from olympus_core.base import source
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir import trace
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.collective import (
    Groups,
    check_length,
    checked_groups,
    checked_tiled,
    map_arrays,
)
from olympus_core.library.lax.named_axes import AxisName, axis_sizes, cast_varying
from olympus_core.library.lax.shape import expand_dims, squeeze
from olympus_core.placement.mesh import as_tuple
from olympus_core.primitives.collective_moves import all_to_all_p, ppermute_p

_T = TypeVar("_T")


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
    return map_arrays(
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
    tiled = checked_tiled("all_to_all", tiled)
    names, sizes = axis_sizes("all_to_all", axis_name)
    if len(names) != 1:
        if axis_index_groups is not None:
            raise ArgumentError(
                f"all_to_all takes groups along one axis, and got the names {names}"
            )
        return map_arrays(
            "all_to_all", lambda v: _exchange(v, names, sizes, split_axis, concat_axis, tiled), x
        )
    name, axis_size = names[0], sizes[0]
    groups = checked_groups("all_to_all", axis_index_groups, axis_size)
    size = axis_size if groups is None else len(groups[0])

    def leaf(v: Any) -> Any:
        rank = get_aval(v).ndim
        split, concat = canonical_axis(split_axis, rank), canonical_axis(concat_axis, rank)
        check_length("all_to_all", get_aval(v).shape[split], split, size, tiled)
        has_separate_axes = not tiled and split != concat
        if has_separate_axes:  # concat_axis does not count the split axis
            concat += split < concat
            split += concat <= split
            v = expand_dims(v, (concat,))
        v = _swapped(v, name, size, split, concat, groups, tiled)
        return squeeze(v, (split,)) if has_separate_axes else v

    return map_arrays("all_to_all", leaf, x)


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
    check_length("all_to_all", shape[split], split, device_count, tiled)
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
