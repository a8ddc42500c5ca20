"""Products of arrays of several axes, which the compiler for CPUs gets as those of matrices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import olympus as ox

# (einsum, shapes, factor shapes and summed axes of StableHLO's product; None: it is unchanged)
PRODUCTS = {
    "in order": ("abk,kn->abn", ((2, 3, 4), (4, 5)), None),
    "two in order": ("akl,kln->an", ((2, 3, 4), (3, 4, 5)), None),
    "matrices": ("ka,kn->an", ((4, 3), (4, 5)), None),
    "gradient of weights": ("abk,abn->kn", ((2, 3, 4), (2, 3, 5)), ((6, 4), (6, 5), 0, 0)),
    "of weights for heads": ("abhk,abn->hkn", ((2, 3, 2, 4), (2, 3, 5)), ((6, 8), (6, 5), 0, 0)),
    "of weights from heads": ("abn,abhk->nhk", ((2, 3, 5), (2, 3, 2, 4)), ((6, 5), (6, 8), 0, 0)),
    "turned": ("kab,kn->abn", ((4, 2, 3), (4, 5)), ((4, 6), (4, 5), 0, 0)),
    "turned behind": ("ak,nmk->anm", ((3, 4), (5, 2, 4)), ((3, 4), (10, 4), 1, 1)),
    "summed in two places": ("akb,bkn->an", ((2, 3, 4), (4, 3, 5)), None),
    "apart": ("kal,kln->an", ((3, 2, 4), (3, 4, 5)), None),
    "free apart": ("akb,kn->abn", ((2, 4, 3), (4, 5)), None),
    "batches": ("xabk,xabn->xkn", ((2, 3, 2, 4), (2, 3, 2, 5)), None),
    "all summed": ("abc,abc->", ((2, 3, 4), (2, 3, 4)), None),
    "none": ("abk,abn->kn", ((2, 0, 4), (2, 0, 5)), ((0, 4), (0, 5), 0, 0)),
}


def dot(formula: str, x: Any, y: Any) -> Any:
    """The product that an einsum is, by `dot_general`; the result has axes in the order of it."""
    left, right = formula.split("->")[0].split(",")
    result = formula.split("->")[1]
    shared = [n for n in left if n in right]
    axes = [
        tuple(
            tuple(side.index(n) for n in shared if (n in result) == is_in_result)
            for side in (left, right)
        )
        for is_in_result in (False, True)
    ]
    return ox.lax.dot_general(x, y, tuple(axes))


def product_in(text: str) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    """The shapes of the factors of the only product in StableHLO, and what it sums over."""
    (summed,) = re.findall(r"contracting_dims = (\[.*?\] x \[.*?\])", text)
    types = re.search(r"dot_general.*: \(tensor<(.*?)xf32>, tensor<(.*?)xf32>\)", text)
    assert types is not None
    left, right = (tuple(map(int, shape.split("x"))) for shape in types.groups())
    return left, right, summed


@pytest.mark.parametrize("name", PRODUCTS)
def test_axes_are_joined_where_they_would_be_copied(name: str) -> None:
    formula, shapes, expected = PRODUCTS[name]
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    fun = ox.jit(lambda x, y: dot(formula, x, y))
    np.testing.assert_allclose(fun(x, y), np.einsum(formula, x, y), rtol=1e-5, atol=1e-5)

    traced = fun.trace(x, y)
    left, right, summed = product_in(traced.lower().as_text())
    if expected is None:
        assert (left, right) == shapes
    else:
        assert (left, right, summed) == (*expected[:2], f"[{expected[2]}] x [{expected[3]}]")
    others = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert product_in(others)[:2] == shapes


def test_a_program_for_several_platforms_is_the_same_on_all() -> None:
    x, y = (ox.ShapeDtypeStruct((2, 3, n), "float32") for n in (4, 5))
    lowered = ox.jit(lambda x, y: dot("abk,abn->kn", x, y)).trace(x, y).lower
    both = lowered(lowering_platforms=("cpu", "cuda")).as_text()
    assert product_in(both)[:2] == ((2, 3, 4), (2, 3, 5))
    assert both == lowered(lowering_platforms="cuda").as_text()
    assert both != lowered(lowering_platforms="cpu").as_text()


@pytest.mark.parametrize("precision", ["highest", ("default", "highest"), "BF16_BF16_F32"])
def test_joined_axes_keep_types_and_precision(precision: Any) -> None:
    x, y = np.ones((2, 3, 4), "bfloat16"), np.ones((2, 3, 5), np.float32)
    numbers = (((0, 1), (0, 1)), ((), ()))

    def product(x: Any, y: Any) -> Any:
        return ox.lax.dot_general(x, y, numbers, precision, preferred_element_type="float32")

    found = ox.jit(product)(ox.numpy.asarray(x), y)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.full((4, 5), 6.0))


def test_the_axes_of_a_program_of_several_devices_are_left() -> None:
    """A joined axis could not be split as the first of two was."""
    mesh = ox.make_mesh((2,), ("x",), ox.sharding.AxisType.Auto)
    split = ox.NamedSharding(mesh, ox.P(None, "x"))
    x, y = (ox.ShapeDtypeStruct((2, 4, n), "float32", sharding=split) for n in (3, 5))
    lowered = ox.jit(lambda x, y: dot("abk,abn->kn", x, y)).lower(x, y)
    assert product_in(lowered.as_text())[:2] == ((2, 4, 3), (2, 4, 5))
    found = lowered.compile()(*(ox.device_put(np.ones(s.shape, "f4"), split) for s in (x, y)))
    np.testing.assert_array_equal(found, np.full((3, 5), 8.0))


def scores(x: Any, a: Any, b: Any) -> Any:
    return (x @ a) @ (x @ b).T


def scores_by_einsum(x: Any, a: Any, b: Any) -> Any:
    return ox.numpy.einsum("ad,bd->ab", x @ a, x @ b)


@pytest.mark.parametrize("fun", [scores, scores_by_einsum])
def test_the_transpose_of_a_product_is_copied(fun: Any) -> None:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype("f4") for shape in ((256, 64), (64, 64), (64, 64))]
    lowered = ox.jit(fun).lower(*args)
    text = lowered.as_text()
    assert text.count("stablehlo.optimization_barrier") == 2
    last = [line for line in text.splitlines() if "stablehlo.dot_general" in line][-1]
    assert "(tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>" in last
    assert lowered.cost().flops == 2 * 256 * 64 * (64 + 64 + 256)
    expected = (args[0] @ args[1]) @ (args[0] @ args[2]).T
    np.testing.assert_allclose(lowered.compile()(*args), expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(
    ("fun", "shapes"),
    [
        (scores, [(8, 64), (64, 64), (64, 64)]),  # few elements
        (lambda x, a: x @ a.T, [(256, 64), (256, 64)]),  # of an argument
        (lambda x, a, b: (x @ a) @ (x @ b).mT, [(2, 256, 64), (64, 64), (64, 64)]),  # of a batch
    ],
)
def test_other_transposes_are_left(fun: Any, shapes: list[tuple[int, ...]]) -> None:
    lowered = ox.jit(fun).lower(*[ox.ShapeDtypeStruct(shape, "float32") for shape in shapes])
    assert "optimization_barrier" not in lowered.as_text()
