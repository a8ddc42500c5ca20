"""Convert OLYMPUS meshes and shardings to JAX, and read the options of a user's `jax.jit`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from olympus_core.base.errors import ShardingError
from olympus_core.interop.jax_modules import jax
from olympus_core.placement.mesh import AbstractMesh, AnyMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)


def jax_mesh(mesh: AnyMesh) -> Any:
    """Return a JAX abstract mesh with the axes of `mesh`, all of type Auto."""
    auto = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
    return jax.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names, axis_types=auto)


def jax_sharding(sharding: Sharding) -> Any:
    """Convert a NamedSharding to a JAX NamedSharding over an abstract mesh.

    Raises ShardingError for another type of sharding.
    """
    if not isinstance(sharding, NamedSharding):
        raise ShardingError(f"a function of JAX takes shardings over a mesh, and got {sharding!r}")
    unconstrained = jax.sharding.PartitionSpec.UNCONSTRAINED
    entries = [
        unconstrained if x is PartitionSpec.UNCONSTRAINED else x for x in sharding.spec.partitions
    ]
    spec = jax.sharding.PartitionSpec(*entries)
    return jax.sharding.NamedSharding(jax_mesh(sharding.mesh), spec)


def mesh_context(mesh: AbstractMesh | None) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which JAX uses `mesh` for a PartitionSpec without a mesh.

    The context has no effect if `mesh` is None.
    """
    if mesh is None:
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[Any] = jax.sharding.use_abstract_mesh(jax_mesh(mesh))
    return context


class UserJitOptions(NamedTuple):
    """The options of the user's own `jax.jit`.

    `arguments` has a sharding or None for each array of the arguments, in flattened order, and
    `donated` has True for each donated array. `results` has a sharding or None for each result, in
    the tree of the results.
    """

    arguments: tuple[Any, ...]
    donated: tuple[bool, ...]
    results: Any

    @property
    def has_shardings(self) -> bool:
        """True if an argument or a result has a sharding."""
        return any(x is not None for x in (*self.arguments, *jax.tree.leaves(self.results)))


def user_jit_options(traced: Any) -> UserJitOptions | None:
    """Return the options of the `jax.jit` that a traced function consists of; otherwise None.

    JAX ignores the donations of a nested `jax.jit`, and converts its shardings to constraints. The
    returned options are for the outer `jax.jit`.
    """
    jaxpr = traced.jaxpr.jaxpr
    if len(jaxpr.eqns) != 1 or "in_shardings" not in jaxpr.eqns[0].params:
        return None
    eqn = jaxpr.eqns[0]
    ins, outs = (
        {id(x): _named_sharding(s) for x, s in zip(atoms, eqn.params[key], strict=True)}
        for atoms, key in ((eqn.invars, "in_shardings"), (eqn.outvars, "out_shardings"))
    )
    flags = zip(eqn.invars, eqn.params["donated_invars"], strict=True)
    donated = {id(x) for x, is_donated in flags if is_donated}
    arguments = tuple([ins.get(id(x)) for x in jaxpr.invars])
    results = [outs.get(id(x)) for x in jaxpr.outvars]
    structure = jax.tree.structure(traced.out_info)
    return UserJitOptions(
        arguments,
        tuple([id(x) in donated for x in jaxpr.invars]),
        jax.tree.unflatten(structure, results),
    )


def _named_sharding(sharding: Any) -> Any:
    """Return `sharding` if it is a JAX NamedSharding, otherwise None."""
    return sharding if isinstance(sharding, jax.sharding.NamedSharding) else None


class JaxArguments(NamedTuple):
    """The arguments of a JAX function.

    `statics` has the options `static_argnums` and `static_argnames` of `jax.jit`.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    statics: Mapping[str, Any]

    def with_shardings(self, shardings: Sequence[Any]) -> JaxArguments:
        """Return the arguments with a sharding set on each array; None leaves an array unchanged.

        All arguments are unchanged if the number of shardings is not the number of arrays.
        """
        parts = self._parts(shardings)
        if parts is None:
            return self
        leaves, structure = jax.tree.flatten(self._dynamic())
        sharded = [
            x if s is None else _with_sharding(x, s) for x, s in zip(leaves, shardings, strict=True)
        ]
        dynamic, keywords = jax.tree.unflatten(structure, sharded)
        full = list(self.args)
        for i, value in dynamic.items():
            full[i] = value
        return JaxArguments(tuple(full), {**self.kwargs, **keywords}, self.statics)

    def donations(self, donated: Sequence[bool]) -> dict[str, Any]:
        """Return the options of `jax.jit` that donate each argument with a donated array."""
        parts = self._parts(donated)
        if parts is None:
            return {}
        positions, names = (
            tuple([key for key, part in group.items() if any(jax.tree.leaves(part))])
            for group in parts
        )
        return {"donate_argnums": positions, "donate_argnames": names}

    def _dynamic(self) -> tuple[dict[int, Any], dict[str, Any]]:
        """Return the arguments that are not static, by position and by name."""
        numbers, names = (
            option_values(self.statics[k]) for k in ("static_argnums", "static_argnames")
        )
        count = len(self.args)
        static = {i % count for i in numbers} if count else set()
        return (
            {i: x for i, x in enumerate(self.args) if i not in static},
            {name: value for name, value in self.kwargs.items() if name not in names},
        )

    def _parts(self, values: Sequence[Any]) -> tuple[dict[int, Any], dict[str, Any]] | None:
        """Return `values` in the trees of the arguments that are not static.

        None is returned if the number of values is not the number of arrays.
        """
        structure = jax.tree.structure(self._dynamic())
        if structure.num_leaves != len(values):
            return None
        parts: tuple[dict[int, Any], dict[str, Any]] = jax.tree.unflatten(structure, values)
        return parts


def option_values(value: Any) -> Sequence[Any]:
    """Return the value of an option of `jax.jit`: None, one value or several, as a sequence."""
    if value is None:
        return ()
    return (value,) if isinstance(value, int | str) else tuple(value)


def _with_sharding(x: Any, sharding: Any) -> Any:
    """Return the shape and dtype of an array with a sharding."""
    x = jax.typeof(x) if not hasattr(x, "dtype") else x
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
