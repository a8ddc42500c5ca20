"""Steps of transformations on functions of JAX's older interface, `WrappedFun`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.extension.linear_util import WrappedFun, transformation2
from olympus_core.ir.tracer import Array
from olympus_core.library.ode import ravel_first_arg


@transformation2
def _of_vector(f: Callable[..., Any], unravel: Any, y_flat: Any, *args: Any) -> Array:
    return ravel_first_arg(f, unravel)(y_flat, *args)


def ravel_first_arg_(f: WrappedFun, unravel: Callable[[Array], Any]) -> WrappedFun:
    """Return a function with a vector as its first argument, and as its result.

    unravel: the function from the vector to the tree that `f` takes.

    >>> fun = extend.linear_util.wrap_init(lambda y: (y[1], y[0]))
    >>> ravel_first_arg_(fun, lambda v: (v[0], v[1])).call_wrapped(array([1.0, 2.0]))
    Array([2., 1.], dtype=float32)
    """
    return _of_vector(f, unravel)
