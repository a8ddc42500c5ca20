"""Rows of the primitives that arrange elements, cut arrays apart and put them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.primitives.case import Arg, Case, arg

MANY = ("float32", "bfloat16", "int32", "bool", "complex64")
X = arg(3, 4, 2)
START = arg(low=-3, high=3, dtype="int32")


def moved(
    primitive: str,
    label: str,
    call: Callable[..., Any],
    *args: Arg,
    dtypes: tuple[str, ...] = MANY,
    differentiable: tuple[int, ...] = (0,),
) -> Case:
    """A row of a primitive that moves elements; by default of one operand, of shape (3, 4, 2)."""
    return Case(primitive, call, args or (X,), dtypes, label, differentiable=differentiable)


CASES: list[Case] = [
    moved("broadcast_in_dim", "scalar", lambda lax, x: lax.broadcast(x, (2, 3)), arg()),
    moved("broadcast_in_dim", "leading", lambda lax, x: lax.broadcast(x, (2,))),
    moved(
        "broadcast_in_dim",
        "expanding",
        lambda lax, x: lax.broadcast_in_dim(x, (5, 3, 4), (1, 2)),
        arg(3, 1),
    ),
    moved("broadcast_in_dim", "new-axes", lambda lax, x: lax.expand_dims(x, (0, -1))),
    moved("broadcast_in_dim", "rank", lambda lax, x: lax.broadcast_to_rank(x, 5)),
    moved("broadcast_in_dim", "full", lambda lax, x: lax.full_like(x, 3), differentiable=()),
    moved("reshape", "", lambda lax, x: lax.reshape(x, (6, 4))),
    moved("reshape", "scalar", lambda lax, x: lax.reshape(x, (1, 1)), arg()),
    moved("reshape", "permuted", lambda lax, x: lax.reshape(x, (8, 3), (2, 1, 0))),
    moved("reshape", "collapse", lambda lax, x: lax.collapse(x, 1, 3)),
    moved("reshape", "empty", lambda lax, x: lax.reshape(x, (3, 0)), arg(0, 2)),
    moved("transpose", "", lambda lax, x: lax.transpose(x, (1, 2, 0))),
    moved("squeeze", "", lambda lax, x: lax.squeeze(x, (0, -1)), arg(1, 3, 1)),
    moved("rev", "", lambda lax, x: lax.rev(x, (0, 2))),
    moved("tile", "", lambda lax, x: lax.tile(x, (2, 1, 3))),
    Case("iota", lambda lax: lax.iota(np.int32, 5), (), label="int"),
    Case("iota", lambda lax: lax.broadcasted_iota(np.float32, (3, 4), 1), (), label="float"),
    Case("iota", lambda lax: lax.broadcasted_iota(np.complex64, (3, 4), 0), (), label="complex"),
    moved("copy", "", lambda lax, x: x.copy()),
    moved("slice", "", lambda lax, x: lax.slice(x, (1, 0, 1), (3, 4, 2))),
    moved("slice", "strided", lambda lax, x: lax.slice(x, (0, 1, 0), (3, 4, 2), (2, 2, 1))),
    moved("slice", "empty", lambda lax, x: lax.slice_in_dim(x, 2, 2, axis=1)),
    moved("slice", "in-dim", lambda lax, x: lax.slice_in_dim(x, -3, None, 2, 1)),
    moved("slice", "index", lambda lax, x: lax.index_in_dim(x, -1, 1, keepdims=False)),
    moved(
        "dynamic_slice",
        "",
        lambda lax, x, i, j: lax.dynamic_slice(x, (i, j, np.int32(0)), (2, 2, 1)),
        *(X, START, START),
    ),
    moved(
        "dynamic_slice",
        "unwrapped",
        lambda lax, x, i: lax.dynamic_slice_in_dim(x, i, 2, 1, allow_negative_indices=False),
        *(X, START),
    ),
    moved(
        "dynamic_slice",
        "index",
        lambda lax, x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False),
        *(X, START),
    ),
    moved(
        "dynamic_update_slice",
        "",
        lambda lax, x, y, i, j: lax.dynamic_update_slice(x, y, (i, j, np.int32(1))),
        *(X, arg(2, 3, 1), START, START),
        differentiable=(0, 1),
    ),
    moved(
        "dynamic_update_slice",
        "index",
        lambda lax, x, y, i: lax.dynamic_update_index_in_dim(x, y, i, 1),
        *(X, arg(3, 2), START),
        differentiable=(0, 1),
    ),
    moved(
        "pad",
        "",
        lambda lax, x, y: lax.pad(x, y, ((1, 2, 0), (0, 1, 2), (0, 0, 1))),
        *(X, arg()),
        differentiable=(0, 1),
    ),
    moved(
        "pad",
        "negative",
        lambda lax, x, y: lax.pad(x, y, ((-1, 0, 0), (2, -3, 1), (-1, 1, 0))),
        *(X, arg()),
        differentiable=(0, 1),
    ),
    moved(
        "concatenate",
        "",
        lambda lax, x, y, z: lax.concatenate([x, y, z], 1),
        *(X, arg(3, 1, 2), arg(3, 0, 2)),
        differentiable=(0, 1, 2),
    ),
    moved(
        "stack",
        "",
        lambda lax, x, y: lax.stack([x, y], axis=1),
        *(X, X),
        differentiable=(0, 1),
    ),
    moved("stack", "one", lambda lax, x: lax.stack([x], axis=-1)),
    moved("split", "", lambda lax, x: lax.split(x, (1, 0, 3), axis=1)),
    moved("unstack", "", lambda lax, x: lax.unstack(x, axis=1)),
]
