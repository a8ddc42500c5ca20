"""The leaves of a value that have data, and the structure of the other parts.

A float0 array, the tangent of an integer, has a shape and no data.  It is not a leaf: its shape
is part of the structure, which creates the array again when it is filled with leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes, tree

#: the types of arrays of keys, whose leaf has one more axis than they have, for the words of a key
key_types: list[type] = []


def word_axes(value: Any, leaves: Sequence[Any]) -> list[int]:
    """Return 1 for each leaf that has the words of an array of keys, and 0 for the others."""
    if not key_types or not any(getattr(x, "dtype", None) == np.uint32 for x in leaves):
        return [0] * len(leaves)
    types = tuple(key_types)
    parts = tree.leaves(value, is_leaf=lambda x: isinstance(x, types))
    return [int(isinstance(x, types)) for x in parts]


def key_dtype_names(value: Any) -> list[str | None]:
    """Return the name of the dtype of keys for each leaf that has their words, None for others."""
    parts = tree.leaves(value, is_leaf=_is_keys)
    return [str(x.dtype) if _is_keys(x) else None for x in parts]


def _is_keys(x: Any) -> bool:
    return x.__class__ is tree.key_class


def flatten_tangents(value: Any, treedef: tree.PyTreeDef) -> tuple[list[Any], tree.PyTreeDef]:
    """Return the leaves of (co)tangents of a tree of structure `treedef`, and their structure.

    The tangent of keys is a float0 array of their shape, whose leaf has an axis for their words.
    """
    leaves, structure = tree.flatten(value)
    if structure == treedef or tree.key_class is None:
        return leaves, structure
    primals, outer = tree.flatten(treedef.unflatten(range(treedef.num_leaves)), is_leaf=_is_keys)
    parts, value_outer = tree.flatten(value, is_leaf=_is_keys)
    pairs = list(zip(primals, parts, strict=False))
    if outer != value_outer or not all(is_float0(x) for keys, x in pairs if _is_keys(keys)):
        return leaves, structure
    expanded = [
        np.zeros((*x.shape, keys.dtype.words), x.dtype) if _is_keys(keys) else x
        for keys, x in pairs
    ]
    return expanded, treedef


class _Float0:
    """A placeholder of a float0 array in a structure."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


def _rebuild(shape: tuple[int, ...], _: Any) -> Any:
    return np.zeros(shape, dtypes.float0)


tree.register_node(_Float0, lambda x: ((), x.shape), _rebuild)


def is_float0(x: Any) -> bool:
    """Return True if a leaf is a float0 array."""
    return isinstance(x, np.ndarray) and x.dtype == dtypes.float0


def flatten_data(value: Any) -> tuple[list[Any], tree.PyTreeDef]:
    """Return the leaves of a tree that have data, and the structure that rebuilds the tree."""
    leaves, treedef = tree.flatten(value)
    if not any(x.dtype == dtypes.float0 for x in leaves if x.__class__ is np.ndarray):
        return leaves, treedef
    return tree.flatten(treedef.unflatten(_Float0(x.shape) if is_float0(x) else x for x in leaves))


def paths(treedef: tree.PyTreeDef) -> list[tree.KeyPath]:
    """Return the path of each leaf of a structure."""
    marked = treedef.unflatten(range(treedef.num_leaves))
    return [path for path, x in tree.flatten_with_path(marked)[0] if not is_float0(x)]


def stack_float0(value: Any, length: int) -> Any:
    """Return the tree with a leading axis for its float0 arrays; the other leaves have one."""

    def stacked(x: Any) -> Any:
        return np.zeros((length, *x.shape), x.dtype) if is_float0(x) else x

    return tree.map(stacked, value)


def unstack_float0(value: Any) -> Any:
    """Return the tree with its float0 arrays without their leading axis."""
    return tree.map(lambda x: np.zeros(x.shape[1:], x.dtype) if is_float0(x) else x, value)
