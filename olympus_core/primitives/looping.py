"""Loops in rules that are written on primitives, which `LoweringContext.apply` runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.ir import trace
from olympus_core.ir.primitive import op


def repeat_while(
    condition: Callable[..., Any], body: Callable[..., Sequence[Any]], *carry: Any
) -> list[Any]:
    """Run `while condition(*carry): carry = body(*carry)`; return the last carry."""
    emitting: Any = trace.current_trace()  # LoweringContext.apply makes it current
    return list(emitting.while_loop(condition, body, carry))


def repeat(count: int, body: Callable[..., Sequence[Any]], *carry: Any) -> list[Any]:
    """Run `for i in range(count): carry = body(i, *carry)`, i an int32; return the last carry."""

    def step(i: Any, *rest: Any) -> Sequence[Any]:
        return op.add(i, np.int32(1)), *body(i, *rest)

    if not count:
        return list(carry)
    return repeat_while(lambda i, *_: op.lt(i, np.int32(count)), step, np.int32(0), *carry)[1:]
