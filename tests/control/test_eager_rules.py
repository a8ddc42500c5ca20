"""Functions with rules of their own that decide on values, and rules that close over a vmap."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import ConcretizationTypeError, TransformError

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])


def forward(ox):
    """x**2 where x > 0 with the derivative 3x, else -x: Python decides."""

    @ox.custom_jvp
    def f(x):
        return x * x if x > 0 else -x

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 3 * x * t if x > 0 else -t

    return f


def reverse(ox):
    @ox.custom_vjp
    def f(x):
        return x * x if x > 0 else -x

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * x * ct if x > 0 else -ct,))
    return f


@BOTH
@pytest.mark.parametrize("make", [forward, reverse])
def test_python_decides_on_values(ox, make):
    f = make(ox)
    assert (ox.grad(f)(2.0), ox.grad(f)(-2.0)) == (6, -1)
    assert ox.grad(ox.grad(f))(2.0) == 3
    value, pull_back = ox.vjp(f, 2.0)
    assert (value, *pull_back(1.0)) == (4, 6)
    value, slope = ox.value_and_grad(lambda x: ox.numpy.sin(f(x)) * x)(2.0)
    np.testing.assert_allclose((value, slope), (-1.513605, -8.600528), rtol=1e-5)

    def constant(x):
        with ox.ensure_compile_time_eval():
            return x * f(ox.numpy.float32(3))

    assert ox.jit(constant)(2.0) == 18


@BOTH
def test_the_forward_rule_sees_values(ox):
    f = forward(ox)
    assert ox.jvp(f, (2.0,), (1.0,)) == (4, 6)
    value, derivative = ox.linearize(f, -2.0)
    assert (value, derivative(1.0)) == (2, -1)


@pytest.mark.parametrize("make", [forward, reverse])
def test_a_trace_has_no_values(make):
    f = make(olympus)
    for staged in (olympus.jit(f), olympus.jit(olympus.grad(f))):
        with pytest.raises(ConcretizationTypeError, match="x > 0"):
            staged(2.0)
    with pytest.raises(ConcretizationTypeError, match="x > 0"):
        olympus.vmap(f)(olympus.numpy.ones(2))


@BOTH
def test_what_is_not_mapped_has_values_under_vmap(ox):
    @ox.custom_jvp
    def f(x, flag):
        return x * x if flag > 0 else x

    f.defjvp(lambda primals, tangents: (f(*primals), 5 * primals[0] * tangents[0]))
    xs = ox.numpy.arange(3.0)

    def total(xs):
        return ox.vmap(f, (0, None))(xs, 1.0).sum()

    np.testing.assert_array_equal(ox.vmap(f, (0, None))(xs, 1.0), [0, 1, 4])
    np.testing.assert_array_equal(ox.vmap(ox.grad(f), (0, None))(xs, 1.0), [0, 5, 10])
    np.testing.assert_array_equal(ox.grad(total)(xs), [0, 5, 10])


def closing_forward(x, y):
    @olympus.custom_jvp
    def f(x):
        return x * y

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * y * 10))
    return f(x)


def closing_reverse(x, y):
    @olympus.custom_vjp
    def f(x):
        return x * y

    f.defvjp(lambda x: (f(x), ()), lambda _, ct: (ct * y * 10,))
    return f(x)


@pytest.mark.parametrize("per", [closing_forward, closing_reverse])
def test_rules_close_over_the_values_of_a_vmap(per):
    xs, ys = olympus.numpy.arange(3.0), olympus.numpy.arange(3.0) + 1

    def total(xs):
        return olympus.vmap(per)(xs, ys).sum()

    def twice(xs):
        return olympus.vmap(lambda x: olympus.vmap(lambda y: per(x, y))(ys).sum())(xs).sum()

    np.testing.assert_array_equal(olympus.vmap(per)(xs, ys), [0, 2, 6])
    for gradient in (
        olympus.vmap(olympus.grad(per)),
        olympus.jit(olympus.vmap(olympus.grad(per))),
    ):
        np.testing.assert_array_equal(gradient(xs, ys), [10, 20, 30])
    for gradient in (olympus.grad(total), olympus.jit(olympus.grad(total))):
        np.testing.assert_array_equal(gradient(xs), [10, 20, 30])
    np.testing.assert_array_equal(olympus.grad(twice)(xs), [60, 60, 60])


@BOTH
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_names_of_arguments_without_derivatives(ox, kind):
    f = getattr(ox, kind)(lambda n, x, m: x * n * m, nondiff_argnames=("n", "m"))
    if kind == "custom_jvp":
        f.defjvp(lambda n, m, p, t: (f(n, p[0], m), 7 * t[0] * n))
    else:
        f.defvjp(lambda n, x, m: (f(n, x, m), None), lambda n, m, _, ct: (7 * ct * n,))
    assert ox.grad(f, 1)(2, 3.0, 4) == ox.grad(lambda x: f(2, x, m=4))(3.0) == 14


def test_a_name_that_is_not_a_parameter():
    with pytest.raises(TransformError, match=r"nondiff_argnames has 'k'.*takes x, y"):
        olympus.custom_vjp(lambda x, y: x, nondiff_argnames="k")


@BOTH
def test_symbolic_zeros_of_a_reverse_rule(ox):
    f = ox.custom_vjp(lambda x, y: (x * y, x + y, 3 * x))
    seen = []

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        x, y = x.value, y.value
        return (x * y, x + y, 3 * x), (x, y)

    def bwd(residuals, cotangents):
        seen.append([isinstance(c, ox.custom_derivatives.SymbolicZero) for c in cotangents])
        assert cotangents[1].shape == cotangents[0].shape
        return cotangents[0] * residuals[1] * 100, None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    xs = ox.numpy.arange(3.0)

    def first(x):
        return f(x, 4.0)[0]

    def total(xs):
        return ox.vmap(f, (0, None))(xs, 4.0)[0].sum()

    for gradient, point in (
        (ox.grad(first), 3.0),
        (ox.jit(ox.grad(first)), 3.0),
        (ox.vmap(ox.grad(first)), xs),
        (ox.grad(total), xs),
    ):
        assert (gradient(point) == 400).all()
        assert seen == [(True, False), [False, True, True]]
        seen.clear()


@BOTH
def test_what_derivatives_give_is_a_tree(ox):
    tree, ones = ox.tree_util, ox.numpy.ones(3)
    x = ox.numpy.arange(3.0)

    def f(x):
        return ox.numpy.sin(x) * x

    expected = np.sin(x) + x * np.cos(x)
    _, pull_back = ox.vjp(f, x)
    _, derivative = ox.linearize(f, x)
    assert tree.tree_leaves(pull_back)
    assert isinstance(derivative, tree.Partial)
    for got in (
        ox.jit(lambda p, ct: p(ct))(pull_back, ones)[0],
        ox.jit(lambda x: ox.vjp(f, x)[1])(x)(ones)[0],
        ox.jit(lambda d, t: d(t))(derivative, ones),
        ox.vmap(lambda p: p(1.0)[0])(ox.vmap(lambda x: ox.vjp(f, x)[1])(x)),
        ox.lax.scan(lambda p, ct: (p, p(ct)[0]), pull_back, ones[None])[1][0],
        tree.tree_map(lambda leaf: leaf, pull_back)(ones)[0],
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    doubled = tree.tree_map(lambda leaf: 2 * leaf, ox.vjp(ox.numpy.sin, x)[1])
    np.testing.assert_allclose(doubled(ones)[0], 2 * np.cos(x), rtol=1e-6)


@BOTH
def test_a_linear_transpose_is_a_tree(ox):
    scale = ox.numpy.arange(3.0)
    transposed = ox.linear_transpose(lambda x: scale * x, ox.numpy.ones(3))
    np.testing.assert_array_equal(
        ox.jit(lambda t, ct: t(ct))(transposed, ox.numpy.ones(3))[0], [0, 1, 2]
    )


@BOTH
def test_an_eager_checkpoint_has_arrays_and_not_those_of_the_caller(ox):
    x = np.arange(4, dtype=np.float32)
    reversed_x = ox.checkpoint(lambda x: x[::-1])(x)
    x[:] = 7
    assert reversed_x.tolist() == [3, 2, 1, 0]

    def add(y):
        y += 1
        return y * 2

    x = np.zeros(3, np.float32)
    assert ox.checkpoint(add)(x).tolist() == [2, 2, 2]
    assert x.tolist() == [0, 0, 0]
    assert ox.checkpoint(lambda x: x * 3)(np.ones(3)).dtype == np.float32
    assert ox.checkpoint(lambda x: 1 / x)(0.0) == np.inf


@BOTH
def test_an_eager_checkpoint_is_traced_once(ox):
    traced = []
    sine = ox.checkpoint(lambda x: traced.append(x) or ox.numpy.sin(x))
    assert sine(0.0) == sine(0.0) == 0
    assert ox.grad(sine)(0.0) == ox.jit(ox.grad(sine))(0.0) == 1
    assert len(traced) == 1


@BOTH
def test_an_eager_checkpoint_has_no_values_but_static_ones(ox):
    def relu(x):
        return x if x > 0 else 0 * x

    assert ox.checkpoint(relu, static_argnums=0)(-2.0) == 0
    for call in (ox.checkpoint(relu), ox.grad(ox.checkpoint(relu))):
        with pytest.raises(ox.errors.ConcretizationTypeError, match="static_argnums"):
            call(2.0)

    def calls_another(x):
        return ox.jit(relu)(x)

    with pytest.raises(ox.errors.ConcretizationTypeError) as caught:
        ox.checkpoint(calls_another)(2.0)
    assert "static_argnums" not in str(caught.value)


@BOTH
def test_rules_of_the_user_have_scalars_with_a_dtype(ox):
    double = ox.custom_vjp(lambda x: x * ox.numpy.ones((), x.dtype) * 2)
    double.defvjp(lambda x: (x * 2, ox.numpy.zeros((), x.dtype)), lambda r, g: (g * 2 + r,))
    assert double(3.0) == 6.0
    assert ox.grad(double)(3.0) == 2.0
    other = ox.custom_jvp(lambda x: x * 2)
    other.defjvp(lambda p, t: (other(p[0]), t[0].astype(p[0].dtype) * 2))
    assert ox.grad(other)(3.0) == 2.0


def test_residuals_and_cotangents_of_a_backward_rule_are_arrays() -> None:
    @olympus.custom_vjp
    def f(x):
        return olympus.numpy.sin(x)

    f.defvjp(lambda x: (f(x), olympus.numpy.cos(x)), lambda res, g: (res * g,))
    (cotangent,) = olympus.vjp(f, 3.0)[1](1.0)
    assert repr(cotangent) == "Array(-0.9899925, dtype=float32, weak_type=True)"
