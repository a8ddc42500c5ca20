"""The table of ported programs, and the data that several of them learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Put a program in the table."""
    PROGRAMS[fun.__name__] = fun
    return fun


RNG = np.random.default_rng(0)


XS = RNG.normal(size=(16, 4)).astype(np.float32)


YS = (XS @ np.array([1.0, -2.0, 0.5, 3.0], np.float32) + 0.1).astype(np.float32)
