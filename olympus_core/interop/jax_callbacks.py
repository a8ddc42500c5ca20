"""The Python functions that a lowered program of JAX calls, with the names that users gave them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from olympus_core.base.source import function_name, function_path
from olympus_core.primitives.host_function import FlatFunction

#: the variables of JAX's functions, and the attribute, that have the function which they call
_INNER = ("callback_without_token", "callback")
_ATTRIBUTE = "callback_func"


def host_functions(lowered: Any) -> tuple[FlatFunction, ...]:
    """Return the functions that a `jax.stages.Lowered` calls, in the order of their indices.

    >>> [f.path for f in host_functions(jax.jit(f).lower(x))]
    ['signals:sinc', "debug.print('x is {}')"]
    """
    return tuple(map(_named, lowered._lowering.compile_args["host_callbacks"]))


def _named(function: Callable[..., Any]) -> FlatFunction:
    user = _of_user(function)
    if isinstance(user, functools.partial) and _is_of_jax(user.func) and user.args:
        return FlatFunction(function, "debug_print", f"debug.print({user.args[0]!r})")
    return FlatFunction(function, function_name(user), function_path(user))


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
