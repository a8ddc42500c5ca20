"""Rows of the primitives that hold programs."""

from __future__ import annotations

from typing import Any

from tests.primitives.case import Case, arg


def _scan(lax: Any, c: Any, xs: Any, **options: Any) -> Any:
    return lax.scan(lambda c, x: (lax.add(lax.mul(c, x), x), lax.sin(c)), c, xs, **options)


def _until_far(lax: Any, x: Any) -> Any:
    """Powers of `x`, as many as the first element takes to add up to 4."""
    step = lax.add(lax.index_in_dim(x, 0, keepdims=False), lax.full_like(x, 0.1, shape=()))
    return lax.while_loop(
        lambda v: lax.lt(v[0], lax.full_like(v[0], 4)),
        lambda v: (lax.add(v[0], step), lax.mul(v[1], x)),
        (lax.full_like(x, 0, shape=()), x),
    )


CASES: list[Case] = [
    *(
        Case(
            "cond",
            lambda lax, x, flag=flag: lax.cond(flag, lax.sin, lax.neg, x),
            (arg(3, 4),),
            ("float32", "complex64"),
            label=str(flag).lower(),
        )
        for flag in (True, False)
    ),
    Case(
        "cond",
        lambda lax, i, x: lax.switch(i, [lax.sin, lax.cos, lambda y: lax.mul(x, y)], x),
        (arg(low=0, high=2, dtype="int32"), arg(3)),
        label="switch",
    ),
    Case(
        "while",
        lambda lax, x: lax.while_loop(
            lambda v: lax.lt(v[0], 5), lambda v: (v[0] + 1, lax.mul(v[1], x)), (0, x)
        ),
        (arg(3),),
    ),
    Case("while", _until_far, (arg(3, low=0.2, high=2.0),), label="as_long_as_values_say"),
    Case("scan", _scan, (arg(4), arg(5, 4)), ("float32", "complex64")),
    Case(
        "scan",
        lambda lax, c, xs: _scan(lax, c, xs, reverse=True),
        (arg(4), arg(5, 4)),
        label="reverse",
    ),
    Case(
        "scan",
        lambda lax, c, xs: _scan(lax, c, xs, unroll=2),
        (arg(4), arg(5, 4)),
        label="unroll",
    ),
    Case(
        "scan",
        lambda lax, c: lax.fori_loop(0, 6, lambda i, v: lax.mul(v, v), c),
        (arg(4, low=-0.9, high=0.9),),
        label="fori",
    ),
]
