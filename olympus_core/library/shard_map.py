"""`shard_map`: a function that each device of a mesh runs on its own parts of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Hashable, Sequence, Set
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.arrays.mesh_context import abstract_mesh, context_mesh, current_mesh
from olympus_core.arrays.types_on_meshes import array_mesh
from olympus_core.base import source, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError, ShardingError, UnsupportedError
from olympus_core.base.source import function_name, wraps
from olympus_core.control.shard_map import (
    local_aval,
    manual_naming,
    shard_map_p,
    spec_axes,
)
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.sharding_rules import entry_axes, spec_of
from olympus_core.library.explicit import spec_sets
from olympus_core.library.manual_values import ManualValues
from olympus_core.library.shard_map_errors import ArrayPlace, too_long, uneven, unreplicated
from olympus_core.placement.mesh import AbstractMesh, AnyMesh, as_tuple
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.primitives.axis_casts import vary_unreduced_cast_p
from olympus_core.primitives.collective import varying
from olympus_core.transforms import references
from olympus_core.transforms.flat import check_arrays, check_callable, check_results, names_of
from olympus_core.transforms.references import Reference
from olympus_core.transforms.staging import freeze, hoist_consts, stage, stage_once

_P = ParamSpec("_P")
_R = TypeVar("_R")
_WHOLE = PartitionSpec()


class _Infer:
    """The argument `in_specs` of specs from the types of arguments."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


class _Mapping(NamedTuple):
    """The checked arguments of `shard_map`."""

    mesh: AnyMesh
    in_specs: Any
    out_specs: Any
    manual: frozenset[Any]
    check: bool


class _Body(NamedTuple):
    """A staged body: its closed program, consts first; the tree and the specs of its results."""

    program: Olympuspr
    consts: tuple[Any, ...]
    out_tree: tree.PyTreeDef
    out_specs: tuple[PartitionSpec, ...]


