"""Targets with a function of JAX as entry: JAX traces it, and OLYMPUS compiles its program."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import olympus
from olympus.errors import OlympusError, TraceError
from olympus_cli.faults.advice import calls_jax
from olympus_cli.faults.blame import blaming, defined_at
from olympus_cli.frontends.binding import Static
from olympus_cli.frontends.importing import without_plugin_messages
from olympus_cli.frontends.placing import check_placement, placed, results_placed, target_mesh
from olympus_cli.frontends.python import (
    Traceable,
    entry_call,
    named_leaves,
    plain_value,
    values_of,
)
from olympus_cli.spec.mesh import ShardingSpec
from olympus_cli.spec.model import FromEntry, TargetSpec
from olympus_cli.spec.target_table import fitting_hints

T = TypeVar("T")

#: The packages whose transformations return functions of JAX, such as `flax.nnx.jit`.
_PACKAGES = ("jax", "jaxlib", "flax", "equinox")


def is_jax_function(function: Callable[..., Any]) -> bool:
    """Return True for the result of `jax.jit` or another transformation of JAX or its libraries."""
    while isinstance(function, functools.partial):
        function = function.func
    wrapped = getattr(function, "__wrapped__", function)
    kinds = (type(function), wrapped if callable(wrapped) else function)
    return any(str(x.__module__).partition(".")[0] in _PACKAGES for x in kinds)


def uses_jax(function: Callable[..., Any]) -> bool:
    """Return True if JAX is imported, and the module of a function has a name from JAX."""
    jax = sys.modules.get("jax")
    while isinstance(function, functools.partial):
        function = function.func
    names = getattr(function, "__globals__", {})
    return jax is not None and any(_is_of_jax(value) for value in names.values())


def _is_of_jax(value: object) -> bool:
    name = getattr(value, "__name__", None) if isinstance(value, type(sys)) else None
    owner = name or getattr(value, "__module__", None)
    is_jax = isinstance(owner, str) and owner.partition(".")[0] in _PACKAGES
    return is_jax and (name is None or sys.modules.get(name) is value)


def chosen(source: Traceable) -> Traceable:
    """Return a function as one of JAX if it is one, or if its target sets `frontend = "jax"`."""
    fields = (source.spec, source.function, source.signature, source.binding)
    if source.spec.frontend == "jax" or is_jax_function(source.function):
        return JaxFunction(*fields)
    return EitherFunction(*fields) if uses_jax(source.function) else source


def _platform(spec: TargetSpec) -> str:
    """Return the platform that JAX lowers for first: kernels for TPUs have no form for the CPU."""
    return "tpu" if {backend.backend for backend in spec.backends} == {"tpu"} else "cpu"


@dataclasses.dataclass(frozen=True)
class JaxFunction(Traceable):
    """A function of JAX, and the call of it that its target describes."""

    def trace(self) -> olympus.stages.Traced:
        """Return the traced program, with its statics fixed and its donations marked.

        Raises:
            TraceError: the function raised, or cannot be traced; with its own line.
            UsageError: the target's mesh or `out-sharding` does not fit the program.
        """
        from olympus.interop import jax  # it imports JAX

        args, kwargs = self._given
        statics = [i for i, value in enumerate(args) if isinstance(value, Static)]
        names = self.binding.names
        blamed = blaming(self.name, defined_at(self.function))
        with without_plugin_messages(), fitting_hints(self.spec), blamed:
            traced = jax.trace(
                self.function,
                [plain_value(x) for x in args],
                {name: plain_value(x) for name, x in kwargs.items()},
                static_argnums=tuple(statics),
                static_argnames=tuple(k for k, v in kwargs.items() if isinstance(v, Static)),
                donate_argnums=tuple(i for i, n in enumerate(names) if n in self.spec.donate),
                donate_argnames=tuple(n for n in kwargs if n in self.spec.donate),
                as_is=self.spec.as_is,
                mesh=target_mesh(self.spec),
                platform=_platform(self.spec),
            )
            traced = results_placed(traced, self.spec)
        check_placement(traced, self.spec)
        return traced

    def _is_leaf(self, value: Any) -> bool:
        from olympus.interop import jax

        return jax.map_types(lambda x: x, value) is value

    def _placed(self, types: Any, declared: ShardingSpec | None) -> Any:
        from olympus.interop import jax

        return placed(types, declared, self.spec, jax.map_types)

    def values_from(self, source: FromEntry) -> list[tuple[str, Any]]:
        """Return the arrays of a container of JAX, with their paths in it."""
        from olympus.interop import jax

        with without_plugin_messages():
            return jax.named_leaves(values_of(source, self.spec))

    def shapes_from(self, source: FromEntry) -> Any:
        """Return the shapes of the result of a function, in containers of JAX."""
        from olympus.interop import jax

        call = entry_call(source, self.spec)
        name = str(getattr(call.func, "__qualname__", source.entry))
        with without_plugin_messages(), blaming(name, defined_at(call.func)):
            return jax.result_types(call)


@dataclasses.dataclass(frozen=True)
class EitherFunction(JaxFunction):
    """A function of a module that uses JAX: it is traced by JAX if OLYMPUS cannot trace it."""

    def trace(self) -> olympus.stages.Traced:
        """Return the traced program; raise as `JaxFunction.trace` does."""
        return _first(lambda: Traceable.trace(self), super().trace)

    def _is_leaf(self, value: Any) -> bool:
        return super()._is_leaf(value) and Traceable._is_leaf(self, value)

    def values_from(self, source: FromEntry) -> list[tuple[str, Any]]:
        """Return the arrays of a container of OLYMPUS or of JAX, with their paths in it."""
        leaves = named_leaves(values_of(source, self.spec))
        if all(hasattr(x, "dtype") or isinstance(x, complex | float | int) for _, x in leaves):
            return leaves
        return super().values_from(source)

    def shapes_from(self, source: FromEntry) -> Any:
        """Return the shapes of the result of a function, by OLYMPUS or else by JAX."""
        by_jax = super().shapes_from
        return _first(lambda: Traceable.shapes_from(self, source), lambda: by_jax(source))


def _first(by_olympus: Callable[[], T], by_jax: Callable[[], T]) -> T:
    """Return the result of OLYMPUS, or that of JAX if OLYMPUS fails.

    If both fail, the error is JAX's if the function called JAX, and else the one of OLYMPUS.
    """
    try:
        with without_plugin_messages():
            return by_olympus()
    except OlympusError as error:
        try:
            return by_jax()
        except OlympusError:
            if isinstance(error, TraceError) and calls_jax(error):
                raise
            raise error from None
