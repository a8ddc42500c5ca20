"""Lowered programs with symbolic sizes: fixed sizes, costs and formulas."""

from __future__ import annotations

import numpy as np
import pytest

import olympus.numpy as jnp
from olympus import Array, ShapeDtypeStruct, jit, lax
from olympus.errors import ShapeError, UsageError
from olympus.export import symbolic_shape
from olympus.stages import Lowered


def lowered(function: object, text: str, *constraints: str) -> Lowered:
    shape = symbolic_shape(text, constraints=constraints)
    return jit(function).lower(ShapeDtypeStruct(shape, "float32"))  # type: ignore[arg-type]


def test_a_program_at_sizes_is_compiled() -> None:
    program = lowered(lambda x: jnp.cumsum(x, 0) / x.shape[0], "b, 3", "b <= 8")
    assert program.size_names == ("b",)
    fixed = program.at_sizes({"b": 4})
    assert fixed.size_names == ()
    x = np.ones((4, 3), "float32")
    np.testing.assert_allclose(fixed.compile()(x), np.cumsum(x, 0) / 4)
    with pytest.raises(UsageError, match="has the symbolic sizes b, and got none"):
        program.at_sizes({})
    with pytest.raises(ShapeError, match="constraint b <= 8"):
        program.at_sizes({"b": 9})
    with pytest.raises(UsageError, match=r"has the symbolic sizes b \(x f32\[b,3\]\)"):
        program.compile()


def test_formulas_are_the_counts_at_any_sizes() -> None:
    def step(carry: Array, row: Array) -> tuple[Array, Array]:
        return jnp.tanh(carry + row), carry.sum()

    def f(x: Array) -> Array:
        last, _ = lax.scan(step, jnp.zeros(4), x)
        return last @ jnp.ones((4, 2))

    program = lowered(f, "b, 4")
    formulas = program.cost_formulas()
    cost = program.at_sizes({"b": 37}).cost()
    for name in ("flops", "transcendentals", "bytes"):
        formula = formulas[name]
        assert formula is not None
        assert eval(formula, {"b": 37}) == getattr(cost, name), name
    assert formulas["io_bytes"] == "16*b + 8"


def test_a_cost_that_is_no_polynomial_has_no_formula() -> None:
    program = lowered(lambda x: jnp.sin(x[::2]), "b")
    assert program.cost_formulas()["transcendentals"] is None
    even = lowered(lambda x: jnp.sin(x[::2]), "2*b")
    assert even.cost_formulas()["transcendentals"] == "b"
