"""Cases of programs with symbolic shapes, and the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import olympus.numpy as jnp
from olympus import nn
from olympus_core.base.dimensions.shapes import symbolic_shape

B, C = symbolic_shape("b, c")
F, INT = "float32", "int32"
Spec = tuple[tuple[Any, ...], str]
ROWS: Spec = ((B, 4), F)
BOTH: Spec = ((B, C), F)
VECTOR: Spec = ((B,), F)
INDICES: Spec = ((B,), INT)
WEIGHTS: Spec = ((4, 6), F)
MATRICES: Spec = ((B, 4, 4), F)
IMAGES: Spec = ((B, 3, 9, 9), F)
SQUARE: Spec = ((B, B), F)
ATT: Spec = ((B, C, 2, 4), F)


class Case(NamedTuple):
    """A function and the symbolic types of its arguments."""

    name: str
    function: Callable[..., Any]
    specs: tuple[Spec, ...]


def attn(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(jnp.where(mask, scores, -1e9)), v)


def mlp(x: Any, w1: Any, w2: Any) -> Any:
    return nn.softmax(nn.relu(x @ w1) @ w2)
