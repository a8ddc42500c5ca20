"""The arrays in a program's arguments and results, with the names that users see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

import olympus
from olympus import tree

RESULT = "result"  # the name of a program's result


@dataclass(frozen=True)
class Leaf:
    """One array; `name` is an argument's name and path, such as `params[0]['w']`.

    A build's report stores it in this form, with its size in memory.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    donated: bool = False

    @staticmethod
    def of(name: str, dtype: Any, shape: tuple[int, ...], donated: bool = False) -> Leaf:
        """Return the leaf of a NumPy dtype, or of the name of one.

        >>> Leaf.of("x", "int32", (3,)).bytes
        12
        """
        kind = np.dtype(dtype)
        return Leaf(name, kind.name, tuple(shape), math.prod(shape) * kind.itemsize, donated)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(self.dtype)


def argument_leaves(stage: olympus.stages.Traced | olympus.stages.Lowered) -> tuple[Leaf, ...]:
    """Return the leaves of the arguments, in flattened order."""
    infos = zip(stage.arg_names, tree.leaves(stage.args_info), strict=True)
    return tuple(Leaf.of(name, info.dtype, info.shape, info.donated) for name, info in infos)


def result_leaves(stage: olympus.stages.Traced | olympus.stages.Lowered) -> tuple[Leaf, ...]:
    """Return the leaves of the results, in flattened order; a single array is named `result`."""
    infos = zip(stage.result_names, tree.leaves(stage.out_info), strict=True)
    return tuple(Leaf.of(name, info.dtype, info.shape) for name, info in infos)
