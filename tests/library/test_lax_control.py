"""Control flow, associative_scan and optimization_barrier of olympus.lax against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, DTypeError, LoweringError, ShapeError, TransformError
from tests.library.oracle import check, check_derivatives, row

LAX = {ox.numpy: ox.lax, jax.numpy: jax.lax}
X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
H200 = ox.target("gpu", "h200")


def affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], a[1] * b[0] + b[1]


def test_bounds_of_loops_are_integers_of_one_dtype() -> None:
    for lax in LAX.values():
        for bounds in [(np.int16(1), 4), (1, np.int16(4)), (np.int32(1), np.int32(4))]:
            assert lax.fori_loop(*bounds, lambda i, t: t + i, 0) == 6
        for bounds in [(np.uint8(1), 4), (np.int16(1), np.int32(4)), (True, 4)]:
            with pytest.raises(TypeError, match="fori_loop must have equal types"):
                lax.fori_loop(*bounds, lambda i, t: t + i, 0)


def test_loops_and_branches_that_pass_values() -> None:
    def loop(n: Any, x: Any) -> Any:
        passing = LAX[n].while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 1), (x, 0))
        return passing, LAX[n].cond(x[0] > 1, lambda: (x, x + 1), lambda: (x, x - 1))

    def fold(n: Any, x: Any) -> Any:
        first, last = x[0], x[-1]
        return LAX[n].scan(lambda c, r: ((c[0], r, c[2]), (r, c[0], c[1])), (first, last, 1.0), x)

    check([row("loop", loop, X[0, 0]), row("fold", fold, X[0, 0]), row("rows", fold, X[0])])
    check_derivatives(lambda n, x: n.sum(fold(n, x)[1][1] * n.sin(fold(n, x)[0][1])), X[0, 0])


def test_a_mapped_cond_has_no_tangents_of_the_branch_that_is_not_chosen() -> None:
    for package in (ox, jax):
        root = package.vmap(
            lambda x, m=package: m.lax.cond(x > 0, m.numpy.sqrt, lambda x: 0.5 * x, x)
        )
        slopes = package.grad(lambda x, f=root: f(x).sum())(np.array([0.0, 1.0], np.float32))
        np.testing.assert_array_equal(slopes, [0.5, 0.5])


def test_a_scan_without_rows_has_no_types_without_jit() -> None:
    for package in (ox, jax):
        with (
            package.disable_jit(),
            pytest.raises(ValueError, match=r"zero-length scan is not supported in disable_jit"),
        ):
            package.lax.scan(lambda c, x: (c, x), 0.0, np.zeros(0, np.float32))


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(reverse: bool) -> None:
    def scan(n: Any, fn: Any, elems: Any, axis: int = 0) -> Any:
        return LAX[n].associative_scan(fn, elems, reverse=reverse, axis=axis)

    check([
        *[row(f"length {k}", lambda n, x: scan(n, affine, (x, x * 2)), np.arange(float(k)))
          for k in range(10)],
        *[row(f"axis {i}", lambda n, x, i=i: scan(n, n.maximum, x, i), np.sin(X))
          for i in (0, 1, 2)],
        row("integers", lambda n, x: scan(n, n.add, x), np.arange(7)),
        row("bools", lambda n, x: scan(n, n.logical_or, x), np.arange(7) == 3),
        row("matrices", lambda n, x: scan(n, n.matmul, x), np.cos(np.ones((5, 2, 2)) * X[0, 0, 0])),
    ])  # fmt: skip


def test_associative_scan_is_differentiated_and_batched() -> None:
    def total(n: Any, x: Any) -> Any:
        return n.sum(n.sin(LAX[n].associative_scan(affine, (x, x))[1]))

    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(total, np.linspace(0.5, 1.5, 6))
    mapped = ox.vmap(lambda x: ox.lax.associative_scan(ox.lax.add, x), in_axes=1)(X[0])
    np.testing.assert_allclose(mapped, np.cumsum(X[0].T, axis=1))


def test_associative_scan_takes_a_logarithmic_number_of_steps() -> None:
    program = ox.make_olympuspr(lambda x: ox.lax.associative_scan(ox.lax.mul, x))(np.ones(1024))
    assert sum(eqn.primitive.name == "mul" for eqn in program.eqns) <= 2 * 10


def test_optimization_barrier() -> None:
    tree = {"a": X, "b": (np.float32(2), np.arange(3))}
    barriers = ox.lax.optimization_barrier(tree)
    assert ox.tree.structure(barriers) == ox.tree.structure(tree)
    for a, b in zip(ox.tree.leaves(barriers), ox.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(a, b)
    text = ox.jit(lambda x: ox.lax.optimization_barrier((x, x + 1))).lower(X).as_text()
    assert text.count("stablehlo.optimization_barrier") == 1
    slope = ox.grad(lambda x, y: ox.lax.optimization_barrier((x * y, y))[0])(3.0, 4.0)
    assert slope == 4
    assert ox.lax.optimization_barrier(()) == ()


def double_or_negate(x: Any) -> Any:
    return ox.lax.platform_dependent(x, cpu=lambda x: x * 2, default=lambda x: -x)


def test_platform_dependent_runs_and_lowers_the_function_of_the_target() -> None:
    np.testing.assert_array_equal(double_or_negate(X), 2 * X)
    np.testing.assert_array_equal(ox.jit(double_or_negate)(X), 2 * X)
    traced = ox.jit(ox.grad(lambda x: ox.numpy.sum(double_or_negate(x)))).trace(X)
    for_cpu, for_gpu = traced.lower().as_text(), traced.lower(H200).as_text()
    assert "2.0" in for_cpu
    assert "negate" not in for_cpu
    assert "negate" in for_gpu
    assert "case" not in for_cpu + for_gpu


def test_platform_dependent_lowers_no_other_function() -> None:
    def solve(a: Any) -> Any:
        return ox.lax.platform_dependent(a, cpu=lambda a: ox.numpy.linalg.eigvals(a).real,
                                         cuda=lambda a: ox.numpy.diagonal(a))  # fmt: skip

    traced = ox.jit(solve).trace(np.eye(3, dtype=np.float32))
    assert "lapack" not in traced.lower(H200).as_text()
    with pytest.raises(LoweringError, match="functions for cpu, cuda and no default") as caught:
        traced.lower(ox.target("tpu"))
    assert "tpu=function" in str(caught.value.hint)


def test_debug_nans_finds_the_operation_of_the_platform() -> None:
    with ox.debug_nans(True), pytest.raises(FloatingPointError, match="'log'"):
        ox.lax.platform_dependent(np.float32(-1), cpu=ox.lax.log, default=ox.lax.exp)


def test_errors() -> None:
    lax = ox.lax
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: lax.associative_scan(X, X), ArgumentError, "fn argument should be callable"),
        (
            lambda: lax.associative_scan(affine, (X, X[:1])),
            ShapeError,
            "must have the same first dimension",
        ),
        (lambda: lax.associative_scan(lambda a, b: (a,), X), ArgumentError, "must return"),
        (lambda: lax.associative_scan(lax.add, X, axis=3), ShapeError, "out of bounds"),
        (lambda: lax.optimization_barrier("x"), DTypeError, "requires ndarray or scalar arguments"),
        (lambda: lax.platform_dependent(1.0), ArgumentError, "needs a function"),
        (lambda: lax.platform_dependent(1.0, gpu=abs), ArgumentError, "got 'gpu'"),
        (
            lambda: lax.platform_dependent(1.0, cpu=lambda x: x, default=lambda x: (x,)),
            TransformError,
            "the same pytree structure",
        ),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
