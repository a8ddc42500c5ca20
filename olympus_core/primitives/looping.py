"""Loops in rules that are algorithms on primitives, which `LoweringContext.apply` runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core import trace
from olympus_core.primitive import op

__all__ = ["repeat", "repeat_while"]


def repeat_while(
    condition: Callable[..., Any], body: Callable[..., Sequence[Any]], *carry: Any
) -> list[Any]:
    """`while condition(*carry): carry = body(*carry)`; the last carry."""
    emitting: Any = trace.current()  # the one that LoweringContext.apply makes current
    return list(emitting.while_loop(condition, body, carry))


def repeat(count: int, body: Callable[..., Sequence[Any]], *carry: Any) -> list[Any]:
    """`for i in range(count): carry = body(i, *carry)`, with i an int32; the last carry."""

    def step(i: Any, *rest: Any) -> Sequence[Any]:
        return op.add(i, np.int32(1)), *body(i, *rest)

    if not count:
        return list(carry)
    return repeat_while(lambda i, *_: op.lt(i, np.int32(count)), step, np.int32(0), *carry)[1:]
