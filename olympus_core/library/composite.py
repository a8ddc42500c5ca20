"""Composite functions: library functions of several primitives.

While a program is staged, a composite is only its body, and adds the equations of its body.
Called eagerly, also under a transformation, it is staged and compiled as one program, instead of
primitive by primitive.  The compiler then simplifies it as it does under `jit`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from olympus_core.base.errors import NaNError
from olympus_core.base.source import wraps
from olympus_core.ir import trace
from olympus_core.jit.calling import StagedFunction
from olympus_core.jit.options import JitOptions

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
        @functools.cache  # inspecting a signature is slow, and many are inspected at import
        def staged() -> StagedFunction[..., Any]:
            return StagedFunction(fun, JitOptions.of(fun, static_argnums, static_argnames))

        @wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not trace.is_eager():
                return fun(*args, **kwargs)
            try:
                return staged()(*args, **kwargs)
            except NaNError:  # from a program that may have been staged for another line
                fun(*args, **kwargs)
                raise

        return call  # type: ignore[return-value]

    return wrap