@overload
def shard_map(
    f: Callable[_P, _R],
    /,
    *,
    mesh: AnyMesh | None = ...,
    in_specs: Any = ...,
    out_specs: Any,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[_P, _R]: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    mesh: AnyMesh | None = ...,
    in_specs: Any = ...,
    out_specs: Any,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    mesh: AnyMesh | None = None,
    in_specs: Any = Infer,
    out_specs: Any,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Map `f` over the devices of `mesh`: each runs it on its own parts of the arguments.

    `in_specs` is a PartitionSpec, or a tuple with a tree prefix of specs for each argument, and
    `out_specs` a tree prefix of the result.  In `f`, a dimension that a spec splits has the length
    of a part; parts of results are joined again.  An array with an axis that its spec does not name
    is the same on all devices along it.  Collectives in `f` refer to the axes by their names.
    Without `in_specs`, along explicit axes, they are those in the types of the arguments.

    `axis_names` are the axes to map over, by default all of the mesh; along the others the compiler
    shards arrays in `f` as elsewhere.  The default mesh is the mesh of the surrounding `shard_map`,
    or of the context (`set_mesh`), at the call.  Without `f` the result is a decorator.

    With `check_vma` the types in `f` record the axes along which values may differ, such as
    `f32[4]{V:x}` for `x`: a result that may differ along an axis that its spec does not name raises
    an error, and a derivative in `f` by a value that is the same on all devices is summed over
    them. Without it, every result is allowed, and a derivative in `f` is each device's own.

    Raises ShardingError for a spec that does not match an array, ArgumentError for a value that is
    not a spec or a mesh.

    >>> mesh = make_mesh((2,), ("data",), AxisType.Auto)
    >>> shard_map(lambda x: x - lax.pmean(x, "data"), mesh=mesh, in_specs=P("data"),
    ...           out_specs=P("data"))(array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    if not isinstance(check_vma, bool | int):
        raise ArgumentError(f"shard_map: check_vma is True or False, and is {check_vma!r:.60}")
    options = mesh, in_specs, out_specs, axis_names, bool(check_vma)
    if f is None:
        return functools.partial(_mapped, *options)
    return _mapped(*options, f)


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = Infer,
    out_axes: Any,
    axis_name: Hashable,
) -> Callable[..., Any]:
    """Map `f` over one axis of the mesh of the context: `shard_map` with numbers of dimensions.

    `in_axes` is the number of the dimension that the axis splits, None for an argument that it does
    not split, or a tuple with a tree prefix of these for each argument; by default they are those
    in the types of the arguments, along an explicit axis.  `out_axes` is a tree prefix of the
    result.  Without `f` the result is a decorator.

    Raises ArgumentError for other values, and the errors of `shard_map`.

    >>> with set_mesh(make_mesh((2,), ("x",), AxisType.Auto)):
    ...     smap(lambda x: x - lax.pmean(x, "x"), in_axes=0, out_axes=0, axis_name="x")(
    ...         array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, list | tuple):
        raise ArgumentError(
            f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name!r:.60}"
        )
    is_valid = in_axes is None or in_axes is Infer or isinstance(in_axes, int | tuple)
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        leaves = [] if axes is Infer else tree.leaves(axes)
        if not is_valid or any(not isinstance(axis, int) for axis in leaves):
            raise ArgumentError(
                f"smap {what} must be an int, None, jax.sharding.Infer, or a tuple of entries "
                "corresponding to the positional arguments passed to the function, but got "
                f"{axes!r:.60}"
            )

    def spec(axis: int | None) -> PartitionSpec:
        return _WHOLE if axis is None else PartitionSpec(*[None] * axis, axis_name)

    in_specs, out_specs = (
        axes if axes is Infer else tree.map(spec, axes, is_leaf=lambda x: x is None)
        for axes in (in_axes, out_axes)
    )
    return shard_map(f, in_specs=in_specs, out_specs=out_specs, axis_names={axis_name})


def older_shard_map(
    f: Callable[_P, _R],
    mesh: AnyMesh,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: Collection[Hashable] = frozenset(),
) -> Callable[_P, _R]:
    """Apply `shard_map` with the arguments of JAX's older module `jax.experimental.shard_map`.

    `check_rep` is `check_vma`, and `auto` are the axes that it does not map over.  The errors are
    those of `shard_map`, and ShardingError for an axis of `auto` that the mesh does not have.

    >>> mesh = make_mesh((2,), ("data",), AxisType.Auto)
    >>> shard_map(lambda x: lax.psum(x, "data"), mesh, P("data"), P())(array([1.0, 3.0]))
    Array([4.], dtype=float32)
    """
    if not isinstance(mesh, AnyMesh):
        raise _not_a_mesh(mesh)
    auto_axes = as_tuple(auto, "auto")
    if unknown := [n for n in auto_axes if n not in mesh.axis_names]:
        raise ShardingError(f"shard_map: auto has {unknown[0]!r}, and the mesh is {mesh}")
    names = [n for n in mesh.axis_names if n not in auto_axes]
    if not names:
        raise ShardingError(f"shard_map maps over no axis: auto has all of {mesh}")
    return shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=frozenset(names),
        check_vma=check_rep,
    )


def _mapped(
    mesh: AnyMesh | None,
    in_specs: Any,
    out_specs: Any,
    axis_names: Any,
    check: bool,
    f: Callable[_P, _R],
) -> Callable[_P, _R]:
    check_callable("shard_map", f)
    options = in_specs, out_specs, axis_names, check
    outermost: _Mapping | None = None

    @wraps(f)
    def mapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        nonlocal outermost
        if mesh is None or trace.manual_axes() or context_mesh() is not None:
            _check_context(mesh)
            mapping = _checked(current_mesh() if mesh is None else mesh, *options)
        else:
            mapping = outermost = outermost or _checked(mesh, *options)
        if kwargs:
            raise ArgumentError(
                f"shard_map of '{function_name(f)}' takes its arguments by position, and got "
                f"{', '.join(map(repr, kwargs))} by keyword"
            )
        leaves, in_tree = tree.flatten(args)
        if any(isinstance(x, Reference) for x in leaves):
            changed: _R = _with_references(mapping, f, leaves, in_tree)
            return changed
        names = names_of(f, in_tree)
        check_arrays("shard_map", f, names, leaves)
        _check_meshes(mapping.mesh, leaves)
        avals = [get_aval(x) for x in leaves]
        if mapping.in_specs is Infer:
            specs = [_inferred_spec(a, mapping) for a in avals]
        else:
            specs = _specs("in_specs", mapping.in_specs, in_tree)
        for i, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
            _check_spec(mapping, spec, aval, ArrayPlace(f, in_tree, mapping.in_specs, i, True))
        local = tuple([
            local_aval(a, s, mapping.mesh, mapping.manual, mapping.check)
            for a, s in zip(avals, specs, strict=True)
        ])  # fmt: skip
        reader = None
        if trace.at_base():
            reader = ManualValues(mapping.mesh, mapping.manual, mapping.check, leaves, specs)
        with manual_naming(mapping.mesh, mapping.manual, mapping.check):
            key = "shard_map", in_tree, local, _hashable(mapping), reader is None
            body = stage_once(f, key, lambda: _staged(f, in_tree, local, names, mapping, reader))
        outs = shard_map_p.bind(
            *body.consts,
            *leaves,
            olympuspr=body.program,
            mesh=mapping.mesh,
            in_specs=(_WHOLE,) * len(body.consts) + tuple(specs),
            out_specs=body.out_specs,
            manual_axes=tuple(n for n in mapping.mesh.axis_names if n in mapping.manual),
            check_vma=mapping.check,
        )
        result: _R = body.out_tree.unflatten(outs)
        return result

    return mapped


def _with_references(
    mapping: _Mapping, f: Callable[..., Any], leaves: Sequence[Any], in_tree: tree.PyTreeDef
) -> Any:
    """Return the result of `f` for arguments with references, whose values it may change.

    In `f` they are references to the parts, and the new values are joined by the specs of the
    arguments.
    """
    values = [x.value if isinstance(x, Reference) else x for x in leaves]
    if mapping.in_specs is Infer:
        specs = [_inferred_spec(get_aval(x), mapping) for x in values]
    else:
        specs = _specs("in_specs", mapping.in_specs, in_tree)
    boxes = {i: x for i, x in enumerate(leaves) if isinstance(x, Reference)}

    def body(*parts: Any) -> tuple[list[Any], Any]:
        own = {i: Reference(parts[i]) for i in boxes}
        result = f(*in_tree.unflatten([own.get(i, x) for i, x in enumerate(parts)]))
        references.check_result(function_name(f), result)
        return [own[i].value for i in boxes], result

    body.__name__ = function_name(f)
    out_specs = [specs[i] for i in boxes], mapping.out_specs
    run = _mapped(mapping.mesh, tuple(specs), out_specs, mapping.manual, mapping.check, body)
    changed, result = run(*values)
    for box, value in zip(boxes.values(), changed, strict=True):
        box.set_value(value)
    return result


def _check_meshes(mesh: AnyMesh, leaves: Sequence[Any]) -> None:
    """Raise ShardingError for an array on a mesh of another shape or with other types of axes."""
    if not trace.at_base():
        return
    meshes = [array_mesh(x) if isinstance(x, DeviceArray) else None for x in leaves]
    if isinstance(mesh, AbstractMesh) and context_mesh() is None and not any(meshes):
        raise ShardingError(
            "Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` when passing "
            "`AbstractMesh` to the mesh argument: an abstract mesh has no devices",
            hint="pass a Mesh",
        )
    for x, own in zip(leaves, meshes, strict=True):
        if own is None or own == mesh.abstract_mesh:
            continue
        if own.shape_tuple != mesh.shape_tuple:
            raise ShardingError(
                f"Mesh shape of the input {own.shape_tuple} does not match the mesh shape passed "
                f"to shard_map {mesh.shape_tuple} for shape {x.aval.long_name()}",
                hint="put the array on the mesh with device_put",
            )
        if own.has_explicit_axes and not mesh.has_explicit_axes:
            raise ShardingError(
                f"The context mesh {mesh.abstract_mesh} should match the mesh of the input {own} "
                f"for shape {x.aval.long_name()}",
                hint="put the array on the mesh with device_put",
            )


def _hashable(mapping: _Mapping) -> Any:
    leaves, treedef = tree.flatten(mapping.out_specs, is_leaf=lambda x: x is None)
    return mapping.mesh, mapping.manual, mapping.check, tuple(leaves), treedef


def _check_context(mesh: AnyMesh | None) -> None:
    """Raise ShardingError for another mesh than the one around the call.

    In the body of a `shard_map` it is the mesh with the type Manual for the axes that it maps over.
    """
    around = abstract_mesh()
    if not isinstance(mesh, AnyMesh) or mesh.abstract_mesh == around:
        return
    raise ShardingError(
        f"The context mesh {around} should match the mesh passed to shard_map {mesh}",
        hint="leave mesh out, or pass olympus.sharding.get_abstract_mesh()",
    )


def _checked(
    mesh: AnyMesh | None, in_specs: Any, out_specs: Any, axis_names: Any, check: bool
) -> _Mapping:
    if not isinstance(mesh, AnyMesh) or mesh.empty:
        raise _not_a_mesh(mesh)
    outer_names = {axis[0] for axis in trace.manual_axes()}
    if not isinstance(axis_names, Set):
        raise ArgumentError(
            "`axis_names` argument of shard_map should be of type `frozenset` or `set`. Got type: "
            f"{type(axis_names)}"
        )
    requested = as_tuple(axis_names, "axis_names")
    names = [n for n in mesh.axis_names if n in requested]
    for name in requested:
        if name not in mesh.axis_names:
            raise ShardingError(
                f"jax.shard_map requires axis_names={frozenset(requested)} to be a subset of "
                f"mesh.axis_names={frozenset(mesh.axis_names)}, and the mesh is {mesh}"
            )
    manual_axes = frozenset(names) or frozenset(mesh.axis_names) - outer_names
    if twice := [n for n in mesh.axis_names if n in manual_axes and n in outer_names]:
        raise ShardingError(
            f"shard_map maps over the axis {twice[0]!r}, as an enclosing shard_map does"
        )
    if in_specs is Infer and any(n not in mesh.explicit_axes for n in manual_axes):
        raise ArgumentError(
            "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` "
            f"instances, but it was `None` when axis_names={_set_text(manual_axes)} have the types "
            f"{', '.join(f'AxisType.{t.name}' for t in mesh.axis_types)}: only for "
            "explicit axes may it be left out",
            hint="pass in_specs, a PartitionSpec for each argument",
        )
    for what, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        if specs is Infer:
            continue
        for leaf in tree.leaves(specs, is_leaf=lambda x: x is None):
            if leaf is None:
                continue  # it is P(), or for an argument or a result without arrays
            if not isinstance(leaf, PartitionSpec):
                raise _not_a_spec(what, leaf)
            _check_axes(what, leaf, mesh, manual_axes, outer_names)
    return _Mapping(mesh, in_specs, out_specs, manual_axes, check)


def _check_axes(
    what: str, spec: PartitionSpec, mesh: AnyMesh, manual: frozenset[Any], outer_names: set[Any]
) -> None:
    for name in spec_axes(spec) - set(mesh.axis_names):
        raise _not_manual(what, spec, name, manual)
    mesh.check_spec(spec)
    if spec.has_sets:
        _check_sets(what, spec, mesh, manual)
    if PartitionSpec.UNCONSTRAINED in spec.partitions:
        raise ArgumentError(f"shard_map: {what} has {spec}, and no dimension can be unconstrained")
    for name in mesh.axis_names:
        if name in spec_axes(spec) & outer_names:
            raise ShardingError(
                f"The context mesh {abstract_mesh()} should match the mesh passed to shard_map "
                f"{mesh}: {what} has {spec}, and a shard_map around it maps over {name!r}",
                hint=f"leave {name!r} out: arrays in the body are already parts along it",
            )
        if name in spec_axes(spec) - manual:
            raise _not_manual(what, spec, name, manual)


def _set_text(names: frozenset[Any]) -> str:
    """Return the text of a frozenset with its elements in one order."""
    return f"frozenset({{{', '.join(sorted(map(repr, names)))}}})"


def _not_manual(what: str, spec: PartitionSpec, name: Any, manual: frozenset[Any]) -> ShardingError:
    return ShardingError(
        f"shard_map {what} argument must refer to an axis marked as manual ({_set_text(manual)}), "
        f"but: {what} refers to {name!r}: in {spec}, {name!r} is not an axis that it maps over",
        hint="leave it out: the compiler splits arrays along other axes of the mesh",
    )


def _check_sets(what: str, spec: PartitionSpec, mesh: AnyMesh, manual: frozenset[Any]) -> None:
    """Raise an error for unreduced or reduced axes of a spec that cannot be in a type."""
    if not mesh.are_all_axes_explicit:
        kind = "unreduced" if spec.unreduced else "reduced"
        raise ShardingError(
            f"{kind} in {what} {spec} can only be used when the mesh passed to shard_map contains "
            f"axis names all of type `Explicit`. Got mesh {mesh}"
        )
    if manual != set(mesh.axis_names):
        raise UnsupportedError(
            f"unreduced/reduced can only be passed to {what} when shard_map is in full manual "
            f"mode. Got mesh axis names {mesh.axis_names}, manual_axes: {set(manual)}, specs: "
            f"{spec}",
            hint="leave axis_names out",
        )


def _specs(what: str, specs: Any, treedef: tree.PyTreeDef) -> list[PartitionSpec]:
    full = treedef.unflatten(range(treedef.num_leaves))
    leaf_specs = tree.prefix_leaves("shard_map", what, specs, full)
    if what == "in_specs":
        return [_WHOLE if spec is None else spec for spec in leaf_specs]
    if None in leaf_specs:
        raise _not_a_spec(what, None)
    return leaf_specs


def _not_a_mesh(value: Any) -> ArgumentError:
    if isinstance(value, AnyMesh):
        return ArgumentError(f"shard_map requires a non-empty mesh. Got {value}")
    return ArgumentError(
        "shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for "
        f"its second argument, but got {value!s:.80} of type {type(value)}"
        if value is not None
        else "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh "
        "context: shard_map needs a mesh, and got None",
        hint="pass olympus.make_mesh(...), or write `with olympus.set_mesh(mesh):`",
    )


def _not_a_spec(what: str, leaf: Any) -> ArgumentError:
    return ArgumentError(
        f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` instances, "
        f"but: {what} is {leaf!s:.80} of type {type(leaf).__name__}",
        hint="write P() for a value that is the same on all devices",
    )


def _own_spec(aval: ShapedArray, mapping: _Mapping) -> PartitionSpec:
    """Return the spec of an argument along the axes that are mapped over, from its type."""
    entries = [tuple([n for n in entry_axes(e) if n in mapping.manual]) for e in spec_of(aval)]
    unreduced, reduced = (axes & mapping.manual for axes in spec_sets(aval))
    return PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)


def _inferred_spec(aval: ShapedArray, mapping: _Mapping) -> PartitionSpec:
    spec = _own_spec(aval, mapping)
    if spec.has_sets:
        _check_sets("in_specs", spec, mapping.mesh, mapping.manual)
    return spec


def _check_spec(
    mapping: _Mapping, spec: PartitionSpec, aval: ShapedArray, place: ArrayPlace
) -> None:
    mesh = mapping.mesh
    if mesh.are_all_axes_explicit and mapping.manual == set(mesh.axis_names):
        rest = [None] * (aval.ndim - len(spec))
        given = spec.update(partitions=[*spec.partitions, *rest])
        own = _own_spec(aval, mapping)
        if len(spec) <= aval.ndim and given != own:
            raise ShardingError(
                f"in_specs passed to shard_map: {given} does not match the specs of the input: "
                f"{own} for arg: {aval.long_name()}, {place.value_name()} of "
                f"'{function_name(place.function)}'{source.current_location().place()}. "
                "`in_specs` is an optional argument so you can omit specifying it and shard_map "
                "will infer the in_specs from the arguments",
                hint="if you want to reshard your inputs, use `reshard` on the arguments and pass "
                "the results",
            )
    if len(spec) > aval.ndim:
        raise too_long(place, spec, aval)
    for d, n in enumerate(aval.shape):
        if n % math.prod(mesh.shape[name] for name in spec.axes(d)):
            raise uneven(place, spec, aval, d, mesh)


def _staged(
    f: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    avals: Sequence[ShapedArray],
    names: Sequence[str],
    mapping: _Mapping,
    reader: ManualValues | None,
) -> _Body:
    out_tree: tree.PyTreeDef | None = None
    specs: list[PartitionSpec] = []

    def flat(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        outs, out_tree = tree.flatten(f(*in_tree.unflatten(leaves)))
        check_results(function_name(f), outs, out_tree)
        specs[:] = _specs("out_specs", mapping.out_specs, out_tree)
        return [
            _result(x, spec, ArrayPlace(f, out_tree, mapping.out_specs, i, False), mapping)
            for i, (x, spec) in enumerate(zip(outs, specs, strict=True))
        ]

    what = f"'{function_name(f)}'"
    program = freeze(stage(flat, avals, names=names, what=what, reader=reader))
    assert out_tree is not None
    closed, consts = hoist_consts(program)
    for x in consts:
        aval = get_aval(x)
        if any(e is not None for e in spec_of(aval)):
            raise UnsupportedError(
                "Closing over inputs to shard_map where the input is sharded on `Explicit` axes is "
                "not implemented. As a workaround, please pass those inputs as an argument to "
                f"shard_map. Got input with shape {aval.short_name()}: {what} uses it from outside"
            )
    return _Body(closed, consts, out_tree, tuple(specs))


def _with_sets(x: Any, spec: PartitionSpec, mapping: _Mapping) -> Any:
    """Return a result with the unreduced axes of its spec, along which it varies.

    Raises ShardingError for a result with other unreduced or reduced axes.
    """
    unreduced, reduced = (axes & mapping.manual for axes in spec_sets(get_aval(x)))
    if axes := tuple([n for n in mapping.mesh.axis_names if n in spec.unreduced - unreduced]):
        x, unreduced = vary_unreduced_cast_p.cast(x, axes=axes), spec.unreduced
    for what, own, given in (
        ("unreduced", unreduced, spec.unreduced),
        ("reduced", reduced, spec.reduced),
    ):
        if own != given:
            raise ShardingError(
                f"out_specs passed to shard_map should be equal to the {what} present on the "
                f"out_aval. Got out_specs={spec} and out_aval={get_aval(x).short_name()}: the "
                "out_specs require replication which can't be statically inferred given the mesh"
            )
    return x


def _result(x: Any, spec: PartitionSpec, place: ArrayPlace, mapping: _Mapping) -> Any:
    """Return a result of a body typed to vary along exactly the axes of its spec."""
    aval = get_aval(x)
    if len(spec) > aval.ndim:
        raise too_long(place, spec, aval)
    if not mapping.check:
        return x
    named = spec_axes(spec)
    x = _with_sets(x, spec, mapping)
    aval = get_aval(x)
    if unnamed := (aval.vma & mapping.manual) - named:
        raise unreplicated(place, spec, aval, mapping.mesh, unnamed)
    return varying(x, named)
