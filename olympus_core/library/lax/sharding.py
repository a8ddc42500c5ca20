"""`lax.with_sharding_constraint`, which says where a value inside a program is to lie."""

from __future__ import annotations

from typing import Any, TypeVar

from olympus_core import trace, tree
from olympus_core.errors import ArgumentError
from olympus_core.library.promotion import check_arrays
from olympus_core.mesh_context import named
from olympus_core.primitives.sharding import refuse_manual, sharding_constraint_p
from olympus_core.sharded import put_on
from olympus_core.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

__all__ = ["with_sharding_constraint"]

_T = TypeVar("_T")


def with_sharding_constraint(x: _T, shardings: Any) -> _T:
    """A tree of arrays as it is, each with the sharding that `shardings` has for it.

    `shardings` is a sharding, or a PartitionSpec of the mesh of the context, or a tree prefix of
    `x` of these and None.  In a traced function it
    is a constraint on the compiler: a dimension of the spec that is `P.UNCONSTRAINED` is its
    choice, and one that the axes do not divide is whole on each device.  Elsewhere the arrays are
    put there, as by `device_put`.

    Raises ArgumentError for what is not a sharding, ShardingError for a spec of more dimensions
    than the array has, and for arrays at once that it cannot cut.

    >>> jit(lambda x: with_sharding_constraint(2 * x, NamedSharding(mesh, P("data"))))(x)
    """
    leaves, treedef = tree.flatten(x)
    check_arrays("with_sharding_constraint", *leaves)
    full = treedef.unflatten(range(len(leaves)))
    where = tree.prefix_leaves("with_sharding_constraint", "shardings", shardings, full)
    found = [_constrained(leaf, sharding) for leaf, sharding in zip(leaves, where, strict=True)]
    made: _T = treedef.unflatten(found)
    return made


def _constrained(x: Any, sharding: Any) -> Any:
    if sharding is None:
        return x
    sharding = named("with_sharding_constraint", sharding)
    if not isinstance(sharding, Sharding):
        raise ArgumentError(
            f"with_sharding_constraint needs a sharding, and got {sharding!r:.80}",
            hint="pass NamedSharding(mesh, spec)",
        )
    if trace.at_base() and not _is_open(sharding):
        return put_on(x, sharding)
    if isinstance(sharding, SingleDeviceSharding) and not trace.at_base():
        return x
    refuse_manual(sharding, {axis[0] for axis in trace.manual_axes()})
    return sharding_constraint_p.bind(x, sharding=sharding)


def _is_open(sharding: Sharding) -> bool:
    """Whether a part of it is the compiler's choice."""
    return isinstance(sharding, NamedSharding) and (
        PartitionSpec.UNCONSTRAINED in sharding.spec.partitions
    )
