"""Convolutions by products of tiles: their transforms, errors, blocks, and the rule for them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus_core.base.avals import shaped
from olympus_core.primitives import conv_tiles
from olympus_core.primitives.conv import ConvDimensionNumbers
from olympus_core.primitives.conv_tiles import tile_for, transforms

NHWC = ("NHWC", "HWIO", "NHWC")
LAST = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))


@pytest.mark.parametrize(("tile", "kernel"), [(2, 3), (4, 3), (2, 5)])
def test_the_transforms_compute_the_results_of_a_tile(tile: int, kernel: int) -> None:
    rng = np.random.default_rng(0)
    matrices = transforms(tile, kernel)
    x, k = rng.standard_normal(tile + kernel - 1), rng.standard_normal(kernel)
    found = matrices.result.T @ ((matrices.kernel @ k) * (matrices.array @ x))
    np.testing.assert_allclose(found, np.correlate(x, k, "valid"), rtol=1e-12, atol=1e-12)


def drawn(images: int, size: int, inputs: int, outputs: int, length: int = 3) -> list[Any]:
    """An array after a rectifier, and a kernel that keeps its scale."""
    rng = np.random.default_rng(size)
    x = np.maximum(rng.standard_normal((images, size, size, inputs)), 0)
    k = rng.standard_normal((length, length, inputs, outputs)) * (2 / inputs) ** 0.5 / length
    return [x.astype("float32"), k.astype("float32")]


def convolved(framework: Any, x: Any, k: Any, **options: Any) -> Any:
    return framework.lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=NHWC, **options
    )


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(
    ("shape", "most"),
    [
        ((1, 40, 64, 64), 4),
        ((1, 28, 128, 128), 4),
        ((2, 32, 32, 256), 4),
        ((1, 14, 256, 256), 2),
        ((1, 24, 64, 64, 5), 4),
    ],
)
def test_the_error_is_a_small_multiple_of_that_of_the_definition(
    shape: tuple[int, ...], most: float, is_constant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conv_tiles, "_LEAST_PRODUCTS_OF_ARGUMENTS", 0)
    x, k = drawn(*shape)
    with jax.enable_x64(True):
        exact = np.asarray(convolved(jax, x.astype("float64"), k.astype("float64")))

    def error(y: Any) -> float:
        return float(np.sqrt(np.mean((np.asarray(y, "float64") - exact) ** 2)))

    if is_constant:
        compiled = ox.jit(lambda x: convolved(ox, x, k)).lower(x)
        found = compiled.compile()(x)
    else:
        compiled = ox.jit(lambda x, k: convolved(ox, x, k)).lower(x, k)
        found = compiled.compile()(x, k)
    assert "stablehlo.convolution" not in compiled.as_text()
    assert error(found) <= most * error(jax.jit(lambda x, k: convolved(jax, x, k))(x, k))


@pytest.mark.parametrize("shape", [(1, 62, 64, 64), (6, 21, 64, 80), (4, 30, 32, 96, 5)])
def test_blocks_of_tiles_have_the_results_of_all_tiles(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, k = drawn(*shape)
    lowered = [ox.jit(lambda x: convolved(ox, x, k)).lower(x)]
    monkeypatch.setattr(conv_tiles, "_AT_ONCE", 2**10)
    monkeypatch.setattr(conv_tiles, "_BLOCK", 2**19)
    lowered.append(ox.jit(lambda x: convolved(ox, x, k)).lower(x))
    assert ["stablehlo.while" in low.as_text() for low in lowered] == [False, True]
    together, in_blocks = (np.asarray(low.compile()(x)) for low in lowered)
    np.testing.assert_allclose(in_blocks, together, rtol=1e-5, atol=2e-5)


def parameters(**changes: Any) -> dict[str, Any]:
    return {
        "window_strides": (1, 1),
        "padding": ((1, 1), (1, 1)),
        "lhs_dilation": (1, 1),
        "rhs_dilation": (1, 1),
        "dimension_numbers": LAST,
        "feature_group_count": 1,
        "batch_group_count": 1,
        "precision": None,
        "preferred_element_type": None,
    } | changes


#: images, positions, features and elements of a kernel on each side, and the size of the tiles with
#: a constant kernel and with an argument
RULE = {
    (1, 56, 64, 64, 3): (4, None),  # the time to compile is repaid by 600 calls
    (1, 112, 128, 128, 3): (4, 4),
    (32, 28, 128, 128, 3): (4, 4),
    (4, 28, 256, 512, 3): (4, 2),  # the transform for tiles of 4 x 4 has 19 MB
    (1, 14, 256, 256, 3): (2, None),
    (16, 14, 256, 256, 3): (4, 4),
    (1, 14, 1024, 1024, 3): (2, None),  # the transform has 67 MB
    (1, 13, 48, 192, 3): (2, None),
    (1, 14, 64, 48, 3): (None, None),
    (1, 7, 512, 512, 3): (None, None),
    (4, 7, 512, 512, 3): (2, None),
    (1, 55, 16, 64, 3): (None, None),
    (1, 14, 128, 32, 3): (None, None),
    (1, 27, 32, 96, 5): (2, None),
    (16, 28, 96, 64, 5): (2, 2),
    (1, 27, 16, 32, 5): (None, None),
    (1, 56, 64, 64, 7): (None, None),
}


@pytest.mark.parametrize("shape", RULE)
def test_tiles_are_where_they_are_faster(shape: tuple[int, ...]) -> None:
    images, size, inputs, outputs, length = shape
    avals = [
        shaped((images, size, size, inputs), np.dtype("float32")),
        shaped((length, length, inputs, outputs), np.dtype("float32")),
    ]
    out, params = (images, size, size, outputs), parameters(padding=((length // 2,) * 2,) * 2)
    found = tuple([tile_for(avals, out, params, is_constant=c) for c in (True, False)])
    assert found == RULE[shape]


@pytest.mark.parametrize(
    "changes",
    [
        {"window_strides": (2, 1)},
        {"lhs_dilation": (1, 2)},
        {"rhs_dilation": (2, 2)},
        {"padding": ((-1, 1), (1, 1))},
        {"precision": (ox.lax.Precision.HIGHEST,) * 2},
        {"precision": (ox.lax.Precision.HIGH,) * 2},
        {"preferred_element_type": np.dtype("float64")},
    ],
)
def test_tiles_are_for_plain_convolutions(changes: dict[str, Any]) -> None:
    avals = [shaped(s, np.dtype("float32")) for s in ((1, 56, 56, 64), (3, 3, 64, 64))]
    assert tile_for(avals, (1, 56, 56, 64), parameters(**changes), is_constant=True) is None


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_tiles_are_for_float32(dtype: str) -> None:
    avals = [shaped(s, ox.numpy.dtype(dtype)) for s in ((1, 56, 56, 64), (3, 3, 64, 64))]
    assert tile_for(avals, (1, 56, 56, 64), parameters(), is_constant=True) is None
