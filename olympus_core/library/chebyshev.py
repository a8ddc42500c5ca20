"""Chebyshev series, which special functions are expanded in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import get_aval


def series(coefficients: Sequence[float], t: Any) -> Any:
    """Return a Chebyshev series at `t` by Clenshaw's recurrence, as long as the dtype needs."""
    least = 2e-18 if get_aval(t).dtype.itemsize >= 8 else 2e-9
    greatest = max(map(abs, coefficients))
    count = max(i for i, c in enumerate(coefficients) if abs(c) >= least * greatest) + 1
    after: Any = 0.0
    value: Any = 0.0
    for c in coefficients[count - 1 : 0 : -1]:
        value, after = 2 * t * value - after + c, value
    return t * value - after + coefficients[0]
