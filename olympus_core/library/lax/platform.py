"""`lax.platform_dependent`: a program that differs by the platform it is lowered for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from olympus_core.base.errors import ArgumentError
from olympus_core.control.platform import platform_dependent_p
from olympus_core.library.lax.control import stage_branches

_T = TypeVar("_T")
_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def platform_dependent(
    *args: Any,
    default: Callable[..., _T] | None = None,
    **per_platform: Callable[..., _T] | None,
) -> _T:
    """Return the result of the function for the platform that the program is lowered for.

    per_platform: functions by the name of a platform: cpu, cuda, rocm or tpu; the GPU targets of
    OLYMPUS have the platform cuda.  default: the function for all other platforms.  Every function
    is traced; only the one for the target is lowered.

    Raises ArgumentError for another platform or for no function, TransformError if the functions
    return different structures or types, and, when the program is lowered, LoweringError if no
    function is for the platform.

    >>> platform_dependent(3.0, cpu=lambda x: x + 1, default=lambda x: x - 1)
    Array(4., dtype=float32, weak_type=True)
    """
    given = {name: f for name, f in per_platform.items() if f is not None}
    for name in given:
        if name not in _PLATFORMS:
            raise ArgumentError(
                f"platform_dependent has the platforms {', '.join(_PLATFORMS)}, and got {name!r}"
            )
    functions = [*given.values(), *([] if default is None else [default])]
    if not functions:
        raise ArgumentError("platform_dependent needs a function, and got none")
    branches, operands, out_tree = stage_branches("platform_dependent", functions, args)
    platforms = (*((name,) for name in given), *(() if default is None else (None,)))
    unused = np.int32(0)
    outs = platform_dependent_p.bind(unused, *operands, branches=branches, platforms=platforms)
    result: _T = out_tree.unflatten(outs)
    return result
