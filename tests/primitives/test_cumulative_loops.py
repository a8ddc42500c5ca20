"""Cumulative reductions of one CPU, which are loops or blocks where these are faster."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
import olympus.interop.jax
from olympus import lax

NUMPY = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}


def drawn(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    numbers = np.random.default_rng(len(shape)).standard_normal(shape)
    return (3 * numbers if np.dtype(dtype).kind == "i" else numbers).astype(dtype)


def text(name: str, x: Any, axis: int, target: ox.Target | None = None) -> str:
    traced = ox.jit(lambda x: getattr(lax, name)(x, axis=axis)).trace(x)
    return str(traced.lower(target).as_text() if target else traced.lower().as_text())


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((17,), 0, "float32"),
        ((300,), 0, "int32"),
        ((300,), 0, "int8"),
        ((40, 6), 0, "float32"),
        ((6, 40), 1, "float32"),
        ((2, 40, 3), 1, "int32"),
    ],
)
def test_a_loop_has_the_values_of_numpy(
    name: str, reverse: bool, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    x = drawn(shape, dtype)
    ours = ox.jit(lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse))
    assert "stablehlo.while" in ours.lower(x).as_text()
    turned = np.flip(x, axis) if reverse else x
    expected = NUMPY[name].accumulate(turned, axis, dtype=dtype if dtype != "float32" else "f8")
    expected = np.flip(expected, axis) if reverse else expected
    np.testing.assert_allclose(np.asarray(ours(x)), expected.astype(dtype), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape", "axis", "dtype"),
    [
        ("cumsum", (16,), 0, "float32"),  # one kernel
        ("cumsum", (300,), 0, "float64"),  # a loop is less accurate
        ("cumsum", (300,), 0, "bfloat16"),
        ("cumsum", (300,), 0, "complex64"),
        ("cumlogsumexp", (300,), 0, "float32"),
        ("cumsum", (300, 257), 0, "float32"),  # a step of many elements
        ("cumsum", (9, 1000), 1, "float32"),  # rows that are apart
        ("cumsum", (2**9, 255), 1, "float32"),  # the last of few blocks is not full
        ("cumsum", (2**8, 255), 1, "float32"),  # few elements
        ("cumsum", (2**8, 2**8, 2), 1, "float32"),  # not the last axis
        ("cumlogsumexp", (2**17 + 1,), 0, "float32"),
    ],
)
def test_others_are_windows(name: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    with ox.enable_x64(dtype == "float64"):
        program = text(name, ox.ShapeDtypeStruct(shape, dtype), axis)
    assert "stablehlo.reduce_window" in program
    assert "stablehlo.while" not in program


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((2**8, 2**8), 1, "float32"),
        ((9, 7500), 1, "int8"),
        ((2, 30, 1111), 2, "int32"),
        ((2**17 + 1,), 0, "float32"),  # several processors are faster than a loop
        ((300, 257, 1), 1, "uint16"),
    ],
)
def test_blocks_have_the_values_of_numpy(
    name: str, reverse: bool, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    x = drawn(shape, dtype)
    if name == "cumprod" and dtype == "float32":
        x = 1 + x / 1000
    ours = ox.jit(lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse))
    program = ours.lower(x).as_text()
    assert "stablehlo.while" not in program
    assert "stablehlo.reduce_window" not in program
    turned = np.flip(x, axis) if reverse else x
    expected = NUMPY[name].accumulate(turned, axis, dtype=dtype if dtype != "float32" else "f8")
    expected = np.flip(expected, axis) if reverse else expected
    tolerance = 1e-5 * float(np.abs(expected.astype("f8")).max())
    np.testing.assert_allclose(
        np.asarray(ours(x)), expected.astype(dtype), rtol=1e-4, atol=tolerance
    )


@pytest.mark.parametrize("name", NUMPY)
def test_blocks_are_those_of_jax(name: str) -> None:
    x = drawn((64, 1024), "float32")
    ours = olympus.interop.jax.jit(lambda x: getattr(jax.lax, name)(x, axis=1))
    assert "stablehlo.reduce_window" not in ours.lower(x).as_text()
    theirs = jax.jit(lambda x: getattr(jax.lax, name)(x, axis=1))(x)
    np.testing.assert_array_equal(np.asarray(ours(x)), np.asarray(theirs))


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0])
def test_blocks_have_special_values(name: str, value: float) -> None:
    x = np.ones((64, 1024), "float32")
    x[3, 500:] = value
    x[4, :] = value
    ours = ox.jit(lambda x: getattr(lax, name)(x, axis=1))(x)
    theirs = jax.jit(lambda x: getattr(jax.lax, name)(x, axis=1))(x)
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_other_targets_have_windows() -> None:
    x = ox.ShapeDtypeStruct((300,), "float32")
    assert "stablehlo.while" in text("cumsum", x, 0)
    assert "stablehlo.while" not in text("cumsum", x, 0, ox.target("gpu", "h200"))


def test_a_sum_is_more_accurate_than_a_tree_of_sums() -> None:
    x = 10 * drawn((100_000,), "float32")
    exact = np.cumsum(x, dtype="float64")
    errors = [np.abs(np.asarray(f(x)) - exact).max() for f in (lax.cumsum, jax.lax.cumsum)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    "values", [[np.inf, 1, -np.inf, 2], [np.nan, 1, 2, 3], [-0.0, 0.0, -0.0, 3], [3e38, 3e38, 1, 1]]
)
@pytest.mark.parametrize("name", NUMPY)
def test_special_values(name: str, values: list[float]) -> None:
    x = np.array(values * 10, "float32")
    ours, theirs = getattr(lax, name)(x), getattr(jax.lax, name)(x)
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_jit_of_jax_raises_a_cumulative_reduction() -> None:
    x = drawn((300,), "float32")
    for name in NUMPY:
        fun = getattr(jax.lax, name)
        ours = olympus.interop.jax.jit(lambda x, fun=fun: fun(x))
        assert "stablehlo.while" in ours.lower(x).as_text(), name
        np.testing.assert_allclose(ours(x), fun(x), rtol=1e-5, atol=1e-5)
    short = olympus.interop.jax.jit(lambda x: jax.lax.cumsum(x[:16]))
    assert "stablehlo.while" not in short.lower(x).as_text()
