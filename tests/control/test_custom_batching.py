"""Functions with a mapped form, a gradient or a transpose of their author, and composites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.custom_batching
import jax.custom_derivatives
import numpy as np
import pytest

import olympus as ox
import olympus.custom_derivatives
from olympus.errors import TransformError, UnexpectedTracerError

X = np.arange(1.0, 4.0, dtype=np.float32)
Y = 2 * X
MATRIX = np.stack([X, Y])
Uses = list[tuple[str, Callable[[Any, Any], Any]]]


def agree(uses: Uses, make: Callable[[Any], Any]) -> None:
    """Compare the uses of what `make` returns of each library."""
    mine, theirs = make(ox), make(jax)
    for name, use in uses:
        result, expected = ox.tree.leaves(use(ox, mine)), jax.tree.leaves(use(jax, theirs))
        assert len(result) == len(expected), name
        for a, b in zip(result, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=name)


def tenfold(jx: Any) -> Any:
    """A function whose mapped form is ten times itself."""

    @jx.custom_batching.custom_vmap
    def f(x: Any, y: Any) -> Any:
        return jx.numpy.sin(x) * y

    @f.def_vmap
    def _(size: int, mapped: list[bool], x: Any, y: Any) -> Any:
        assert size in (2, 3)
        return 10 * jx.numpy.sin(x) * y, any(mapped)

    return f


def test_a_vmap_rule_is_used_where_the_function_is_mapped() -> None:
    agree([
        ("alone", lambda jx, f: f(X, y=Y)),
        ("vmap", lambda jx, f: jx.vmap(f)(X, Y)),
        ("one", lambda jx, f: jx.vmap(f, (None, 1))(X, MATRIX.T)),
        ("jit", lambda jx, f: jx.vmap(jx.jit(f), (0, None))(X, 2.0)),
        ("twice", lambda jx, f: jx.vmap(jx.vmap(f, (0, None)), (None, 0))(X, Y)),
        ("scan", lambda jx, f: jx.vmap(
            lambda x: jx.lax.scan(lambda c, _: (f(c, x), c), x, None, 3))(X)),
        ("jvp", lambda jx, f: jx.jvp(jx.vmap(f), (X, Y), (Y, X))),
        ("of jvp", lambda jx, f: jx.vmap(lambda x, y: jx.jvp(f, (x, y), (y, x)))(X, Y)),
        ("primals", lambda jx, f: jx.vmap(lambda x: jx.jvp(f, (x, 2.0), (3.0, 1.0)))(X)),
        ("tangents", lambda jx, f: jx.vmap(lambda t: jx.jvp(f, (1.0, 2.0), (t, t)))(X)),
        ("twice jvp", lambda jx, f: jx.vmap(lambda x, y: jx.jvp(
            lambda x: jx.jvp(f, (x, y), (y, x))[1], (x,), (1.0,)))(X, Y)),
    ], tenfold)  # fmt: skip


def test_a_function_with_a_vmap_rule_has_a_reverse_derivative() -> None:
    f = tenfold(ox)
    np.testing.assert_allclose(ox.grad(f)(1.0, 2.0), 2 * np.cos(1.0), rtol=1e-6)
    mapped = ox.grad(lambda x: ox.numpy.sum(ox.vmap(f)(x, Y)))(X)
    np.testing.assert_allclose(mapped, 10 * np.cos(X) * Y, rtol=1e-5)


def test_sequential_vmap_runs_the_function_once_for_each_value() -> None:
    def make(jx: Any) -> Any:
        return jx.custom_batching.sequential_vmap(lambda x, y: (x * y, jx.numpy.sum(x)))

    agree([
        ("both", lambda jx, f: jx.vmap(f)(MATRIX, MATRIX)),
        ("one", lambda jx, f: jx.jit(jx.vmap(f, (1, None)))(MATRIX, 2.0)),
        ("twice", lambda jx, f: jx.vmap(jx.vmap(f, (None, 0)), (0, None))(MATRIX, X)),
        ("jvp", lambda jx, f: jx.vmap(lambda x: jx.jvp(f, (x, x), (x, x)))(MATRIX)),
    ], make)  # fmt: skip
    one = make(ox)
    result, tangent = ox.vmap(lambda x: ox.jvp(lambda x: one(x, x), (x,), (X,)))(MATRIX)
    np.testing.assert_allclose(result[0], MATRIX**2)
    np.testing.assert_allclose(tangent[0], 2 * MATRIX * X)


def test_a_gradient_of_the_author() -> None:
    def make(jx: Any) -> Any:
        return jx.custom_gradient(lambda x: (x**2, lambda ct: 3 * ct * jx.numpy.sin(x)))

    agree([
        ("value", lambda jx, f: f(X)),
        ("grad", lambda jx, f: jx.grad(f)(2.0)),
        ("jit", lambda jx, f: jx.jit(jx.vmap(jx.grad(f)))(X)),
        ("twice", lambda jx, f: jx.grad(jx.grad(f))(2.0)),
        ("scan", lambda jx, f: jx.grad(
            lambda x: jx.lax.scan(lambda c, _: (f(c), c), x, None, 2)[0])(0.5)),
    ], make)  # fmt: skip
    pair = ox.custom_gradient(lambda x, y: (x * y, lambda ct: (ct * y, 5.0 * ct)))
    assert [float(g) for g in ox.grad(pair, (0, 1))(2.0, 3.0)] == [3.0, 5.0]


def test_a_linear_call_has_the_transpose_of_its_author() -> None:
    def make(jx: Any) -> Any:
        def halve(r: Any, x: Any) -> Any:
            return jx.custom_derivatives.linear_call(
                lambda r, x: {"out": x / r}, lambda r, ct: 5 * ct["out"] / r, r, x
            )["out"]

        return halve

    def transposed(jx: Any, f: Any) -> Any:
        return lambda ct: jx.linear_transpose(lambda x: f(2.0, x), 1.0)(ct)[0]

    agree([
        ("value", lambda jx, f: f(2.0, X)),
        ("jvp", lambda jx, f: jx.jvp(lambda x: f(2.0, x), (3.0,), (1.0,))),
        ("transpose", lambda jx, f: transposed(jx, f)(3.0)),
        ("twice", lambda jx, f: jx.linear_transpose(transposed(jx, f), 1.0)(3.0)),
        ("grad", lambda jx, f: jx.jit(jx.grad(lambda x: f(2.0, x) ** 2))(3.0)),
    ], make)  # fmt: skip
    mapped = ox.vmap(ox.grad(lambda r, x: make(ox)(r, x) ** 2, 1))(X, Y)
    np.testing.assert_allclose(mapped, 2 * (Y / X) * 5 / X, rtol=1e-6)
    with pytest.raises(TransformError, match="a residual is being differentiated"):
        ox.grad(make(ox))(2.0, 1.0)


def test_a_composite_is_one_operation_with_attributes() -> None:
    softmax = ox.lax.composite(lambda x, *, axis, **_: ox.nn.softmax(x, axis), "my.softmax", 3)
    np.testing.assert_allclose(ox.jit(lambda x: softmax(x, axis=1))(X[None]).sum(), 1.0, rtol=1e-6)
    np.testing.assert_allclose(ox.vmap(lambda x: softmax(x, axis=0))(MATRIX).sum(1), 1, rtol=1e-6)
    others: dict[str, Any] = {
        "a": True, "b": [1.5, "x"], "c": np.array([1, 2], np.int32), "d": {"e": np.float32(1)},
        "f": np.dtype("float32"), "g": None,
    }  # fmt: skip
    text = ox.jit(lambda x: softmax(x, axis=1, **others)).lower(X[None]).as_text()
    assert (
        'stablehlo.composite "my.softmax" %arg0 {composite_attributes = {a = true, '
        'axis = 1 : i64, b = [1.500000e+00, "x"], c = dense<[1, 2]> : tensor<2xi32>, '
        "d = {e = 1.000000e+00 : f32}, f = f32}, decomposition = @my.softmax, version = 3 : i32}"
    ) in text


def test_the_passes_of_a_derivative_are_compiled_once() -> None:
    fwd, bwd = ox.fwd_and_bwd(lambda x, y: (ox.numpy.sin(x) * y, x), argnums=0, has_aux=True)
    for x in (X, Y):
        result, residuals, aux = fwd(x, Y)
        np.testing.assert_allclose(bwd(residuals, X), X * np.cos(x) * Y, rtol=1e-5)
        np.testing.assert_array_equal(aux, x)
        np.testing.assert_allclose(result, np.sin(x) * Y, rtol=1e-6)
    fwd, bwd = ox.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1), jitted=False)
    np.testing.assert_array_equal(bwd(fwd(X, Y)[1], X), [X * Y, X * X])


def test_zeros_and_values_of_primals() -> None:
    derivatives = olympus.custom_derivatives
    zero = derivatives.zero_from_primal(np.arange(3))
    assert zero.dtype == ox.float0
    assert isinstance(derivatives.zero_from_primal(X, True), derivatives.SymbolicZero)
    primals = {"x": derivatives.CustomVJPPrimal(1.0, True)}
    assert derivatives.custom_vjp_primal_tree_values(primals) == {"x": 1.0}
    with pytest.raises(TypeError, match="unexpected leaf type"):
        derivatives.custom_vjp_primal_tree_values((1.0,))


def test_errors() -> None:
    batching, composite = ox.custom_batching, ox.lax.composite
    other = batching.custom_vmap(lambda x: x)
    other.def_vmap(lambda size, mapped, x: ((x, x), (True, True)))
    wrong = batching.custom_vmap(lambda x: x)
    wrong.def_vmap(lambda size, mapped, x: (x, (True,)))
    derivative = composite(ox.lax.sin, "my.sin")
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: batching.custom_vmap(lambda x: x)(X), AttributeError, "No batching rule defined"),
        (lambda: ox.vmap(other)(X), ValueError, "does not match that of original custom-vmapped"),
        (lambda: ox.vmap(wrong)(X), ValueError, "structure of output value and output batching"),
        (lambda: tenfold(ox)(X, z=X), TypeError, "missing a required argument"),
        (lambda: ox.grad(derivative)(1.0), ValueError, "You can use `jax.custom_jvp` to add"),
        (lambda: ox.jit(lambda x: composite(lambda: x, "my.x")())(1.0), UnexpectedTracerError,
         "as a constant in the decomposition"),
        (lambda: ox.jit(lambda x: composite(lambda y, **_: y, "my.x")(X, x=x))(1.0),
         UnexpectedTracerError, "as an attribute in the decomposition"),
        (lambda: ox.jit(composite(ox.lax.sin, "sin")).lower(X), ValueError, "must be a valid name"),
        (lambda: ox.jit(lambda: composite(lambda **_: X, "my.x")(a=object())).lower(), TypeError,
         "No attribute handler defined"),
        (lambda: ox.custom_derivatives.linear_call(
            lambda r, x: x, lambda r, ct: (ct,), 1.0, X), TypeError, "must match that of linear"),
        (lambda: ox.custom_derivatives.linear_call(
            lambda r, x: x, lambda r, ct: X, 1.0, 2.0), ValueError,
         r"Expected cotangent type float32\[\] but got float32\["),
    ]  # fmt: skip
    for call, kind, text in calls:
        with pytest.raises(kind, match=text):
            call()
