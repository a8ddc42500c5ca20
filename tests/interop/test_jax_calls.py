"""OLYMPUS functions and bundles in programs of JAX, and JAX functions in programs of OLYMPUS."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import olympus as ox
import olympus.artifact
import olympus.numpy as onp
from olympus.errors import LoweringError, SignatureError, TransformError, UsageError
from olympus.interop.jax import callable as jax_callable
from olympus.interop.jax import jit
from olympus.sharding import PartitionSpec as P
from olympus_core.interop import jax_calls
from tests.artifact.bundles import save
from tests.devices.test_shard_map import BODIES, ORACLE, W, mapped
from tests.devices.test_shard_map import X as ROWS


class Pair(NamedTuple):
    first: Any
    second: Any


TABLE = np.arange(3, dtype=np.float32)
X = np.array([0.5, 1.0, 2.0], np.float32)


def ours(x: Any, y: Any, scale: float = 2.0) -> Any:
    """Return a tree of results; it has the same derivatives as `theirs`."""
    return Pair(onp.sin(x) * y + onp.asarray(TABLE), {"sum": (x * y).sum() * scale})


def theirs(x: Any, y: Any, scale: float = 2.0) -> Any:
    return Pair(jnp.sin(x) * y + TABLE, {"sum": (x * y).sum() * scale})


def assert_close(actual: Any, expected: Any) -> None:
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def loss(fun: Any) -> Any:
    return lambda x, y: fun(x, y)[1]["sum"] ** 2 + fun(x, y)[0].sum()


F = jax_callable(ours)
G = jax_callable(ox.jit(ours))


@pytest.mark.parametrize("fun", [F, G], ids=["function", "jit"])
def test_olympus_function_in_jax(fun: Any) -> None:
    x, y = jnp.asarray(X), jnp.ones(3) * 2
    assert_close(fun(x, y), theirs(x, y))
    assert_close(jax.jit(fun)(x, y), theirs(x, y))
    assert_close(jit(fun)(x, y), theirs(x, y))
    assert_close(jax.jit(lambda x, y: fun(x + 1, y, scale=3.0))(x, y), theirs(x + 1, y, 3.0))
    assert isinstance(fun(X, X)[0], jax.Array)


def test_batches_of_an_olympus_function() -> None:
    xs = jnp.stack([X, X + 1, X * 2])
    for axes in ((0, 0), (0, None), (None, 1)):
        args = [xs if a is not None else xs[0] for a in axes]
        expected = jax.vmap(theirs, axes)(*args)
        assert_close(jax.vmap(F, axes)(*args), expected)
        assert_close(jax.jit(jax.vmap(F, axes))(*args), expected)


def test_derivatives_of_an_olympus_function() -> None:
    x, y = jnp.asarray(X), jnp.ones(3) * 2
    mine, reference = loss(F), loss(theirs)
    for transform in (jax.grad, jax.jacfwd, jax.hessian):
        for argument in (0, 1):
            expected = transform(reference, argument)(x, y)
            assert_close(transform(mine, argument)(x, y), expected)
            assert_close(jax.jit(transform(mine, argument))(x, y), expected)
    xs = jnp.stack([x, y])
    expected = jax.vmap(jax.grad(reference), (0, None))(xs, y)
    assert_close(jax.vmap(jax.grad(mine), (0, None))(xs, y), expected)
    assert_close(jax.grad(lambda x: jax.checkpoint(mine)(x, y))(x), jax.grad(reference)(x, y))


def test_residuals_are_saved_and_not_computed_again() -> None:
    text = jax.jit(jax.grad(lambda x: jax_callable(onp.exp)(x).sum())).lower(X).as_text()
    assert text.count("stablehlo.exponential") == 1


def test_derivative_by_floats_alone() -> None:
    scaled = jax_callable(lambda x, n: x * n.sum())
    derivative = jax.grad(lambda x: scaled(x, jnp.arange(4)).sum())(jnp.asarray(X))
    np.testing.assert_array_equal(derivative, [6, 6, 6])


def test_python_values_are_part_of_the_program() -> None:
    repeated = jax_callable(lambda x, n, kind: onp.tile(x, n) if kind == "tile" else x)
    assert repeated(X, 2, "tile").shape == (6,)
    assert repeated(X, 3, "tile").shape == (9,)
    assert repeated(X, 3, "none").shape == (3,)
    quotient = jax_callable(lambda x, y: x / y)
    for zero in (0.0, -0.0):  # equal, but not the same program
        np.testing.assert_array_equal(quotient(X, zero), np.copysign(np.inf, X * zero))


@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "complex64"])
def test_dtypes(dtype: str) -> None:
    x = jnp.asarray([1, 0, 3], dtype)
    result = jax_callable(lambda x: x[::-1])(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, x[::-1])


def test_x64_is_that_of_jax() -> None:
    with jax.enable_x64(True):
        assert jax_callable(lambda x: x + onp.arange(3))(np.ones(3)).dtype == np.float64
        assert ox.numpy.arange(3).dtype == np.int32
    with ox.enable_x64():
        assert jax_callable(lambda x: x * jnp.arange(3))(onp.ones(3)).dtype == np.float64


def test_several_devices() -> None:
    mesh = Mesh(np.array(jax.devices()[:2]), "d")
    x = jax.device_put(jnp.ones((4, 3)), NamedSharding(mesh, PartitionSpec("d")))
    result = jax.jit(jax_callable(lambda x: onp.tanh(x) @ x.T))(x)
    np.testing.assert_allclose(result, np.tanh(x) @ x.T, rtol=1e-6)


def test_shard_map_of_an_olympus_function() -> None:
    mesh, split = Mesh(np.array(jax.devices()[:2]), "d"), PartitionSpec("d")
    x = jnp.arange(12.0).reshape(4, 3) / 12

    def total(fun: Any) -> Any:
        rows = lambda x, w: jax.lax.psum(fun(x, w).sum(), "d")  # noqa: E731
        specs = {"in_specs": (split, PartitionSpec()), "out_specs": PartitionSpec()}
        return lambda w: jax.shard_map(rows, mesh=mesh, **specs)(x, w)

    mine = total(jax_callable(lambda x, w: onp.tanh(x * w)))
    reference = total(lambda x, w: jnp.tanh(x * w))
    for transform in (jax.grad, jax.hessian, lambda f: f):
        expected = transform(reference)(jnp.asarray(X))
        np.testing.assert_allclose(transform(mine)(jnp.asarray(X)), expected, rtol=1e-5, atol=1e-6)


def test_linear_algebra_of_olympus_alone() -> None:
    # JAX registers the routines for its own operations, so no other one runs in the process
    code = (
        "import numpy as np, jax, olympus.numpy as onp\n"
        "from olympus.interop.jax import callable\n"
        "print(jax.jit(callable(onp.linalg.eigvalsh))(np.eye(2)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "[1. 1.]\n"), result.stderr


@pytest.mark.parametrize(
    ("direction", "fun", "argument"),
    [
        ("an OLYMPUS function takes", lambda key: key, jax.random.key(0)),
        ("an OLYMPUS function returns", lambda x: ox.random.key(0), X),
        ("a JAX function takes", lambda key: key, ox.random.key(0)),
        ("a JAX function returns", lambda x: jax.random.key(0), onp.asarray(X)),
    ],
)
def test_typed_key_is_refused(direction: str, fun: Any, argument: Any) -> None:
    message = rf"{direction} arrays of numbers, and got key<fry>\[\]"
    with pytest.raises(UsageError, match=message) as caught:
        jax_callable(fun)(argument)
    assert caught.value.hint is not None and "key_data" in caught.value.hint


def test_symbolic_shape_is_refused() -> None:
    types = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b"), np.float32)
    with pytest.raises(UsageError, match=r"takes arrays of fixed shapes from JAX, .* float32\[b\]"):
        jax.export.export(jax.jit(jax_callable(onp.sin)))(types)


def test_error_of_an_olympus_function_has_its_line() -> None:
    def branch(flag: Any) -> Any:
        return 1 if flag else 2

    with pytest.raises(ox.errors.TracerBoolConversionError) as caught:
        jax.jit(jax_callable(branch))(True)
    assert any(entry.name == "branch" for entry in caught.traceback)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("bundles") / "f.olympus"
    return olympus.artifact.load(save(path, ox.jit(ours).trace(X, X), name="f"))


def test_bundle_in_jax(bundle: Any) -> None:
    fun, x, y = jax_callable(bundle), jnp.asarray(X), jnp.ones(3)
    expected = theirs(x, y)
    for actual in (fun(x, y), fun(x, y=y), jax.jit(fun)(x, y)):
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-6)
        np.testing.assert_allclose(actual[1]["sum"], expected[1]["sum"], rtol=1e-6)
    mapped = jax.vmap(fun, (0, None))(jnp.stack([x, y]), y)
    np.testing.assert_allclose(mapped[0], jax.vmap(theirs, (0, None))(jnp.stack([x, y]), y)[0])
    np.testing.assert_allclose(jax.grad(loss(fun))(x, y), jax.grad(loss(theirs))(x, y), rtol=1e-5)


def test_arguments_of_a_bundle_are_checked(bundle: Any) -> None:
    with pytest.raises(SignatureError, match="'ours' takes 2 arrays, and got 1"):
        jax_callable(bundle)(X)
    with pytest.raises(
        SignatureError, match=r"argument y of 'ours' is float32\[3\], and got float32\[2\]"
    ):
        jax_callable(bundle)(X, X[:2])


def test_what_cannot_be_called(bundle: Any) -> None:
    with pytest.raises(UsageError, match="needs a function or a bundle, and got 3"):
        jax_callable(3)
    with pytest.raises(UsageError, match="'ours' is compiled, and has no StableHLO"):
        jax_callable(bundle.compiled())


def looped(x: Any, n: int) -> Any:
    """Return a number and a shape: a `scan`, which JAX lowers to a loop without a reverse."""
    last, _ = jax.lax.scan(lambda c, _: (jnp.tanh(c * 1.5), None), x, None, length=4)
    return {"sum": last.sum() * n, "size": x.shape[0]}


H = jax_callable(looped)


def test_jax_function_in_olympus() -> None:
    x, expected = onp.asarray(X), looped(jnp.asarray(X), 2)
    for actual in (H(x, 2), ox.jit(lambda x: H(x, 2))(x)):
        assert isinstance(actual["sum"], ox.Array)
        np.testing.assert_allclose(actual["sum"], expected["sum"], rtol=1e-6)
        assert actual["size"] == 3


def test_derivatives_of_a_jax_function() -> None:
    x, reference = onp.asarray(X), lambda x: looped(x, 2)["sum"]
    mine = lambda x: H(x, 2)["sum"]  # noqa: E731
    first = jax.grad(reference)(jnp.asarray(X))
    np.testing.assert_allclose(ox.grad(mine)(x), first, rtol=1e-5)
    np.testing.assert_allclose(ox.jit(ox.grad(mine))(x), first, rtol=1e-5)
    second = jax.hessian(reference)(jnp.asarray(X))
    np.testing.assert_allclose(ox.jacrev(ox.grad(mine))(x), second, rtol=1e-4, atol=1e-6)
    rows = ox.vmap(ox.grad(mine))(onp.stack([x, x + 1]))
    np.testing.assert_allclose(rows[0], first, rtol=1e-5)
    with pytest.raises(TransformError, match="'looped' has no forward derivative"):
        ox.jvp(mine, (x,), (x,))


def test_custom_rule_of_a_jax_function_is_used() -> None:
    @jax.custom_vjp
    def doubled(x: Any) -> Any:
        return x * 2

    doubled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 100,))
    assert ox.grad(jax_callable(doubled))(1.0 * onp.ones(())) == 100


def test_jax_batches_its_function() -> None:
    factor = lambda x: jnp.linalg.qr(x)[1]  # noqa: E731  (LAPACK's routines are not raised)
    mine, x = jax_callable(factor), np.random.default_rng(0).normal(size=(2, 4, 3, 3))
    x = x.astype("float32")
    theirs = jax.vmap(jax.vmap(factor))(x)
    for batched in (ox.vmap(ox.vmap(mine)), ox.jit(ox.vmap(ox.vmap(mine)))):
        np.testing.assert_allclose(batched(x), theirs, rtol=1e-6)
    rows = ox.vmap(ox.grad(lambda x: mine(x).sum()))(x[0])
    expected = jax.vmap(jax.grad(lambda x: factor(x).sum()))(x[0])
    np.testing.assert_allclose(rows, expected, rtol=1e-5)

    @jax.custom_batching.custom_vmap
    def total(x: Any, y: Any) -> Any:
        return x + y

    @total.def_vmap
    def _rule(size: int, batched: Any, x: Any, y: Any) -> Any:
        return x * size + y, batched[0]

    np.testing.assert_array_equal(ox.vmap(jax_callable(total), (0, None))(onp.ones(3), 1.0), 4)


def test_derivative_by_the_floats_of_a_jax_function() -> None:
    gather = jax_callable(lambda table, index: (table[index], index + 1))
    table, index = onp.asarray(X), onp.array([2, 2, 0])
    np.testing.assert_array_equal(
        ox.grad(lambda t: gather(t, index)[0].sum())(table), np.array([1, 0, 2])
    )


def test_jitted_functions_are_called_by_their_own_arrays() -> None:
    assert isinstance(jax_callable(jax.jit(jnp.sin))(jnp.ones(2)), jax.Array)
    assert isinstance(jax_callable(ox.jit(onp.sin))(onp.ones(2)), ox.Array)


def test_jax_function_that_calls_python() -> None:
    def called(x: Any) -> Any:
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def printing(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    message = "'called' cannot be part of a program of OLYMPUS: "
    with pytest.raises(LoweringError, match=message):
        jax_callable(called)(onp.ones(3))
    with pytest.raises(LoweringError, match="OLYMPUS: it has effects"):
        jax_callable(printing)(onp.ones(3))


@pytest.mark.parametrize(
    ("fun", "reason"),
    [
        (lambda x: ox.pure_callback(lambda x: x, x, x), "calls Python"),
        (lambda x: ox.debug.print("{}", x), "calls Python"),
        (lambda x: ox.debug.inspect_array_sharding(x, callback=print), "has effects"),
    ],
)
def test_olympus_function_that_calls_python(fun: Any, reason: str) -> None:
    with pytest.raises(LoweringError, match=f"'<lambda>' .* program of JAX: it {reason}"):
        jax_callable(fun)(X)


def test_jax_function_that_uses_an_array_of_olympus() -> None:
    scale = onp.ones(3)
    with pytest.raises(UsageError, match="'<lambda>' returned one of OLYMPUS"):
        jax_callable(lambda x: scale)(onp.asarray(X))
    with pytest.raises(TypeError, match=r"unsupported operand .*Tracer' and 'DeviceArray'"):
        jax_callable(lambda x: x * scale)(onp.asarray(X))


def test_jax_function_in_a_shard_map() -> None:
    mesh = ox.sharding.Mesh(np.array(ox.devices()[:2]), ("d",))
    rows = jax_callable(lambda x, w: jnp.tanh(x @ w))

    def total(fun: Any) -> Any:
        body = lambda x, w: ox.lax.psum((fun(x, w) ** 2).sum(), "d")  # noqa: E731
        specs = {"in_specs": (P("d"), P()), "out_specs": P()}
        return lambda w: ox.shard_map(body, mesh=mesh, **specs)(ROWS, w)

    for transform in (ox.grad, lambda f: f):
        expected = transform(total(lambda x, w: onp.tanh(x @ w)))(W)
        np.testing.assert_allclose(transform(total(rows))(W), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["psum", "gather", "scan"])
def test_a_jax_function_of_several_devices_in_a_program(name: str) -> None:
    fun = mapped(ORACLE, *BODIES[name])
    both = ox.jit(lambda x, w: 2 * jax_callable(fun)(x, w))
    compiled = both.lower(ROWS, W).compile()
    assert compiled.num_devices == 8
    np.testing.assert_allclose(compiled(ROWS, W), 2 * jax.jit(fun)(ROWS, W), rtol=1e-5, atol=1e-5)
    grad = ox.jit(ox.grad(lambda w: (jax_callable(fun)(ROWS, w) ** 2).sum()))
    want = jax.grad(lambda w: (fun(ROWS, w) ** 2).sum())(W)
    np.testing.assert_allclose(grad.lower(W).compile()(W), want, rtol=1e-3, atol=1e-3)


def test_calls_outside_of_programs_are_dispatched_by_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    called = jax_calls._call_olympus

    def counted(*args: Any) -> Any:
        calls.append(args)
        return called(*args)

    monkeypatch.setattr(jax_calls, "_call_olympus", counted)
    f = jax_callable(lambda x, y=None: {"sum": onp.sum(x["a"] * 2 if y is None else x["a"] * y)})
    x, y = jnp.arange(3.0), np.ones(3, np.float32)
    for _ in range(3):
        assert float(f({"a": x})["sum"]) == 6
        assert float(f({"a": x}, y=y)["sum"]) == 3
    assert len(calls) == 2
    assert float(f({"a": jnp.arange(4.0)})["sum"]) == 12
    assert float(f({"a": x}, 3)["sum"]) == 9  # a number is part of the program
    assert len(calls) == 4
    assert float(jax.jit(lambda x: f({"a": x})["sum"])(x)) == 6
