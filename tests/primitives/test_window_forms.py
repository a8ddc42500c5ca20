"""Reductions of windows in forms for the CPU: their values, and which form they have."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import olympus as ox


class Pool(NamedTuple):
    """A shape, the windows, and the form that they have."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: Any
    form: str | None
    options: dict[str, Any] = {}  # noqa: RUF012


AXES, SLICES = "reduced_axes", "reduced_slices"
POOLS = {
    "overlaps": Pool((1, 34, 34, 16), (1, 3, 3, 1), (1, 2, 2, 1), "SAME", AXES),
    "overlaps, features first": Pool((1, 16, 34, 34), (1, 1, 3, 2), (1, 1, 1, 2), "VALID", AXES),
    "uneven padding": Pool(
        (2, 16, 16, 16), (1, 3, 4, 1), (1, 2, 1, 1), ((0, 0), (2, 0), (0, 3), (0, 0)), AXES
    ),
    "tiles": Pool((2, 33, 32, 16), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", SLICES),
    "tiles, features first": Pool((2, 16, 33, 32), (1, 1, 2, 4), (1, 1, 2, 4), "VALID", SLICES),
    "gaps": Pool((2, 16, 66, 66), (1, 1, 1, 2), (1, 1, 2, 3), "VALID", SLICES),
    "tiles with padding": Pool((2, 33, 33, 16), (1, 2, 2, 1), (1, 2, 2, 1), "SAME", None),
    "one axis": Pool((64, 128), (1, 5), (1, 1), "SAME", None),
    "whole array": Pool((4096, 4, 4), (1, 4, 4), (1, 1, 1), "VALID", None),
    "few elements": Pool((1, 8, 8, 4), (1, 3, 3, 1), (1, 2, 2, 1), "SAME", None),
    "holes": Pool(
        (1, 34, 34, 16),
        (1, 3, 3, 1),
        (1, 1, 1, 1),
        "VALID",
        None,
        {"window_dilation": (1, 2, 2, 1)},
    ),
}


def reduced(framework: Any, name: str, combiner: str, init: Any) -> Any:
    pool = POOLS[name]

    def apply(x: Any) -> Any:
        combine = getattr(framework.lax, combiner)
        return framework.lax.reduce_window(
            x, init, combine, pool.window, pool.strides, pool.padding, **pool.options
        )

    return apply


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(("combiner", "init"), [("max", -np.inf), ("min", np.inf), ("add", 0.0)])
def test_values_are_jaxs(name: str, combiner: str, init: float) -> None:
    x = np.random.default_rng(0).standard_normal(POOLS[name].shape).astype("float32")
    found = np.asarray(ox.jit(reduced(ox, name, combiner, init))(x))
    expected = np.asarray(jax.jit(reduced(jax, name, combiner, init))(x))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", POOLS)
def test_the_form_is_the_one_that_is_fast(name: str) -> None:
    x = ox.ShapeDtypeStruct(POOLS[name].shape, "float32")
    traced = ox.jit(reduced(ox, name, "max", -np.inf)).trace(x)
    text = traced.lower().as_text()
    called = [form for form in (AXES, SLICES) if f"@{form}(" in text]
    assert called[:1] == [form for form in [POOLS[name].form] if form]
    assert "@reduced" not in traced.lower(ox.Target("gpu", "h200")).as_text()


def test_integers_have_the_same_forms() -> None:
    x = np.random.default_rng(0).integers(-9, 9, POOLS["overlaps"].shape).astype("int32")
    apply = reduced(ox, "overlaps", "max", np.int32(np.iinfo("int32").min))
    assert f"@{AXES}(" in ox.jit(apply).lower(x).as_text()
    expected = reduced(jax, "overlaps", "max", np.int32(np.iinfo("int32").min))(x)
    np.testing.assert_array_equal(ox.jit(apply)(x), expected)
