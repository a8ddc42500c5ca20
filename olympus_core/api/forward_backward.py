"""`fwd_and_bwd`: the two passes of a reverse derivative as functions; and `named_call`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from olympus_core.api.jit import jit
from olympus_core.base.source import function_name, name_scope, wraps
from olympus_core.transforms.autodiff import vjp
from olympus_core.transforms.flat import canonical_argnums, check_callable, pick, refill

_P = ParamSpec("_P")
_R = TypeVar("_R")


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return (the forward pass, the backward pass) of the derivative of `fun` in `argnums`.

    The forward pass returns (result, residuals [, aux]); the backward pass takes the residuals and
    a cotangent of the result, and returns that of the arguments. They are compiled, each once,
    unless `jitted` is False. Raises TransformError for a missing argument.

    >>> fwd, bwd = fwd_and_bwd(lambda x: x * x, argnums=0)
    >>> y, residuals = fwd(3.0)
    >>> bwd(residuals, 1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    check_callable("fwd_and_bwd", fun)
    name = function_name(fun)
    numbers = canonical_argnums(f"argnums of the derivative of '{name}'", argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        def partial(*xs: Any) -> Any:
            return fun(*refill(args, numbers, xs), **kwargs)

        return vjp(partial, *pick(name, args, numbers), has_aux=has_aux)

    def bwd(residuals: Callable[[Any], tuple[Any, ...]], cotangent: Any) -> Any:
        cotangents = residuals(cotangent)
        return cotangents[0] if isinstance(numbers, int) else cotangents

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def named_call(fun: Callable[_P, _R], *, name: str | None = None) -> Callable[_P, _R]:
    """Return `fun`, whose operations carry `name`, or its own name, in their StableHLO location.

    >>> named = named_call(lambda x: numpy.sin(x), name="encoder")
    >>> "encoder/sin" in jit(named).lower(1.0).as_text(debug_info=True)
    True
    """
    scope = function_name(fun) if name is None else name

    @wraps(fun)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with name_scope(scope):
            return fun(*args, **kwargs)

    return call
