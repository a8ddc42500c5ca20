"""`vmap`: a function of trees, mapped over axes of their arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name
from olympus_core.ir.primitive import Batched, op
from olympus_core.ir.sharding_rules import entry_axes, inserted, spec_of
from olympus_core.placement.sharding import NamedSharding
from olympus_core.primitives.sharding import retyped
from olympus_core.transforms import references, vmappables
from olympus_core.transforms.batching import batch_flat, place_axis
from olympus_core.transforms.data import is_float0, paths, word_axes
from olympus_core.transforms.flat import (
    check_arrays,
    check_callable,
    check_results,
    derived,
    names_of,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

_UNMAPPED = "pass None for it in in_axes where it is the same for every index"


def vmap(
    fun: Callable[_P, _R],
    in_axes: int | Sequence[Any] | None = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None = None,
    sum_match: bool = False,
) -> Callable[_P, _R]:
    """Map `fun` over axes of its arguments: one result for each index, stacked.

    `in_axes` is an int, None (not mapped), or a tuple with a tree prefix for each positional
    argument; keyword arguments are mapped over axis 0.  Arguments that are not mapped are passed
    unchanged, functions and other objects too.  `out_axes` is a tree prefix of the result.
    Collectives in `fun` refer to the axis by `axis_name`.  `lax.with_sharding_constraint` and
    `shard_map` in `fun` split it along the axes `spmd_axis_name` of their mesh.  With `sum_match`,
    a result whose out_axes are None is the sum over the indices if it differs between them.

    Raises TransformError if the mapped axes differ in size (with every argument's size), if a
    mapped value is not an array, or if nothing is mapped and `axis_size` is not given.

    >>> vmap(lambda x, y: x @ y, in_axes=(0, None))(ones((3, 2)), ones(2))
    Array([2., 2., 2.], dtype=float32)
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not isinstance(in_axes, (int, tuple, type(None))) and not vmappables.is_axis(in_axes):
        raise TransformError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}"
        )
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if axis_size is not None and (
        not hasattr(axis_size, "__index__") or operator.index(axis_size) < 0
    ):
        raise TransformError(f"vmap: axis_size must be an int >= 0 or None, and is {axis_size!r}")
    if not isinstance(axis_name, Hashable):
        raise TransformError(f"vmap: axis_name must be hashable, and is {axis_name!r}")

    mapped_options = {
        "axis_name": axis_name, "axis_size": axis_size, "spmd_axis_name": spmd_axis_name,
        "sum_match": sum_match,
    }  # fmt: skip
    spmd = spmd_axis_name if isinstance(spmd_axis_name, tuple | None) else (spmd_axis_name,)

    @derived(fun, "Vectorized version")
    def mapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if references.exist() and references.has_references((args, kwargs)):
            result: _R = _mapped_references(fun, args, kwargs, in_axes, out_axes, mapped_options)
            return result
        if vmappables.handlers and vmappables.concern((args, kwargs), out_axes):
            return vmappables.mapped_by(vmap, fun, args, kwargs, in_axes, out_axes, mapped_options)  # type: ignore[no-any-return]
        leaves, in_tree = tree.flatten((args, kwargs))
        names = _names(fun, args, kwargs)
        dims = _dims(fun, args, kwargs, in_axes, names, leaves)
        size = _size(fun, in_tree, names, leaves, dims, axis_size)
        out_trees: list[tree.PyTreeDef] = []

        def flat(*xs: Any) -> list[Any]:
            inner_args, inner_kwargs = in_tree.unflatten(xs)
            outs, out_tree = tree.flatten(fun(*inner_args, **inner_kwargs))
            check_results(function_name(fun), outs, out_tree)
            out_trees.append(out_tree)
            return outs

        what = f"vmap of '{function_name(fun)}'"
        explicit = _explicit(fun, names, leaves, dims)
        along = () if explicit is None else explicit.spec.axes(0)
        if spmd is not None and along not in ((), spmd):
            raise TransformError(
                "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is "
                f"allowed. Got spmd_axis_name={spmd} and arrays sharded on "
                f"explicit_mesh_axis={along}"
            )
        batched = Batched(size, axis_name, explicit, spmd)
        outs, out_dims = batch_flat(flat, batched, leaves, dims, what)
        result_tree = out_trees[-1]
        result_axes = _prefix_axes("out_axes", out_axes, result_tree.unflatten(range(len(outs))))
        words = word_axes(result_tree.unflatten(outs), outs)
        stacked: _R = result_tree.unflatten(
            _placed(fun, x, d, axis, batched, (result_tree, i), sum_match, n)
            for i, (x, d, axis, n) in enumerate(
                zip(outs, out_dims, result_axes, words, strict=True)
            )
        )
        return stacked

    return mapped


