"""The Python functions that a lowered program of JAX calls, with the names that users gave them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from olympus_core.base.source import function_name, function_path
from olympus_core.interop.jax_modules import jax
from olympus_core.primitives.host_function import FlatFunction

#: the variables of JAX's functions, and the attribute, that have the function which they call
_INNER = ("callback_without_token", "callback")
_ATTRIBUTE = "callback_func"


def host_functions(lowered: Any, x64: bool) -> tuple[FlatFunction, ...]:
    """Return the functions that a `jax.stages.Lowered` calls, in the order of their indices.

    JAX checks their results: `x64` is True if the program was lowered with 64-bit types.

    >>> [f.path for f in host_functions(jax.jit(f).lower(x), x64=False)]
    ['signals:sinc', "debug.print('x is {}')"]
    """
    return tuple([_named(f, x64) for f in lowered._lowering.compile_args["host_callbacks"]])


def _named(function: Callable[..., Any], x64: bool) -> FlatFunction:
    user = _of_user(function)

    def call(*arrays: Any) -> Any:
        with jax.enable_x64(x64):  # the thread that calls has the mode of the process
            return function(*arrays)

    if isinstance(user, functools.partial) and _is_of_jax(user.func) and user.args:
        return FlatFunction(call, "debug_print", f"debug.print({user.args[0]!r})")
    return FlatFunction(call, function_name(user), function_path(user))


def _of_user(function: Any) -> Any:
    """Return the user's function inside a function of JAX."""
    while _is_of_jax(function):
        inner = getattr(function, _ATTRIBUTE, None)
        if inner is None and inspect.isfunction(function):
            variables = inspect.getclosurevars(function).nonlocals
            inner = next((variables[name] for name in _INNER if name in variables), None)
        if inner is None:
            return function
        function = inner
    return function


def _is_of_jax(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "jax"
