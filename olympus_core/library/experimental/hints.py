"""Requests to the compiler about values: their order, their layout, and equal shardings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeVar

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.arrays.sharded_array import in_layout
from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.control.ffi_call import TYPED_API, FfiAttributes, ffi_effect_call_p
from olympus_core.ir import trace
from olympus_core.placement.layout import Layout
from olympus_core.primitives.annotation import layout_constraint_p, same_sharding_p

_T = TypeVar("_T")


def with_layout_constraint(x: _T, layouts: Any) -> _T:
    """Return a tree of arrays in other layouts in memory.

    `layouts` is a tree prefix of `x` with a `Layout` for each array.  The results of a program are
    row-major, unless `out_shardings` of `jit` has another layout for them.

    Raises ArgumentError (a ValueError) for another value, and ShardingError (also one) for a layout
    of another rank.

    >>> with_layout_constraint(numpy.ones((2, 3)), Layout((1, 0))).shape
    (2, 3)
    """
    leaves, treedef = tree.flatten(x)
    full = treedef.unflatten(range(len(leaves)))
    every = tree.prefix_leaves("with_layout_constraint", "layouts", layouts, full, _is_layout)
    for value, layout in zip(leaves, every, strict=True):
        aval = get_aval(value)
        if not isinstance(layout, Layout):
            raise ArgumentError(
                "layouts passed to `with_layout_constraint` must be of type `Layout`. Got "
                f"[{type(layout)}]"
            )
        layout.check_compatible_aval(aval.shape, "One of with_layout_constraint arguments")
    result: _T = treedef.unflatten(map(_constrained, leaves, every))
    return result


def _constrained(x: Any, layout: Layout) -> Any:
    if trace.at_base() and isinstance(x, DeviceArray):
        return in_layout(x, layout)
    return layout_constraint_p.bind(x, layout=layout)


def _is_layout(x: Any) -> bool:
    return x is None or isinstance(x, Layout)


def shard_alike(x: _T, y: _T) -> tuple[_T, _T]:
    """Return two trees of arrays, which a program of several devices shards in the same way.

    The arrays at one place of the trees have the same shape. The compiler chooses the sharding, or
    takes the one that one of the two has.

    Raises ArgumentError (a ValueError) for other trees or shapes.

    >>> x, y = shard_alike(numpy.arange(4), numpy.ones(4))
    >>> y
    Array([1., 1., 1., 1.], dtype=float32)
    """
    xs, x_tree = tree.flatten(x)
    ys, y_tree = tree.flatten(y)
    if x_tree != y_tree:
        raise ArgumentError(f"Trees should be equal. Got x_tree: {x_tree}, y_tree: {y_tree}")
    for a, b in zip(xs, ys, strict=True):
        shapes = get_aval(a).shape, get_aval(b).shape
        if shapes[0] != shapes[1]:
            raise ArgumentError(
                "The leaves shapes of `x` and `y` should match. Got `x` leaf shape: "
                f"{shapes[0]} and `y` leaf shape: {shapes[1]}"
            )
    pairs = [same_sharding_p.bind(a, b) for a, b in zip(xs, ys, strict=True)]
    return x_tree.unflatten([a for a, _ in pairs]), y_tree.unflatten([b for _, b in pairs])


def control_dep(src: Any, dst: Any) -> None:
    """Request that the compiler computes `src` before `dst`, two arrays of a program.

    It is a call of the target `control_dep`, which only XLA for accelerators knows.

    >>> text = jit(lambda x: control_dep(x, x * 2)).lower(1.0).as_text()
    >>> "@control_dep" in text
    True
    """
    ranks = [get_aval(x).ndim for x in (src, dst)]
    ffi_effect_call_p.bind(
        src,
        dst,
        target_name="control_dep",
        results=(),
        attributes=FfiAttributes({}),
        vmap_method=None,
        api_version=TYPED_API,
        legacy_backend_config=None,
        input_layouts=tuple([tuple(reversed(range(n))) for n in ranks]),
        output_layouts=(),
        input_output_aliases=(),
    )


def schedule(ops: Sequence[Any]) -> None:
    """Request that the compiler computes arrays in their order, by `control_dep` of neighbors.

    >>> text = jit(lambda x: schedule([x, x * 2, x * 3])).lower(1.0).as_text()
    >>> text.count("@control_dep")
    2
    """
    for src, dst in itertools.pairwise(ops):
        control_dep(src, dst)
