"""Rows for sort and top_k."""

from __future__ import annotations

from tests.primitives.case import Case, arg

KEYS = ("float32", "bfloat16", "int32", "uint8", "bool", "complex64")

CASES: list[Case] = [
    Case("sort", lambda lax, x: lax.sort(x), (arg(3, 17),), KEYS, differentiable=(0,)),
    Case("sort", lambda lax, x: lax.sort(x, dimension=0), (arg(9, 2),), ("float32",), "first-axis"),
    Case(
        "sort",
        lambda lax, x, y: lax.sort((x, y), num_keys=1),
        (arg(2, 9, dtype="int32", low=-2, high=2), arg(2, 9)),
        ("float32",),
        "stable-pair",
    ),
    Case(
        "sort",
        lambda lax, x, y, z: lax.sort((x, y, z), dimension=0, num_keys=2),
        (arg(12, dtype="int32", low=0, high=2), arg(12, low=0, high=2), arg(12)),
        ("float32", "int32"),
        "two-keys",
    ),
    Case(
        "sort",
        lambda lax, x, y: lax.sort_key_val(x, y),
        (arg(8), arg(8, dtype="int32")),
        ("float32",),
        "key-value",
    ),
    Case(
        "top_k",
        lambda lax, x: lax.top_k(x, 3),
        (arg(2, 9, low=-90, high=90),),
        ("float32", "bfloat16", "int32", "uint8"),
        differentiable=(0,),
    ),
    Case("top_k", lambda lax, x: lax.top_k(x, 2, axis=0), (arg(5, 3),), label="first-axis"),
    Case("top_k", lambda lax, x: lax.approx_max_k(x, 4), (arg(3, 6),), label="approx"),
    Case("sort", lambda lax, x: lax.approx_min_k(x, 4), (arg(3, 6),), label="approx-min"),
]
