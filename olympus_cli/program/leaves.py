"""The arrays in a program's arguments and results, each under the name a user knows it by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus import tree as trees
from olympus import tree_util
from olympus.stages import ArgInfo

__all__ = ["RESULT", "Leaf", "argument_leaves", "result_leaves"]

RESULT = "result"  # what a program's result is called


@dataclass(frozen=True)
class Leaf:
    """One array; `name` is an argument's name and path, such as `params[0]['w']`."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    donated: bool = False

    @property
    def bytes(self) -> int:
        """The array's size in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def argument_leaves(
    args_info: tuple[Sequence[Any], Mapping[str, Any]], names: Sequence[str]
) -> list[Leaf]:
    """The leaves of `args_info`, in the order in which flattening it gives them.

    `names` are those of the positional arguments, one for each.
    """
    args, kwargs = args_info
    leaves: list[Leaf] = []
    for name, tree in zip(names, args, strict=True):
        leaves += _leaves(tree, name)
    for name in sorted(kwargs):
        leaves += _leaves(kwargs[name], name)
    return leaves


def result_leaves(out_info: Any) -> list[Leaf]:
    """The leaves of a result's tree; a result that is one array is called `result`."""
    return _leaves(out_info, RESULT)


def _leaves(tree: Any, name: str) -> list[Leaf]:
    paths, _ = trees.flatten_with_path(tree)
    return [
        Leaf(
            name + tree_util.keystr(path),
            np.dtype(info.dtype),
            tuple(info.shape),
            isinstance(info, ArgInfo) and info.donated,
        )
        for path, info in paths
    ]