def _mapped_references(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    options: dict[str, Any],
) -> Any:
    """Return the result of a mapped function that gets references: a slice of each, as one."""
    dims = _prefix_axes("in_axes", in_axes, args) + [0] * tree.structure(kwargs).num_leaves
    array_args, array_kwargs, passed = references.unboxed(args, kwargs)
    places = [i for i in passed if dims[i] is not None]
    leaves, in_tree = tree.flatten((array_args, array_kwargs))
    for i in passed:
        if dims[i] is None:
            leaves[i] = references.Unmapped(passed[i])
    arrays = in_tree.unflatten(leaves)
    boxed = references.Boxed(fun, places)
    axes = [dims[i] for i in places]
    written, result = vmap(boxed, in_axes, (axes, out_axes), **options)(*arrays[0], **arrays[1])
    for place, value in zip(places, written, strict=True):
        passed[place].set_value(value)
    return result


def _names(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    positional = names_of(fun, tree.structure(tuple(args)))
    paths = tree.flatten_with_path(kwargs)[0]
    return positional + [f"kwargs{tree.keystr(p)}" for p, _ in paths]


def _check_axes(what: str, axes: Any) -> None:
    for axis in tree.leaves(axes):
        if type(axis) is not int and not vmappables.is_axis(axis):
            raise TransformError(
                f"vmap {what} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axis!r:.60}"
            )


def _prefix_axes(what: str, axes: Any, full: Any) -> list[int | None]:
    return tree.prefix_leaves("vmap", what, axes, full)


def _dims(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    names: Sequence[str],
    leaves: Sequence[Any],
) -> list[int | None]:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise TransformError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={len(args)} for '{function_name(fun)}'"
        )
    dims = _prefix_axes("in_axes", in_axes, args) + [0] * tree.structure(kwargs).num_leaves
    axes: list[int | None] = []
    words = word_axes((args, kwargs), leaves)
    for name, x, d, w in zip(names, leaves, dims, words, strict=True):
        if d is None:
            axes.append(None)
            continue
        check_arrays("vmap", fun, [name], [x], hint=_UNMAPPED)
        aval = get_aval(x)
        rank = aval.ndim - w
        if not -rank <= d < rank:
            raise TransformError(
                f"vmap was requested to map its argument along axis {d}, which implies that its "
                f"rank should be at least {d + 1 if d >= 0 else -d}, but is only {rank} (its shape "
                f"is {aval.shape[:rank]}): it is {name} of '{function_name(fun)}'",
                hint=_UNMAPPED,
            )
        axes.append(d % rank)
    return axes


