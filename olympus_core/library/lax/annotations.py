"""Identity functions that constrain derivatives or the compiler, such as `stop_gradient`."""

from __future__ import annotations

from typing import Any, TypeVar

from olympus_core.arrays.mesh_context import context_mesh, entered
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, ShardingAssertionError, ShardingError
from olympus_core.execution.spmd import Claim, check_same_devices, committed_sharding
from olympus_core.ir import trace
from olympus_core.ir.primitive import op
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.jit.sharded_calling import check_no_layout
from olympus_core.library.device import check_keys
from olympus_core.library.explicit import check_open
from olympus_core.library.promotion import check_arrays
from olympus_core.placement.layout import Format, Layout, as_sharding
from olympus_core.placement.mesh import AnyMesh, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding, Sharding
from olympus_core.primitives.annotation import layout_constraint_p
from olympus_core.primitives.barrier import optimization_barrier_p
from olympus_core.primitives.sharding import refuse_manual, sharding_constraint_p

_T = TypeVar("_T")


def stop_gradient(x: _T) -> _T:
    """Return `x` (an array, or a tree of arrays) as a value with zero derivative.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    stopped: _T = tree.map(op.stop_gradient, x)
    return stopped


def optimization_barrier(operand: _T, /) -> _T:
    """Return a tree of arrays as it is, across which the compiler moves and merges no operations.

    All of the arrays are computed before any of the results is used.  Derivatives and batches
    have barriers of their own.  Raises DTypeError for a leaf that is not an array.

    >>> optimization_barrier((1.0, 2.0))
    (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, treedef = tree.flatten(operand)
    check_arrays("optimization_barrier", *leaves)
    passed: _T = treedef.unflatten(optimization_barrier_p.bind(*leaves) if leaves else [])
    return passed


def with_sharding_constraint(x: _T, shardings: Any) -> _T:
    """Return a tree of arrays unchanged, each with its sharding in `shardings`.

    `shardings` is a sharding, or a PartitionSpec of the mesh of the context, where None is `P()`,
    or a tree prefix of `x` of these.  In a traced function it is a constraint on the compiler: the
    compiler chooses the sharding of a dimension that is `P.UNCONSTRAINED` in the spec, and a
    dimension that the axes do not divide is replicated.  Elsewhere the arrays are put there.

    Raises ArgumentError for a value that is not a sharding, ShardingError for a spec of more
    dimensions than the array has and, outside of a traced function, for arrays that the sharding
    cannot split, or that were placed explicitly on other devices.

    >>> rows = NamedSharding(make_mesh((2,), ("data",), AxisType.Auto), P("data"))
    >>> jit(lambda x: with_sharding_constraint(2 * x, rows))(array([1, 2]))
    Array([2, 4], dtype=int32)
    """
    leaves, treedef = tree.flatten(x)
    check_arrays("with_sharding_constraint", *leaves)
    full = treedef.unflatten(range(len(leaves)))
    where = tree.prefix_leaves("with_sharding_constraint", "shardings", shardings, full)
    check_keys("with_sharding_constraint", "shardings", x, shardings)
    constrained_leaves = [
        _constrained(leaf, sharding) for leaf, sharding in zip(leaves, where, strict=True)
    ]
    constrained: _T = treedef.unflatten(constrained_leaves)
    return constrained


def _constrained(x: Any, sharding: Any) -> Any:
    if isinstance(sharding, Format) and not trace.at_base():
        x = _constrained(x, sharding.sharding)
        is_chosen = isinstance(sharding.layout, Layout)
        return layout_constraint_p.bind(x, layout=sharding.layout) if is_chosen else x
    if sharding is None and context_mesh() is not None:
        sharding = PartitionSpec()
    if sharding is None:
        raise ArgumentError(
            "One of with_sharding_constraint arguments got sharding None which is not allowed. "
            "Please only pass `olympus.sharding.Sharding` instances",
            hint="leave the array out",
        )
    check_no_layout(sharding)
    sharding = as_sharding(sharding, "the sharding of with_sharding_constraint")
    sharding = entered("with_sharding_constraint", sharding)
    if not isinstance(sharding, Sharding):
        raise ArgumentError(
            "shardings leaf specifications are expected to be PartitionSpec instances or None, but "
            f"got {sharding!s:.80}: with_sharding_constraint needs a sharding",
            hint="pass NamedSharding(mesh, spec)",
        )
    context = None if trace.manual_axes() else context_mesh()
    is_explicit = context is not None and context.are_all_axes_explicit
    if is_explicit and isinstance(sharding, NamedSharding):
        sharding = sharding.update(mesh=context)
    if isinstance(sharding, NamedSharding) and sharding.mesh.has_explicit_axes:
        check_open(sharding)
        return _asserted(x, sharding)
    if trace.at_base() and isinstance(sharding, NamedSharding):
        sharding = sharding.update(mesh=_devices_mesh(x, sharding.mesh))
    if trace.at_base():
        own = committed_sharding(x)
        if own is not None:
            what = (
                f"argument x of with_sharding_constraint with shape {get_aval(x).long_name()} and"
            )
            requested = Claim("explicit output sharding", sharding)
            check_same_devices("with_sharding_constraint", Claim(what, own), requested)
        if not _is_open(sharding):
            return put_on(x, sharding)
    refuse_manual(sharding, {axis[0] for axis in trace.manual_axes()})
    return sharding_constraint_p.bind(x, sharding=sharding)


def _devices_mesh(x: Any, mesh: AnyMesh) -> AnyMesh:
    """Return the mesh of an array in the place of an AbstractMesh without devices.

    Raises ShardingError if the array is on no mesh, or on one of another shape.
    """
    if isinstance(mesh, Mesh):
        return mesh
    context, own = context_mesh(), getattr(x, "sharding", None)
    if own is None and isinstance(context, Mesh):
        return context
    shape = get_aval(x).long_name()
    if own is None:
        raise ShardingError(
            "Target sharding contains a `jax.sharding.AbstractMesh` which requires the input "
            f"passed should be a `jax.Array`. Got {type(x)} with shape {shape}"
        )
    if not isinstance(own, NamedSharding):
        raise ShardingError(
            "The sharding on the input must be a `NamedSharding` since the target sharding has an "
            f"`AbstractMesh` in it. Got sharding type {type(own)} for shape {shape}"
        )
    if own.mesh.shape_tuple != mesh.shape_tuple:
        raise ShardingError(
            f"Mesh shape of the input {own.mesh.shape_tuple} does not match the mesh shape of the "
            f"target sharding {mesh.shape_tuple} for shape {shape}"
        )
    return own.mesh


def _asserted(x: Any, sharding: NamedSharding) -> Any:
    """Return an array whose type has the sharding; raise ShardingAssertionError otherwise.

    Raises ShardingError if only some axes of the mesh are explicit, and `sharding` names one.
    """
    aval, spec = get_aval(x), sharding.spec
    explicit = sharding.mesh.explicit_axes
    if not sharding.mesh.are_all_axes_explicit:
        if any(n in explicit for d in range(len(spec)) for n in spec.axes(d)):
            raise ShardingError(
                "The spec of NamedSharding passed to with_sharding_constraint can only refer to "
                f"Auto axes of the mesh. Got spec={spec} and mesh={sharding.mesh}. You probably "
                "meant to use `reshard` API?",
                hint="use olympus.sharding.reshard",
            )
        return sharding_constraint_p.bind(x, sharding=sharding)
    own = spec_of(aval)
    entries = (*spec.partitions, *[None] * (aval.ndim - len(spec)))
    if entries != own:
        raise ShardingAssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type "
            f"`Explicit`. The array sharding: {aval.sharding.spec} did not match the sharding "
            f"provided: {spec._normalized_spec_for_aval(aval.ndim)}. Please use "
            "`jax.sharding.reshard` to shard your input to the sharding you want. The array is "
            f"{aval.long_name()}",
            hint="use olympus.sharding.reshard",
        )
    return x


def _is_open(sharding: Sharding) -> bool:
    """Return True if the compiler chooses a part of the sharding."""
    return isinstance(sharding, NamedSharding) and (
        PartitionSpec.UNCONSTRAINED in sharding.spec.partitions
    )
