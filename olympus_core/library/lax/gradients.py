"""Values that derivatives stop at."""

from __future__ import annotations

from typing import Any

from olympus_core import tree
from olympus_core.primitive import op

__all__ = ["stop_gradient"]


def stop_gradient(x: Any) -> Any:
    """`x` (an array, or a tree of arrays), as a value that no derivative goes through.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return tree.map(op.stop_gradient, x)
