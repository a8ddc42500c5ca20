"""custom_linear_solve and custom_root: derivatives of solutions, by the equations they solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import TransformError
from tests.library.oracle import check, check_derivatives, row

PACKAGE: dict[Any, Any] = {ox.numpy: ox, jax.numpy: jax}
A = np.cos(np.arange(9.0)).reshape(3, 3) + 2 * np.eye(3)
B = np.sin(np.arange(12.0)).reshape(4, 3)
MATRICES = np.stack([A, A + 1, A - 1, 2 * A])


def solve(n: Any, a: Any, b: Any, symmetric: bool = False, has_aux: bool = False) -> Any:
    jx = PACKAGE[n]
    a = a @ a.T + n.eye(3) if symmetric else a

    def direct(f: Any, y: Any) -> Any:
        x = n.linalg.solve(jx.jacobian(f)(y), y)
        return (x, x[0]) if has_aux else x

    other = None if symmetric else direct
    return jx.lax.custom_linear_solve(lambda x: a @ x, b, direct, other, symmetric, has_aux)


def root(n: Any, c: Any, guess: Any) -> Any:
    """The cube root of `c`, by Newton's method, and the number of steps."""
    jx = PACKAGE[n]

    def newton(f: Any, x: Any) -> Any:
        step = lambda _, x: x - f(x) / jx.grad(lambda y: n.sum(f(y)))(x)  # noqa: E731
        return jx.lax.fori_loop(0, 40, step, x), 40.0

    one = n.ones_like(guess)
    return jx.lax.custom_root(
        lambda x: x**3 - c, guess, newton, lambda g, y: y / g(one), has_aux=True
    )


def pair(n: Any, b: Any) -> Any:
    """A system of two arrays."""
    solution = PACKAGE[n].lax.custom_linear_solve(
        lambda t: {"a": 2 * t["a"] + t["c"], "c": 3 * t["c"]},
        {"a": b, "c": 2 * b},
        lambda _, b: {"a": (b["a"] - b["c"] / 3) / 2, "c": b["c"] / 3},
        lambda _, b: {"a": b["a"] / 2, "c": (b["c"] - b["a"] / 2) / 3},
    )
    return solution["a"], solution["c"]


def test_solutions_are_mapped_in_the_system_and_in_the_right_hand_side() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check([
            *[row(f"{flags} {axes}",
                  lambda n, a, b, flags=flags, axes=axes: PACKAGE[n].vmap(
                      lambda a, b: solve(n, a, b, *flags), axes)(a, b),
                  MATRICES if axes[0] == 0 else A, B if axes[1] == 0 else B[0], rtol=1e-9)
              for flags in ((False, False), (True, True))
              for axes in ((None, 0), (0, None), (0, 0))],
            row("pair", lambda n, b: PACKAGE[n].vmap(lambda b: pair(n, b))(b), B),
            row("part", lambda n, b: PACKAGE[n].vmap(
                PACKAGE[n].grad(lambda b: n.sum(pair(n, b)[0] ** 2)))(b), B),
            row("root", lambda n, c: PACKAGE[n].vmap(lambda c: root(n, c, np.ones(3)))(c),
                2 + B, rtol=1e-9),
        ])  # fmt: skip


@pytest.mark.parametrize("symmetric", [False, True])
def test_derivatives_are_those_of_the_solution(symmetric: bool) -> None:
    def loss(n: Any, a: Any, b: Any) -> Any:
        return n.sum(n.sin(solve(n, a, b, symmetric, True)[0]))

    def third(n: Any, a: Any, b: Any) -> Any:
        grad = PACKAGE[n].grad
        second = grad(lambda b: n.sum(grad(lambda b: loss(n, a, b))(b) ** 2))
        return grad(lambda a: n.sum(second(b) ** 2))(a)

    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(lambda n, x: loss(n, x[:9].reshape(3, 3), x[9:]), np.append(A, B[0]))
        check([row("third", third, A, B[0], rtol=1e-8)])
        check_derivatives(lambda n, c: n.sum(root(n, c, np.ones(3))[0] ** 2), 2 + B[0])


def test_a_guess_and_auxiliary_results_have_no_derivative() -> None:
    x, tangent = ox.jvp(lambda x: root(ox.numpy, np.float32(8), x)[0], (1.0,), (1.0,))
    assert float(x) == pytest.approx(2.0)
    assert float(tangent) == 0
    _, (_, aux) = ox.jvp(lambda b: solve(ox.numpy, A, b, has_aux=True), (B[0],), (B[1],))
    assert not np.any(aux)


def test_errors() -> None:
    lax, b = ox.lax, np.ones(3, np.float32)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: lax.custom_linear_solve(lambda x: x[:2], b, lambda f, b: b),
         r"matvec\(\) output shapes must match b"),
        (lambda: lax.custom_linear_solve(lambda x: (x,), b, lambda f, b: b),
         r"matvec\(\) output pytree structure must match b"),
        (lambda: lax.custom_linear_solve(lambda x: x, b, lambda f, b: b, has_aux=True),
         r"solve\(\) produced a pytree with structure"),
        (lambda: ox.grad(lambda b: lax.custom_linear_solve(
            lambda x: x, b, lambda f, b: b)[0])(b), "transpose_solve required"),
        (lambda: lax.custom_root(lambda x: (x,), b, lambda f, x: x, lambda g, y: y),
         r"f\(\) output pytree structure must match initial_guess"),
        (lambda: lax.custom_root(lambda x: x, b, lambda f, x: x, lambda g, y: y, has_aux=True),
         r"solve\(\) produced a pytree with structure"),
        (lambda: ox.jvp(lambda c: lax.custom_root(
            lambda x: x * c, b, lambda f, x: x, lambda g, y: (y,)), (2.0,), (1.0,)),
         r"tangent_solve\(\) output pytree structure must match x"),
    ]  # fmt: skip
    for call, text in wrong:
        with pytest.raises(TransformError, match=text):
            call()
