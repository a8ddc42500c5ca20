"""Meshes and shardings of OLYMPUS as those of JAX, and those of a function of JAX."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from olympus_core.base.errors import ShardingError
from olympus_core.interop.jax_modules import jax
from olympus_core.placement.mesh import AbstractMesh, AnyMesh
from olympus_core.placement.sharding import NamedSharding, PartitionSpec, Sharding


def jax_mesh(mesh: AnyMesh) -> Any:
    """Return the abstract mesh of JAX with the axes of a mesh, which the compiler partitions."""
    auto = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
    return jax.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names, axis_types=auto)


def jax_sharding(sharding: Sharding) -> Any:
    """Return a sharding over a mesh as one of JAX, over an abstract mesh.

    Raises ShardingError for a sharding without a mesh.
    """
    if not isinstance(sharding, NamedSharding):
        raise ShardingError(f"a function of JAX takes shardings over a mesh, and got {sharding!r}")
    unconstrained = jax.sharding.PartitionSpec.UNCONSTRAINED
    entries = [unconstrained if x is PartitionSpec.UNCONSTRAINED else x for x in sharding.spec]
    spec = jax.sharding.PartitionSpec(*entries)
    return jax.sharding.NamedSharding(jax_mesh(sharding.mesh), spec)


def context_mesh(mesh: AbstractMesh | None) -> contextlib.AbstractContextManager[Any]:
    """Return the context in which JAX completes a PartitionSpec alone with a mesh."""
    if mesh is None:
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(jax_mesh(mesh))
    return context


class OwnShardings(NamedTuple):
    """The shardings of the arguments of a `jax.jit`, in flattened order, and its other options."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]


def own_shardings(traced: Any) -> OwnShardings | None:
    """Return the shardings of the `jax.jit` that is the whole of a traced function, if it has any.

    JAX makes shardings of a `jax.jit` in another one constraints; with these, they are those of
    the program's arguments and results.
    """
    jaxpr = traced.jaxpr.jaxpr
    if len(jaxpr.eqns) != 1 or "in_shardings" not in jaxpr.eqns[0].params:
        return None
    eqn = jaxpr.eqns[0]
    ins, outs = (
        {id(x): _named(s) for x, s in zip(atoms, eqn.params[key], strict=True)}
        for atoms, key in ((eqn.invars, "in_shardings"), (eqn.outvars, "out_shardings"))
    )
    arguments = tuple([ins.get(id(x)) for x in jaxpr.invars])
    results = [outs.get(id(x)) for x in jaxpr.outvars]
    if not any(x is not None for x in (*arguments, *results)):
        return None
    structure = jax.tree.structure(traced.out_info)
    return OwnShardings(arguments, {"out_shardings": jax.tree.unflatten(structure, results)})


def _named(sharding: Any) -> Any:
    """Return a sharding over a mesh; None for another, and for an unspecified one."""
    return sharding if isinstance(sharding, jax.sharding.NamedSharding) else None


def placed_types(
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    statics: Mapping[str, Any],
    shardings: Sequence[Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments of a function whose arrays have these shardings; None leaves one as it is.

    `statics` are the options of `jax.jit`; static arguments have no arrays. The arguments are
    returned as they are if the shardings are not one for each array.
    """
    numbers, names = (_several(statics[key]) for key in ("static_argnums", "static_argnames"))
    places = [i for i in range(len(args)) if i not in numbers and i - len(args) not in numbers]
    own = {name: value for name, value in kwargs.items() if name not in names}
    leaves, structure = jax.tree.flatten(([args[i] for i in places], own))
    if len(leaves) != len(shardings):
        return tuple(args), dict(kwargs)
    placed = [x if s is None else _placed(x, s) for x, s in zip(leaves, shardings, strict=True)]
    dynamic, keywords = jax.tree.unflatten(structure, placed)
    full = list(args)
    for i, value in zip(places, dynamic, strict=True):
        full[i] = value
    return tuple(full), {**kwargs, **keywords}


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int | str) else tuple(value)


def _placed(x: Any, sharding: Any) -> Any:
    x = jax.typeof(x) if not hasattr(x, "dtype") else x
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
