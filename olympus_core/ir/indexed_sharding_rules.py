"""Sharding rules of operations whose dimensions correspond by numbers: reshape, products, indices.

The rules are those of JAX's module `jax.lax`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olympus_core.base.avals import Shape, ShapedArray
from olympus_core.base.errors import ShardingTypeError
from olympus_core.ir.sharding_rules import (
    Avals,
    Spec,
    ambiguous,
    entry_axes,
    entry_size,
    inserted,
    resized,
    spec_of,
    without,
)

_OUT = "pass the sharding of the result as out_sharding="


def _reshape_error(x: ShapedArray, shape: Shape) -> ShardingTypeError:
    return ambiguous(
        "This reshape is not supported. Please specify the sharding of the output via the "
        f"`out_sharding` argument of lax.reshape. Got operand type: {x.long_name()}, new sizes: "
        f"{shape}",
        [x],
        _OUT,
    )


def reshaped_spec(x: ShapedArray, shape: Shape, is_permuted: bool) -> Spec:
    """Return the spec of a reshaped array: one dimension may be split, or several merged to one."""
    spec = spec_of(x)
    if all(e is None for e in spec):
        return (None,) * len(shape)
    if [n for n in x.shape if n != 1] == [n for n in shape if n != 1]:
        unit_free = iter([e for n, e in zip(x.shape, spec, strict=True) if n != 1])
        return tuple([None if n == 1 else next(unit_free) for n in shape])
    groups = _groups(x.shape, shape)
    if groups is None:
        raise _reshape_error(x, shape)
    entries: list[Any] = []
    for olds, news in groups:
        own = [spec[d] for d in olds]
        if len(olds) == len(news) == 1:
            entries.append(own[0])
        elif all(e is None for e in own):
            entries += [None] * len(news)
        elif is_permuted:
            raise _reshape_error(x, shape)
        else:
            entries += _distributed(x, shape, own, tuple([shape[d] for d in news]))
    return tuple(entries)


def _groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]] | None:
    """Return the dimensions that correspond, if one is split, or several merged; None otherwise."""
    is_split = len(after) > len(before)
    if len(after) == len(before) or 0 in before:
        return None
    short, long = (before, after) if is_split else (after, before)
    groups: list[tuple[list[int], list[int]]] = []
    j, extra = 0, 0
    for i, n in enumerate(short):
        parts, size = [j], long[j] if j < len(long) else 0
        j += 1
        rest = len(long) - j - (len(short) - i - 1)
        while j < len(long) and rest > 0 and (size < n or (size == n and long[j] == 1)):
            if size == n and short[i + 1 :] == long[j:]:
                break
            size *= long[j]
            parts.append(j)
            j, rest = j + 1, rest - 1
        if size != n:
            return None
        extra += len(parts) > 1
        groups.append(([i], parts) if is_split else (parts, [i]))
    return groups if j == len(long) and extra == 1 else None


def _distributed(x: ShapedArray, shape: Shape, own: Sequence[Any], sizes: Shape) -> list[Any]:
    """Return the entries of new dimensions of `sizes`, among which the axes of `own` are split."""
    own = list(own)
    while own and own[-1] is None:
        own.pop()
    if None in own:
        raise _reshape_error(x, shape)
    names = [n for e in own for n in entry_axes(e)]
    entries = []
    for size in sizes:
        names_here = []
        while size > 1 and names:
            size, remainder = divmod(size, entry_size(x.explicit.mesh, names[0]))
            if remainder:
                raise _reshape_error(x, shape)
            names_here.append(names.pop(0))
        entries.append(_entry(names_here))
    if names:
        raise _reshape_error(x, shape)
    return entries


def _entry(names: Sequence[Any]) -> Any:
    return None if not names else names[0] if len(names) == 1 else tuple(names)


def product(avals: Avals, dimension_numbers: Any) -> Spec:
    """Return the spec of a `dot_general`: batch dimensions, then the free ones of both operands."""
    lhs, rhs = map(spec_of, avals)
    (contract, contract_rhs), (batch, batch_rhs) = dimension_numbers
    for what, left, right in (("batch", batch, batch_rhs), ("contracting", contract, contract_rhs)):
        one, other = [lhs[i] for i in left], [rhs[i] for i in right]
        pairs = list(zip(one, other, strict=True))
        if any(a is not None and b is not None and a != b for a, b in pairs):
            dims = {
                "batch": "lhs batch dimensions and rhs batch dimensions to have the",
                "contracting": "contracting dimensions to have",
            }
            raise ambiguous(
                f"dot_general requires {dims[what]} consistent sharding, got {tuple(one)} and "
                f"{tuple(other)}",
                avals,
            )
        if what == "contracting" and any(a is not None and b is not None for a, b in pairs):
            raise ambiguous(
                "Contracting dimensions are sharded and it is ambiguous how the output should be "
                "sharded. Please specify the output sharding via the `out_sharding` parameter. Got "
                f"lhs_contracting_spec={tuple(one)} and rhs_contracting_spec={tuple(other)}",
                avals,
                _OUT,
            )
    return (
        *[lhs[i] for i in batch],
        *without(lhs, (*contract, *batch)),
        *without(rhs, (*contract_rhs, *batch_rhs)),
    )


def convolved(avals: Avals, shape: Shape, feature: int) -> Spec:
    """Return the spec of a convolution with a replicated kernel, whose `feature` is not split."""
    lhs, rhs = avals
    if any(e is not None for e in spec_of(rhs)) or spec_of(lhs)[feature] is not None:
        raise ambiguous(
            "Please specify the output sharding via `out_sharding` parameter of "
            "`conv_general_dilated`",
            avals,
            _OUT,
        )
    return resized("conv_general_dilated", lhs, shape)


def gathered(avals: Avals, outs: Avals, dims: Any, sizes: Shape) -> Spec:
    """Return the spec of a gather with the GatherDimensionNumbers `dims` and windows of `sizes`."""
    operand, indices = avals
    own, of_indices = spec_of(operand), list(spec_of(indices))
    if all(e is None for e in (*own, *of_indices)):
        return (None,) * outs[0].ndim
    batching = list(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True))
    resolves = (
        all(sizes[i] == operand.shape[i] or own[i] is None for i in dims.start_index_map)
        and all(own[a] is None or of_indices[b] in (None, own[a]) for a, b in batching)
        and _whole(of_indices, dims.start_indices_batching_dims)
    )
    if not resolves:
        raise ambiguous(
            "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather "
            "indexing as out sharding could not be resolved unambiguously (or would require "
            "collectives on inputs)",
            avals,
            _OUT,
        )
    for a, b in batching:
        of_indices[b] = of_indices[b] or own[a]
    dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    windows, batches = iter(without(own, dropped)), iter(of_indices)
    return tuple([next(windows if i in dims.offset_dims else batches) for i in range(outs[0].ndim)])


def _whole(spec: Sequence[Any], except_for: Iterable[int]) -> bool:
    excepted = frozenset(except_for)
    return all(e is None for i, e in enumerate(spec) if i not in excepted)


def scattered(avals: Avals, dims: Any) -> Spec:
    """Return the spec of a scatter with the ScatterDimensionNumbers `dims`."""
    operand, indices, updates = avals
    own, of_indices, of_updates = map(spec_of, avals)
    if all(e is None for e in (*own, *of_indices, *of_updates)):
        return own
    windows = dims.update_window_dims
    places = iter([i for i in range(updates.ndim) if i not in windows])
    rows = {d: next(places) for d in range(indices.ndim - 1)}
    batch_updates = [rows[d] for d in dims.scatter_indices_batching_dims]
    absent = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    whole = [i for i in range(operand.ndim) if i not in absent]
    triples = [
        (own[a], of_indices[b], of_updates[c])
        for a, b, c in zip(
            dims.operand_batching_dims,
            dims.scatter_indices_batching_dims,
            batch_updates,
            strict=True,
        )
    ]
    resolves = (
        all(len({e for e in column if e is not None}) < 2 for column in triples)
        and all(
            (updates.shape[u] == operand.shape[d] and of_updates[u] == own[d])
            or of_updates[u] is own[d] is None
            for u, d in zip(windows, whole, strict=True)
        )
        and all(own[d] is None for d in dims.inserted_window_dims)
        and _whole(of_updates, (*batch_updates, *windows))
        and _whole(of_indices, dims.scatter_indices_batching_dims)
    )
    if not resolves:
        raise ambiguous(
            "Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the "
            "scatter update as out sharding could not be resolved unambiguously (or would require "
            "collectives on inputs)",
            avals,
            _OUT,
        )
    out = list(own)
    for d, column in zip(dims.operand_batching_dims, triples, strict=True):
        out[d] = next((e for e in column if e is not None), None)
    return tuple(out)


def broadcast_into(x: ShapedArray, shape: Shape, dims: Sequence[int]) -> Spec:
    """Return the spec of an array whose dimension i becomes dimension `dims[i]` of a result."""
    spec: Spec = (None,) * len(shape)
    for d, entry in zip(dims, spec_of(x), strict=True):
        spec = inserted(without(spec, (d,)), d, entry)
    return spec
