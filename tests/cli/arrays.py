"""Arguments and results of programs, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus.stages import ArgInfo


def arg_info(name: str, dtype: Any, shape: tuple[int, ...] = (), donated: bool = False) -> ArgInfo:
    """Return an argument or a result; `dtype` may be the name of a dtype."""
    return ArgInfo(shape, np.dtype(dtype), donated, name)
