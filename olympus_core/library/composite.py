"""Composite functions: library functions of several primitives.

While a program is staged, a composite is just its body, and leaves its equations behind.  Called
eagerly, under a transformation too, it is staged and compiled as one program, rather than primitive
by primitive.  The compiler then simplifies it as it does under `jit`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from olympus_core import trace
from olympus_core.calling import JitOptions, StagedFunction
from olympus_core.errors import NaNError

__all__ = ["composite"]

_F = TypeVar("_F", bound=Callable[..., Any])


def composite(
    *, static_argnums: int | Iterable[int] = (), static_argnames: str | Iterable[str] = ()
) -> Callable[[_F], _F]:
    """Mark a library function as a composite; its static arguments must be hashable.

    >>> @composite(static_argnames=("axis",))
    ... def spread(x, axis=None):
    ...     return max(x, axis) - min(x, axis)
    """

    def wrap(fun: _F) -> _F:
        @functools.cache  # reading a signature takes its time, and there are many at import
        def staged() -> StagedFunction[..., Any]:
            return StagedFunction(fun, JitOptions.of(fun, static_argnums, static_argnames))

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not trace.is_eager():
                return fun(*args, **kwargs)
            try:
                return staged()(*args, **kwargs)
            except NaNError:  # found in a program that may have been staged for another line
                fun(*args, **kwargs)
                raise

        return call  # type: ignore[return-value]

    return wrap
