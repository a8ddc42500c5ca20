"""Functions of JAX as traced functions of OLYMPUS: JAX's modules of them are raised."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.base.avals import ShapeDtypeStruct
from olympus_core.execution.compilation import Repeats
from olympus_core.interop.jax_modules import jax
from olympus_core.interop.stablehlo_files import read
from olympus_core.stages.stages import Lowered, Traced


class JaxTraced(Traced):
    """A function of JAX, traced by JAX for given arguments.

    Its Olympuspr is raised from JAX's module for the CPU; `lower` raises JAX's module for its
    target, because JAX lowers some operations to calls of a platform's library.
    """

    def __init__(
        self,
        traced: Any,
        name: str,
        names: Sequence[str],
        trees: tuple[tree.PyTreeDef, tree.PyTreeDef],
        as_is: bool,
    ) -> None:
        self._jax = traced
        self._as_is = as_is
        self._name, self._names, self._trees = name, names, trees
        self._by_platform: dict[str, Traced] = {}
        first = self._on("cpu")
        self.signature = first.signature

    @property
    def olympuspr(self) -> Any:  # type: ignore[override]
        """The program; raise UsageError if it is compiled as JAX lowers it."""
        return self._on("cpu").olympuspr

    def _on(self, platform: str) -> Traced:
        found = self._by_platform.get(platform)
        if found is None:
            lowered = self._jax.lower(lowering_platforms=(platform,))
            donated = [i for i, x in enumerate(jax.tree.leaves(lowered.args_info)) if x.donated]
            content = io.BytesIO()
            lowered.compiler_ir().operation.write_bytecode(content)
            found = read(content.getvalue(), name=self._name, as_is=self._as_is)
            s = found.signature
            in_tree, out_tree = self._trees
            found.signature = s._replace(
                name=self._name,
                in_tree=in_tree,
                out_tree=out_tree,
                arg_names=tuple(self._names),
                donated=s.donated.union(donated),
            )
            self._by_platform[platform] = found
        return found

    def lower(
        self,
        target: xla.Target | None = None,
        *,
        lowering_platforms: str | Sequence[str] | None = None,
        repeats: Repeats = "auto",
    ) -> Lowered:
        """Lower to StableHLO for a target, or for the first of `lowering_platforms`."""
        if target is None and lowering_platforms:
            names = (
                [lowering_platforms] if isinstance(lowering_platforms, str) else lowering_platforms
            )
            target = xla.target_on(names[0])
        target = target or xla.Target("cpu")
        traced = self._on(xla.platform_of(target))
        if traced.signature.donated != self.signature.donated:  # `with_donations` added some
            traced = traced.with_donations(sorted(self.signature.donated))
        return traced.lower(target, repeats=repeats)


def trace(
    fun: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    as_is: bool = False,
) -> Traced:
    """Trace a function of JAX for arguments of given types; return a stage of OLYMPUS.

    The leaves of the arguments are arrays or `ShapeDtypeStruct`s, and statics are values. `fun` may
    be the result of `jax.jit`. Containers that JAX knows and OLYMPUS does not, such as the classes
    of Flax and Equinox, are flattened by JAX; the traced function then takes flat arrays.  With
    `as_is`, the program is compiled as JAX lowers it.

    Raises the errors of `fun`, and UsageError if the program is for several devices.

    >>> x = olympus.ShapeDtypeStruct((3,), "float32")
    >>> olympus.interop.jax.trace(jax.numpy.sin, [x]).lower().compile()
    """
    args, kwargs = jax.tree.map(_struct, (tuple(args), dict(kwargs or {})))
    statics = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    donations = {"donate_argnums": donate_argnums, "donate_argnames": donate_argnames}
    # arguments that the program does not use are arguments too
    traced = jax.jit(fun, keep_unused=True, **statics, **donations).trace(*args, **kwargs)
    paths, in_tree = jax.tree_util.tree_flatten_with_path(traced.in_avals)
    name = str(getattr(fun, "__name__", None) or type(fun).__name__)
    names = _names(fun, [path for path, _ in paths])
    count = len(jax.tree.leaves(traced.out_info))
    out = jax.tree.unflatten(jax.tree.structure(traced.out_info), range(count))
    own = jax.tree.unflatten(in_tree, range(len(paths)))
    flat_in: Any = (tuple(range(len(paths))), {})
    flat_out = tuple(range(count))
    trees = _tree(own, flat_in, len(paths)), _tree(out, flat_out, count)
    return JaxTraced(traced, name, names, trees, as_is)


def result_types(fun: Callable[..., Any]) -> Any:
    """Return the types of the results of a function of JAX without arguments, in their tree.

    The leaves are `ShapeDtypeStruct`s of OLYMPUS; typed keys are the arrays of their bits.

    >>> olympus.interop.jax.result_types(lambda: jax.numpy.zeros(3))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return jax.tree.map(lambda x: ShapeDtypeStruct(x.shape, np.dtype(x.dtype)), jax.eval_shape(fun))


def _struct(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, ShapeDtypeStruct) else x


def _tree(container: Any, flat: Any, count: int) -> tree.PyTreeDef:
    """Return the structure of a container of `count` leaves, in order; that of `flat` otherwise."""
    leaves, structure = tree.flatten(container)
    return structure if leaves == list(range(count)) else tree.structure(flat)


def _names(fun: Callable[..., Any], paths: Sequence[Any]) -> list[str]:
    """Return the names of arguments from their paths in (args, kwargs), such as params['w']."""
    import inspect

    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    names = []
    for path in paths:
        kind, place, *rest = path
        if kind.idx == 1:
            first = place.key
        else:
            first = parameters[place.idx] if place.idx < len(parameters) else f"arg{place.idx}"
        names.append(f"{first}{jax.tree_util.keystr(tuple(rest))}")
    return names
