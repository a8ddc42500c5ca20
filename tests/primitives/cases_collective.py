"""Rows of the collectives: each runs under a `vmap` that names its axis "i".

The leading axis of each operand is the mapped one, of size 4.
"""

from __future__ import annotations

from tests.primitives.case import Case, arg

SIZE = 4

AXIS_CASES: list[Case] = [
    Case("psum", lambda lax, x: lax.psum(x, "i"), (arg(4, 3),), ("float32", "int32", "complex64")),
    Case("psum", lambda lax, x: lax.psum(x, "i"), (arg(4),), label="scalar"),
    Case("pmax", lambda lax, x: lax.pmax(x, "i"), (arg(4, 3),), ("float32", "int32", "bool")),
    Case("pmin", lambda lax, x: lax.pmin(x, "i"), (arg(4, 3),), ("float32", "uint8")),
    Case("all_gather", lambda lax, x: lax.all_gather(x, "i"), (arg(4, 3),), ("float32", "bool")),
    Case(
        "all_gather", lambda lax, x: lax.all_gather(x, "i", axis=1), (arg(4, 2, 3),), label="axis"
    ),
    Case(
        "all_gather",
        lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True),
        (arg(4, 2, 3),),
        label="tiled",
    ),
    Case("reduce_scatter", lambda lax, x: lax.psum_scatter(x, "i"), (arg(4, 4, 2),)),
    Case(
        "reduce_scatter",
        lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
        (arg(4, 2, 8),),
        label="tiled",
    ),
    Case(
        "ppermute",
        lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
        (arg(4, 3),),
        ("float32", "int32"),
    ),
    Case(
        "ppermute",
        lambda lax, x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
        (arg(4, 2, 3),),
        label="shuffle",
    ),
    Case("all_to_all", lambda lax, x: lax.all_to_all(x, "i", 0, 1), (arg(4, 4, 2),)),
    Case("all_to_all", lambda lax, x: lax.all_to_all(x, "i", 1, 0), (arg(4, 3, 4),), label="front"),
    Case("all_to_all", lambda lax, x: lax.pswapaxes(x, "i", 1), (arg(4, 3, 4),), label="swap"),
    Case(
        "all_to_all",
        lambda lax, x: lax.all_to_all(x, "i", 1, 0, tiled=True),
        (arg(4, 3, 8),),
        label="tiled",
    ),
    Case(
        "axis_index",
        lambda lax, x: lax.mul(x, lax.convert_element_type(lax.axis_index("i"), x.dtype)),
        (arg(4),),
    ),
]