def _size(
    fun: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    names: Sequence[str],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    axis_size: int | None,
) -> int:
    sizes = {get_aval(x).shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        term = (
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
        if not leaves:
            args, kwargs = in_tree.unflatten([])
            term = (
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        raise TransformError(
            f"{term}: '{function_name(fun)}' has no mapped argument",
            hint="give one argument an axis, or pass axis_size",
        )
    axes = [
        (get_aval(x).shape[d], f"axis {d} of {name} of type {get_aval(x).long_name()}")
        for name, x, d in zip(names, leaves, dims, strict=True)
        if d is not None
    ]
    raise TransformError(
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        f"{_sizes_text(axes, axis_size)}\nThe function is '{function_name(fun)}'"
    )


def _sizes_text(axes: Sequence[tuple[int, str]], axis_size: int | None) -> str:
    """Return a line for each size that several mapped axes have, the most frequent one first."""
    lines = [] if axis_size is None else [f"  * the `axis_size` argument was {axis_size}"]
    places: dict[int, list[str]] = {}
    for size, place in axes:
        places.setdefault(size, []).append(place)
    for size, named in sorted(places.items(), key=lambda item: -len(item[1])):
        most = "most" if len(named) > len(axes) / 2 else "some"
        many = f"{most} axes ({len(named)} of them) had size {size}, e.g. {named[0]}"
        lines.append(
            f"  * one axis had size {size}: {named[0]}" if len(named) == 1 else f"  * {many}"
        )
    return ";\n".join(lines)


def _explicit(
    fun: Callable[..., Any],
    names: Sequence[str],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
) -> NamedSharding | None:
    """Return the sharding of the mapped axis along explicit axes; None without such axes."""
    rows = zip(names, leaves, dims, strict=True)
    mapped = [(name, get_aval(x), d) for name, x, d in rows if d is not None]
    typed = [(a.explicit, d) for _, a, d in mapped if a.explicit is not None]
    entries = dict.fromkeys(str(sharding.spec.partitions[d]) for sharding, d in typed)
    if len(entries) > 1:
        lines = [f"  {name}, {a.long_name()}, is mapped over axis {d}" for name, a, d in mapped]
        raise TransformError(
            f"vmap of '{function_name(fun)}': Mapped away dimension of inputs passed to vmap "
            f"should be sharded the same. Got inconsistent axis specs: {' vs '.join(entries)}\n"
            + "\n".join(lines)
        )
    shardings = (
        a.explicit.update(spec=(a.explicit.spec.partitions[d],)) for _, a, d in mapped if a.explicit
    )
    explicit = next(shardings, None)
    if explicit is not None and explicit.spec.axes(0):
        _check_unmapped(leaves, dims, explicit.spec.axes(0))
    return explicit


def _check_unmapped(leaves: Sequence[Any], dims: Sequence[int | None], axes: Sequence[Any]) -> None:
    """Raise TransformError for an array without a mapped axis that is split along `axes`."""
    for aval in [get_aval(x) for x, d in zip(leaves, dims, strict=True) if d is None]:
        if any(name in axes for entry in spec_of(aval) for name in entry_axes(entry)):
            raise TransformError(
                "Unmapped values passed to vmap cannot be sharded along the mesh axis you are "
                f"vmapping over. Got type: {aval.short_name()}, in_axes: None and vmapped mesh "
                f"axis: {tuple(axes)}"
            )


def _path_text(place: tuple[tree.PyTreeDef, int]) -> str:
    return tree.keystr(paths(place[0])[place[1]])


def _placed(
    fun: Callable[..., Any],
    x: Any,
    dim: int | None,
    axis: int | None,
    batched: Batched,
    place: tuple[tree.PyTreeDef, int],
    sum_match: bool,
    words: int,
) -> Any:
    """Return a result with its mapped axis at `axis`; `place` is its tree and its index there.

    `sum_match` sums over the mapped axis for an `axis` of None.  `words` is the number of last axes
    that the axes of the result do not include.
    """
    if axis is None:
        if dim is not None and sum_match:
            return op.reduce_sum(x, axes=(dim,))
        if dim is not None:
            raise TransformError(
                f"at vmap out_axes{_path_text(place)}, got axis spec None but output was batched "
                f"on axis {dim}: the result of '{function_name(fun)}' differs from index to index"
            )
        return x
    rank = get_aval(x).ndim + (dim is None) - words
    if not -rank <= axis < rank:
        raise TransformError(
            f"axis {axis} is out of bounds for array of dimension {rank}: it is "
            f"out_axes{_path_text(place)} of "
            f"vmap of '{function_name(fun)}'"
        )
    placed = place_axis(x, dim, axis % rank, batched.size)
    aval = get_aval(x)
    if dim is None and batched.explicit is not None and not is_float0(x):
        spec = inserted(spec_of(aval), axis % rank, batched.entry)
        like = batched.explicit if aval.explicit is None else aval.explicit
        placed = retyped(placed, get_aval(placed).with_sharding(like.with_partitions(spec)))
    return placed
