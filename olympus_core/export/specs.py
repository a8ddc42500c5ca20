"""Symbolic types for the arguments of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.dimensions.shapes import symbolic_shape
from olympus_core.base.errors import ShapeError


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Return the arguments with a ShapeDtypeStruct of a symbolic shape for each array.

    `args` is a tree of arrays or ShapeDtypeStructs, and `shapes_specs` a tree prefix of it with
    the text of a shape for each, or None for the shape that the array has. In a text, `_` and `...`
    are replaced by sizes of the array.

    Raises ShapeError (a ValueError) for a text that is no shape, and for both a `scope` and
    `constraints`; TransformError for specs that are no tree prefix of the arguments.

    >>> symbolic_args_specs((numpy.ones((3, 4)),), "b, _")
    (ShapeDtypeStruct(shape=(b, 4), dtype=float32),)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ShapeError("Cannot use both `scope` and `constraints`")
    leaves, structure = tree.flatten(args)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    texts = tree.prefix_leaves("symbolic_args_specs", "shapes_specs", shapes_specs, args)
    structs = []
    for leaf, text in zip(leaves, texts, strict=True):
        aval = leaf if isinstance(leaf, ShapeDtypeStruct) else get_aval(leaf)
        shape = symbolic_shape(text, like=aval.shape, scope=scope)
        structs.append(ShapeDtypeStruct(shape, aval.dtype))
    return structure.unflatten(structs)
