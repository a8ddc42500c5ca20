"""Concatenations in functions whose calls are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.stages.stages import Lowered, Traced
from tests.blocks.networks import norm

jnp = ox.numpy


def joining(parts: int, axis: int, dtype: str = "float32") -> Any:
    """Layers that join what they make of their input; the next ones take slices of that."""

    def layer(w: Any, x: Any) -> Any:
        layers = [ox.nn.gelu(norm(x) + 0.1 * i) for i in range(parts)]
        joined = jnp.concatenate([y.astype(dtype) for y in layers], axis=axis).astype("float32")
        return x + jnp.split(joined * 0.5, parts, axis=axis)[-1] @ w

    def network(ws: Any, x: Any) -> Any:
        for w in ws:
            x = layer(w, x)
        return x

    return network


def traced(parts: int, axis: int = -1, width: int = 64, dtype: str = "float32") -> Traced:
    ws, x = arguments(width)
    return ox.jit(joining(parts, axis, dtype)).trace(ws, x)


def arguments(width: int) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    ws = [(rng.standard_normal((width, width)) / width).astype("f4") for _ in range(4)]
    return ws, rng.standard_normal((3, width)).astype("f4")


def optimized(lowered: Lowered) -> str:
    text = lowered.compile().as_text()
    assert text is not None
    return text


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_parts_are_written_one_by_one_where_xla_fuses_none(parts: int) -> None:
    here = traced(parts)
    lowered = here.lower()
    assert [b.occurrences for b in lowered.blocks] == [4]
    assert "stablehlo.concatenate" not in lowered.as_text()
    assert lowered.as_text().count("stablehlo.dynamic_update_slice") == parts - 1
    off = here.lower(repeats="off")
    assert off.as_text().count("stablehlo.concatenate") == 4
    if parts > 2:  # of two, a newer XLA makes a concatenation again
        assert optimized(lowered).count(" concatenate(") == 0
        assert optimized(off).count(" concatenate(") == 4


@pytest.mark.parametrize(
    ("parts", "axis", "width", "dtype"),
    [(5, -1, 64, "float32"), (2, 0, 64, "float32"), (2, -1, 63, "float32"), (2, -1, 64, "int32")],
    ids=["many", "first axis", "few elements", "integers"],
)
def test_others_are_left(parts: int, axis: int, width: int, dtype: str) -> None:
    lowered = traced(parts, axis, width, dtype).lower()
    assert lowered.blocks
    assert lowered.as_text().count("stablehlo.concatenate") == 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_values_are_the_same(dtype: str) -> None:
    here, args = traced(3, dtype=dtype), arguments(64)
    lowered, off = here.lower(), here.lower(repeats="off")
    assert "stablehlo.concatenate" not in lowered.as_text()
    np.testing.assert_allclose(lowered.compile()(*args), off.compile()(*args), rtol=2e-6, atol=2e-6)


def test_signs_of_zero_and_what_is_no_number_go_through() -> None:
    @ox.jit
    def join(x: Any, y: Any) -> Any:
        for _ in range(10):
            x, y = (jnp.where(z > 5, z * 2, z) for z in (x, y))
        return jnp.concatenate([x, y], axis=1), x @ y.T

    def all_of(xs: Any) -> Any:
        return [join(x, x[::-1]) for x in xs]

    xs = np.full((4, 2, 64), -0.0, np.float32)
    xs[:, 0, ::3] = np.nan
    xs[:, 1, ::5] = -np.inf
    lowered = ox.jit(all_of).lower(xs)
    assert [b.name for b in lowered.blocks] == ["join"]
    assert "stablehlo.concatenate" not in lowered.as_text()
    for x, (joined, _) in zip(xs, lowered.compile()(xs), strict=True):
        expected = np.concatenate([x, x[::-1]], axis=1)
        assert np.asarray(joined).tobytes() == expected.tobytes()


def test_the_lines_of_a_concatenation_stay() -> None:
    text = traced(2).lower().as_text(debug_info=True)
    assert "test_concatenations.py" in text
    (update,) = [x for x in text.splitlines() if "stablehlo.dynamic_update_slice" in x]
    assert "loc(" in update
