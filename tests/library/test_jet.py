"""olympus.experimental.jet against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.experimental.jet
import jax.numpy
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.jet
from olympus.errors import ArgumentError
from tests.library.oracle import check, row

JET = {ox.numpy: olympus.experimental.jet.jet, jax.numpy: jax.experimental.jet.jet}
LAX = {ox.numpy: ox.lax, jax.numpy: jax.lax}
X = np.linspace(0.2, 0.9, 6).reshape(2, 3)
TERMS = [0.3 * X + k for k in range(3)]

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda n, x, name=name: getattr(n, name)(x)
        for name in ("sin", "exp", "log", "tanh", "sqrt", "cosh", "expm1", "log1p", "abs")
    },
    "logistic": lambda n, x: LAX[n].logistic(x),
    "power": lambda n, x: x**3 + x**-1.5,
    "quotient": lambda n, x: n.sin(x) / (1 + x),
    "product": lambda n, x: n.dot(x, x.T),
    "sum": lambda n, x: n.sum(x * x, axis=0),
    "max": lambda n, x: n.max(x, axis=1),
    "parts": lambda n, x: n.concatenate([x[1:], 2 * x[:1]]).T.reshape(3, 2),
    "select": lambda n, x: n.where(x > 0.5, x * x, n.cos(x)),
}


def test_functions() -> None:
    def of(name: str, factorial_scaled: bool) -> Any:
        def call(n: Any, x: Any, *terms: Any) -> Any:
            value, series = JET[n](
                lambda x: FUNCTIONS[name](n, x), (x,), (terms,), factorial_scaled=factorial_scaled
            )
            return [value, *series]

        return row(f"{name} {factorial_scaled}", call, X, *TERMS, rtol=1e-7, atol=1e-8)

    with ox.enable_x64(True), jax.enable_x64(True):
        rows = [of(name, True) for name in FUNCTIONS]
        check([*rows, of("exp", False), of("product", False)], weak=False)


def test_trees_and_several_arguments() -> None:
    def call(n: Any, x: Any, y: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return {"a": x * n.sin(y), "b": (n.exp(x), y)}

        def slope(x: Any) -> Any:
            return JET[n](f, (x, y), ((y, x), (x, y)))[1]["a"][1].sum()

        value, series = JET[n](f, (x, y), ((y, x), (x, y)))
        package = ox if n is ox.numpy else jax
        return [*package.tree.leaves(value), *package.tree.leaves(series), package.grad(slope)(x)]

    with ox.enable_x64(True), jax.enable_x64(True):
        check([row("tree", call, X, X + 1, rtol=1e-7, atol=1e-8)], weak=False)
    value, series = JET[ox.numpy](ox.numpy.sin, (0.0,), ((1.0, 0.0, 0.0),))
    np.testing.assert_allclose([value, *series], [0, 1, 0, -1], atol=1e-6)


def test_errors() -> None:
    jet = olympus.experimental.jet.jet
    for args, text in (
        (((X, X), ((X,), (X, X))), "inconsistent lengths"),
        ((((X, X),), ((X,),)), "primal value at position 0 is not an array"),
        (((X,), (((X, X),),)), "term 0 for argument 0"),
    ):
        with pytest.raises(ArgumentError, match=text):
            jet(lambda *x: x, *args)
