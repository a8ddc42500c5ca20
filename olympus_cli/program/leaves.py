"""The arrays in a program's arguments and results, each under the name a user knows it by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

import olympus
from olympus import tree

__all__ = ["RESULT", "Leaf", "argument_leaves", "result_leaves"]

RESULT = "result"  # what a program's result is called


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
        """The leaf of a NumPy dtype, or of the name of one.

        >>> Leaf.of("x", "int32", (3,)).bytes
        12
        """
        kind = np.dtype(dtype)
        return Leaf(name, kind.name, tuple(shape), math.prod(shape) * kind.itemsize, donated)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype as NumPy has it."""
        return np.dtype(self.dtype)


def argument_leaves(stage: olympus.stages.Traced | olympus.stages.Lowered) -> tuple[Leaf, ...]:
    """What the program takes, in the order of its flattened arguments."""
    infos = zip(stage.arg_names, tree.leaves(stage.args_info), strict=True)
    return tuple(Leaf.of(name, info.dtype, info.shape, info.donated) for name, info in infos)


def result_leaves(stage: olympus.stages.Traced | olympus.stages.Lowered) -> tuple[Leaf, ...]:
    """What it gives, in the same way; a result that is one array is called `result`."""
    infos = zip(stage.result_names, tree.leaves(stage.out_info), strict=True)
    return tuple(Leaf.of(name, info.dtype, info.shape) for name, info in infos)
