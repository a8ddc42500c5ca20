"""The derivative functions: arguments, auxiliary results, trees, dtypes; values as the oracle's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus

X = np.array([0.3, -0.7, 1.1], np.float32)
PARAMS = {"w": np.arange(6.0, dtype=np.float32).reshape(2, 3) / 7, "b": [X[:2], X[1:]]}


def same(got, want, rtol=1e-5):
    assert olympus.tree.structure(got).num_leaves == len(jax.tree.leaves(want))
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.names is None and a.dtype.kind != "V":
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


def loss(ox, p, x):
    return ox.numpy.sum(ox.numpy.tanh(p["w"] @ x) * p["b"][0] + p["b"][1])


@pytest.mark.parametrize("argnums", [0, 1, (0,), (1, 0), -1])
def test_argnums(argnums):
    got = olympus.grad(lambda p, x: loss(olympus, p, x), argnums)(PARAMS, X)
    same(got, jax.grad(lambda p, x: loss(jax, p, x), argnums)(PARAMS, X))


@pytest.mark.parametrize("argnums", [np.int64(1), (np.int64(1), 0), [1], jnp.asarray(1), {1}])
def test_argnums_are_any_integers(argnums):
    for name in ("grad", "jacfwd"):
        got = getattr(olympus, name)(lambda x, y: x * y, argnums)(2.0, 3.0)
        same(got, getattr(jax, name)(lambda x, y: x * y, argnums)(2.0, 3.0))


def derivative(ox, transform, function, x):
    """The derivative of a function of a scalar by any transformation."""
    if transform == "jvp":
        return ox.numpy.asarray(ox.jvp(function, (x,), (type(x)(1),))[1])
    if transform == "vjp":
        out, pull_back = ox.vjp(function, x)
        return ox.numpy.asarray(pull_back(type(x)(1) if type(out) is float else out * 0 + 1)[0])
    return getattr(ox, transform)(function)(x)


@pytest.mark.parametrize("transform", ["grad", "jacfwd", "jacrev", "hessian", "jvp", "vjp"])
@pytest.mark.parametrize("x", [2.0, np.float32(2)], ids=["weak", "strong"])
@pytest.mark.parametrize("name", ["identity", "times weak", "times strong", "times array", "sin"])
def test_derivatives_of_scalars_are_arrays_as_weak_as_the_oracles(transform, x, name):
    def of(ox):
        functions = {
            "identity": lambda v: v,
            "times weak": lambda v: v * 3.0,
            "times strong": lambda v: v * np.float32(3),
            "times array": lambda v: ox.numpy.sum(v * np.ones(2, np.float32)),
            "sin": ox.numpy.sin,
        }
        return derivative(ox, transform, functions[name], x)

    got, want = of(olympus), of(jax)
    assert isinstance(got, olympus.Array)
    assert got.weak_type == want.weak_type
    same(got, want)


def test_value_and_grad_with_aux():
    def build(ox):
        return ox.value_and_grad(lambda x: (ox.numpy.sum(x**3), {"twice": 2 * x}), has_aux=True)

    same(build(olympus)(X), build(jax)(X))
    gradient, aux = olympus.grad(lambda x: (x**2, "text"), has_aux=True)(3.0)
    assert float(gradient) == 6.0
    assert aux == "text"


def test_keyword_arguments_pass_through():
    assert float(olympus.grad(lambda x, *, n: x**n)(2.0, n=3)) == 12.0


def test_holomorphic():
    z = np.complex64(0.3 + 0.4j)
    same(
        olympus.grad(lambda z: olympus.numpy.sin(z) * z, holomorphic=True)(z),
        jax.grad(lambda z: jnp.sin(z) * z, holomorphic=True)(z),
    )


def test_real_function_of_complex_values():
    z = (X + 1j * X[::-1]).astype(np.complex64)

    def build(ox):
        return ox.grad(lambda z: ox.numpy.sum(ox.numpy.abs(z * z) ** 2 + (z * 1j).real))

    same(build(olympus)(z), build(jax)(z), rtol=1e-4)


def test_integers_have_gradients_of_no_bytes():
    got = olympus.grad(lambda n, x: x * n, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert got[0].dtype == jax.dtypes.float0
    assert float(got[1]) == 3.0


def test_gradients_have_the_weak_types_and_dtypes_of_the_inputs():
    for x in (2.0, np.float16(2), jnp.bfloat16(2), np.float32(2)):
        x = np.asarray(x) if not isinstance(x, float) else x
        got, want = olympus.grad(lambda x: x * x)(x), jax.grad(lambda x: x * x)(x)
        assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


def test_jvp_vjp_linearize_and_transpose():
    def f(ox):
        return lambda x, y: {"a": ox.numpy.sin(x) * y, "b": (x @ x,)}

    y = np.float32(2.0)
    same(
        olympus.jvp(f(olympus), (X, y), (X, y)),
        jax.jvp(f(jax), (X, y), (X, y)),
    )
    out, pull_back = olympus.vjp(f(olympus), X, y)
    want, jax_pull_back = jax.vjp(f(jax), X, y)
    ct = {"a": X, "b": (np.float32(3.0),)}
    same(pull_back(ct), jax_pull_back(ct))
    same(out, want)
    same(olympus.linearize(f(olympus), X, y)[1](X, y), jax.linearize(f(jax), X, y)[1](X, y))
    linear = olympus.linear_transpose(lambda x: (2 * x)[1:].sum() * X, X)
    same(linear(X), jax.linear_transpose(lambda x: (2 * x)[1:].sum() * X, X)(X))


def product(w, x):
    return {"y": w["a"] @ x, "z": w["b"] * 2}


def test_the_residuals_of_vjp_are_arguments_and_others():
    w, x = {"a": np.ones((2, 3), "float32"), "b": np.ones(2, "float32")}, np.ones(3, "float32")
    texts = []
    for ox in (olympus, jax):
        _, pull_back = ox.vjp(product, ox.device_put(w), ox.device_put(x))
        _, of_scalars = ox.vjp(lambda x, y: x * y, *ox.device_put((np.float32(2), np.int8(3))))
        texts.append((str(pull_back.args_res), str(of_scalars.args_res)))
    assert texts[0] == texts[1]
    _, pull_back = olympus.vjp(lambda x: olympus.numpy.tanh(x).sum(), x)
    assert str(pull_back.args_res) == "[NotNeeded()]"
    assert len(pull_back.opaque_residuals) == len(olympus.tree.leaves(pull_back)) == 1
    assert len(pull_back.jaxpr.consts) == 1


def test_arguments_that_are_not_saved_are_restored():
    w, x = {"a": np.ones((2, 3), "float32"), "b": np.ones(2, "float32")}, np.ones(3, "float32")
    ct = {"y": np.ones(2, "float32"), "z": np.ones(2, "float32")}
    want = olympus.vjp(product, w, x)[1](ct)
    forward = olympus.jit(
        lambda w, x: olympus.vjp(product, w, x, saveable_args=((False, True), True))
    )
    _, pull_back = forward(w, x)
    assert str(pull_back.args_res[0]) == "(NotSaveable(), NotNeeded())"
    assert len(olympus.tree.leaves(pull_back)) == 1
    for call in (lambda: pull_back(ct), lambda: pull_back.jaxpr):
        with pytest.raises(ValueError, match=r"not-saveable residuals.*argument w\['a'\]"):
            call()
    restored = pull_back.replace(args_res=[w, x])
    same(restored(ct), want)

    def backward(pull_back, w, ct):
        pull_back.args_res[0] = w
        return pull_back(ct)

    same(olympus.jit(backward)(pull_back, w, ct), want)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((True,), "has 1 children, and its part of the arguments 2"),
        ((True, (True,)), r"saveable_args\[1\] is a container, and its part .* is a leaf"),
        (((1, True), True), r"saveable_args\[0\]\[0\] is 1 of type int"),
    ],
)
def test_saveable_arguments_are_a_prefix(flags, message):
    w, x = {"a": np.ones((2, 3), "float32"), "b": np.ones(2, "float32")}, np.ones(3, "float32")
    with pytest.raises(ValueError, match=message):
        olympus.vjp(product, w, x, saveable_args=flags)


def test_the_derivative_of_linearize_does_not_run_the_function_again():
    runs = []

    def f(x):
        runs.append(1)
        return olympus.numpy.sin(x)

    _, derivative = olympus.linearize(f, X)
    derivative(X), derivative(2 * X)
    assert len(runs) == 1


@pytest.mark.parametrize("which", ["jacfwd", "jacrev", "hessian"])
def test_jacobians_of_trees(which):
    def f(ox):
        return lambda p: {"y": p["w"] @ p["w"].T * p["b"][0], "z": p["b"][1] ** 3}

    if which == "hessian":
        small = {"w": PARAMS["w"], "b": PARAMS["b"]}
        got = olympus.hessian(lambda p: f(olympus)(p)["z"].sum() + p["w"].sum() ** 2)(small)
        want = jax.jit(jax.hessian(lambda p: f(jax)(p)["z"].sum() + p["w"].sum() ** 2))(small)
    else:
        got = getattr(olympus, which)(f(olympus))(PARAMS)
        want = jax.jit(getattr(jax, which)(f(jax)))(PARAMS)
    same(got, want)


def test_jacobians_take_argnums_and_aux():
    def f(x, y):
        return x * y[0], y

    for which in ("jacfwd", "jacrev"):
        got = getattr(olympus, which)(f, argnums=(0, 1), has_aux=True)(X, X)
        same(got, getattr(jax, which)(f, argnums=(0, 1), has_aux=True)(X, X))


def test_a_number_among_arrays_has_a_derivative():
    x, mask = np.arange(4.0, dtype=np.float32), np.array([True, False, True, True])

    def chosen(ox, s):
        np_ = ox.numpy
        parts = [np_.where(mask, s, x), np_.where(mask, x, s), np_.where(x, s, s * s)]
        parts += [np_.clip(x, s, 3 * s), np_.hypot(s, x)]
        return sum(np_.sum(np_.sin(p)) for p in parts)

    for of in ("value_and_grad", "hessian"):
        got = getattr(olympus, of)(lambda s: chosen(olympus, s))(0.7)
        want = jax.jit(getattr(jax, of)(lambda s: chosen(jax, s)))(0.7)
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5)


def test_stop_gradient():
    x = np.float32(3.0)
    assert float(olympus.grad(lambda x: x * olympus.lax.stop_gradient(x))(x)) == 3.0
    assert float(olympus.grad(lambda x: olympus.lax.stop_gradient({"a": x})["a"] + x)(x)) == 1.0


def test_memory_of_a_scan_is_linear_unless_checkpointed():
    def body(c, _):
        return olympus.numpy.sin(olympus.numpy.sin(c) * c), None

    def residuals(step):
        def f(x):
            return olympus.lax.scan(step, x, None, length=10)[0].sum()

        program = olympus.jit(olympus.grad(f)).trace(X).olympuspr
        forward = next(e for e in program.eqns if e.primitive.name == "scan")
        return sum(v.aval.size for v in forward.outputs)

    assert residuals(body) > residuals(olympus.checkpoint(body, prevent_cse=False))


def test_rows_and_results_of_a_scan_are_its_residuals_without_a_copy():
    def gradient(ox):
        def f(start, rows):
            return ox.lax.scan(lambda c, x: (c * x, c), start, rows)[1].sum()

        return ox.grad(f, (0, 1))

    program = olympus.jit(gradient(olympus)).trace(X[0], X).olympuspr
    forward, backward = (e for e in program.eqns if e.primitive.name == "scan")
    assert len(forward.outputs) == 2
    assert {forward.outputs[1], program.invars[1]} <= {*backward.inputs}
    same(gradient(olympus)(X[0], X), gradient(jax)(X[0], X))


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacfwd", "jacrev", "vmap"])
def test_the_documentation_of_a_derivative_names_the_function(transform):
    def energy(x):
        """Return the energy."""
        return x * x

    ours, theirs = (getattr(package, transform)(energy).__doc__ for package in (olympus, jax))
    assert ours.split(".")[0] == theirs.split(".")[0]
    assert ours.endswith("Return the energy.")
    energy.__doc__ = None
    assert "Original" not in getattr(olympus, transform)(energy).__doc__
