"""olympus.scipy.optimize against JAX and known minima."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import jax.scipy.optimize
import numpy as np
import pytest

import olympus as ox
import olympus.scipy.optimize
from olympus.errors import ArgumentError
from tests.library.oracle import check, row

LBFGS = "l-bfgs-experimental-do-not-rely-on-this"
OPTIMIZE = {ox.numpy: olympus.scipy.optimize, jax.numpy: jax.scipy.optimize}


def rosenbrock(n: Any, x: Any) -> Any:
    return n.sum(100.0 * n.diff(x) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(n: Any, p: Any) -> Any:
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


def quadratic(n: Any, x: Any) -> Any:
    return n.sum(n.arange(1.0, 4.0) * (x - 2) ** 2)


STARTS = [
    (rosenbrock, [0.0, 1.5, -1.0]),
    (himmelblau, [1.0, 1.0]),
    (quadratic, [9.0, -3.0, 0.0]),
]


@pytest.mark.parametrize("method", ["BFGS", LBFGS])
def test_minima(method: str) -> None:
    def call(f: Any) -> Any:
        def minimum(n: Any, x: Any) -> Any:
            end = OPTIMIZE[n].minimize(lambda x: f(n, x), x, method=method)
            return [end.x, end.fun, end.success]

        return minimum

    with ox.enable_x64(True), jax.enable_x64(True):
        check(
            [
                row(f.__name__, call(f), np.array(x), rtol=1e-4, atol=1e-4)
                for f, x in STARTS
                if method == "BFGS" or f is not rosenbrock
            ],
            weak=False,
        )


def test_results_of_bfgs_are_those_of_jax() -> None:
    """Each step is that of JAX, so the counts and the inverse Hessian are equal too."""

    def call(n: Any, x: Any) -> Any:
        options = {"maxiter": 6, "gtol": 1e-9}
        return list(
            OPTIMIZE[n].minimize(lambda x, a: rosenbrock(n, a * x), x, (0.5,), method="bfgs",
                                 options=options)
        )  # fmt: skip

    with ox.enable_x64(True), jax.enable_x64(True):
        check([row("bfgs", call, np.array([0.0, 1.5]), rtol=1e-6, atol=1e-8)], weak=False)


def test_eager_single_precision() -> None:
    end = olympus.scipy.optimize.minimize(
        lambda x: quadratic(ox.numpy, x), ox.numpy.zeros(3), method="BFGS"
    )
    np.testing.assert_allclose(end.x, 2 * np.ones(3), rtol=1e-5)
    assert end.success and end.status == 0 and end.x.dtype == np.float32


def test_errors() -> None:
    minimize = olympus.scipy.optimize.minimize
    for call, text in (
        (lambda: minimize(sum, np.ones(2), [1], method="BFGS"), "must be a tuple"),
        (lambda: minimize(sum, np.ones(2), method="odd"), "not recognized"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
