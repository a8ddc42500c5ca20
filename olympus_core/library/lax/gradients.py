"""Values through which derivatives do not propagate."""

from __future__ import annotations

from typing import TypeVar

from olympus_core.base import tree
from olympus_core.ir.primitive import op

_T = TypeVar("_T")


def stop_gradient(x: _T) -> _T:
    """Return `x` (an array, or a tree of arrays) as a value with zero derivative.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    stopped: _T = tree.map(op.stop_gradient, x)
    return stopped
