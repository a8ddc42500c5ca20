"""Convolutions in loops, where they are transposed for the CPU's fast kernels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import olympus as ox
from tests.primitives.case import Case, as_plain
from tests.primitives.cases import CASES

ROWS = [
    pytest.param(c, d, id=f"{c.id}-{d}")
    for c in CASES
    if c.primitive == "conv_general_dilated"
    for d in c.dtypes
]


def looped(case: Case, *xs: Any) -> Any:
    """The case inside of a loop that runs once."""
    shapes = ox.eval_shape(lambda *a: case.call(ox.lax, *a), *xs)
    zeros = ox.tree.map(lambda s: ox.numpy.zeros(s.shape, s.dtype), shapes)
    return ox.lax.fori_loop(0, 1, lambda i, c: case.call(ox.lax, *xs), zeros)


@pytest.mark.parametrize(("case", "dtype"), ROWS)
def test_a_convolution_in_a_loop_has_the_value_of_one_outside(case: Case, dtype: str) -> None:
    xs = case.arrays(dtype)
    want = ox.jit(lambda *a: case.call(ox.lax, *a))(*xs)
    got = ox.jit(lambda *a: looped(case, *a))(*xs)
    tolerance = 2e-2 if dtype in ("bfloat16", "float16") else 1e-5
    for a, b in zip(ox.tree.leaves(got), ox.tree.leaves(want), strict=True):
        np.testing.assert_allclose(
            as_plain(np.asarray(a)), as_plain(np.asarray(b)), rtol=tolerance, atol=tolerance
        )


def test_only_what_the_compiler_would_leave_is_transposed() -> None:
    x, k = (ox.ShapeDtypeStruct(s, "float32") for s in ((2, 4, 8, 8), (4, 4, 3, 3)))

    def convolve(x: Any, k: Any) -> Any:
        return ox.lax.conv(x, k, (1, 1), "SAME")

    def loop(x: Any, k: Any) -> Any:
        return ox.lax.fori_loop(0, 3, lambda i, x: convolve(x, k), x)

    def text(fun: Any, *target: Any) -> str:
        return str(ox.jit(fun).trace(x, k).lower(*target).as_text())

    given, fast = "[b,f,0,1]x[o,i,0,1]->[b,f,0,1]", "[b,0,1,f]x[0,1,i,o]->[b,0,1,f]"

    def layouts(found: str) -> list[str]:
        return [re.sub(r"\s", "", x) for x in re.findall(r"dim_numbers = (.*?\]->\[.*?\])", found)]

    assert layouts(text(convolve)) == [given]
    assert layouts(text(loop)) == [fast]
    assert layouts(text(ox.jit(convolve))) == [fast]
    assert layouts(text(loop, ox.Target("tpu", "v5e"))) == [given]
    assert text(loop).count("stablehlo.transpose") == 3
    both = ox.jit(loop).trace(x, k).lower(lowering_platforms=("cpu", "cuda"))
    assert layouts(both.as_text()) == [given]


@pytest.mark.parametrize(
    ("groups", "dtype", "moved"),
    [(16, "float32", False), (8, "float32", False), (4, "float32", True), (1, "int8", False)],
)
def test_what_the_fast_kernels_are_slow_for_is_left(groups: int, dtype: str, moved: bool) -> None:
    x = ox.ShapeDtypeStruct((2, 32, 8, 8), dtype)
    k = ox.ShapeDtypeStruct((32, 32 // groups, 7, 7), dtype)

    def convolve(x: Any, k: Any) -> Any:
        numbers = ("NCHW", "OIHW", "NCHW")
        return ox.lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
        )

    def loop(x: Any, k: Any) -> Any:
        return ox.lax.fori_loop(0, 3, lambda i, x: convolve(x, k), x)

    text = ox.jit(loop).trace(x, k).lower().as_text()
    assert ("stablehlo.transpose" in text) == moved
