"""Functions of JAX compiled by OLYMPUS: options, numbers, transformations, errors and fallbacks."""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify, sparse
from jax.experimental.jet import jet
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import olympus
import olympus.numpy as ox
from olympus.errors import UsageError
from olympus.interop.jax import callable, jit, trace


class Layer(NamedTuple):
    w: Any
    b: Any


def network(layers: list[Layer], x: Any) -> Any:
    for layer in layers:
        x = jnp.tanh(x @ layer.w + layer.b)
    return jnp.mean(x**2)


def parameters(count: int, size: int = 8) -> list[Layer]:
    keys = jax.random.split(jax.random.key(0), count)
    return [Layer(0.3 * jax.random.normal(k, (size, size)), jnp.ones(size)) for k in keys]


def is_lowered_by_olympus(fun: Any, *args: Any, **kwargs: Any) -> bool:
    """Return True if a jaxpr of the function was replaced by a module of OLYMPUS.

    JAX emits one constant for a splat and broadcasts it; OLYMPUS emits the splat.
    """
    text = fun.lower(*args, **kwargs).as_text()
    return "dense<2.500000e-01> : tensor<2x3xf32>" in text


def marked(x: Any) -> Any:
    return x * 0.25


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def assert_same(fun: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Compare the results of the two `jit` bit for bit, with dtypes, weak types and structure."""
    theirs = jax.jit(fun, **options)(*args)
    for as_is in (None, False):
        ours = jit(fun, as_is=as_is, **options)(*args)
        assert jax.tree.structure(ours) == jax.tree.structure(theirs)
        for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert x.aval == y.aval
            if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
                x, y = jax.random.key_data(x), jax.random.key_data(y)
            np.testing.assert_array_equal(x, y)


def test_program_is_lowered_by_olympus() -> None:
    assert is_lowered_by_olympus(jit(marked, as_is=False), X)
    assert not is_lowered_by_olympus(jax.jit(marked), X)
    assert not is_lowered_by_olympus(jit(marked, as_is=True), X)


def test_a_program_lowered_by_olympus_has_the_name_scopes() -> None:
    def scoped(x: Any) -> Any:
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return jnp.tanh(x)

    text = jit(scoped, as_is=False).lower(X).as_text(debug_info=True)
    assert 'loc("scoped/outer/inner/tanh"' in text


def test_program_is_lowered_by_olympus_where_that_is_a_gain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ranked(x: Any) -> Any:
        return marked(jnp.zeros((2, 3))), jnp.argsort(x)

    with caplog.at_level(logging.INFO, "olympus"):
        assert not is_lowered_by_olympus(jit(ranked), jnp.ones(100))
        assert "'ranked' is compiled as JAX lowers it: no operation has a faster" in caplog.text
        assert is_lowered_by_olympus(jit(ranked), jnp.ones(100_000))
    assert "'ranked' is raised: stablehlo.sort has a faster form for the CPU" in caplog.text


def test_layers_without_a_gain_from_blocks_are_those_of_jax(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def loss(layers: list[Layer], x: Any) -> Any:
        for layer in layers:
            for _ in range(20):
                x = x / (1 + x**2)
            x = x @ layer.w
        return x.sum()

    with caplog.at_level(logging.INFO, "olympus"):
        text = jit(jax.grad(loss)).lower(parameters(5), jnp.ones((4, 8))).as_text()
    assert 'inlineable = "false"' not in text
    assert "as JAX lowers it: its repeated layers are faster without blocks" in caplog.text


def test_blocks_are_functions_of_the_module() -> None:
    def normalized(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)

    def deep(layers: list[Layer], x: Any) -> Any:
        for layer in layers:
            scores = normalized(x) @ layer.w @ x.T
            exps = jnp.exp(scores - scores.max(-1, keepdims=True))
            x = x + exps / exps.sum(-1, keepdims=True) @ x
            x = x + jnp.tanh(normalized(x) @ layer.w + layer.b) @ layer.w.T
        return x

    layers, x, step = parameters(6), jnp.ones((4, 8)), deep
    text = jit(step, as_is=False).lower(layers, x).as_text()
    assert 'inlineable = "false"' in text
    assert 'inlineable = "false"' not in jit(step).lower(layers, x).as_text()
    step = jax.grad(lambda *args: deep(*args).sum())
    text = jit(step).lower(layers, x).as_text()
    assert 'inlineable = "false"' in text
    assert 'inlineable = "false"' not in jit(step, repeats="off").lower(layers, x).as_text()
    for ours, theirs in zip(
        jax.tree.leaves(jit(step)(layers, x)),
        jax.tree.leaves(jax.jit(step)(layers, x)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_results_are_those_of_jax() -> None:
    assert_same(lambda x: {"a": (x + 1, None), "b": [x.sum(), x]}, X)
    assert_same(lambda x, y=2.0: x * y, X)
    assert_same(lambda: jnp.arange(3))
    assert_same(lambda x: (x, x, 3, 2.5, True), 1.0)
    assert_same(lambda x: x, X)
    assert_same(lambda x, unused: x @ x.T, X, X)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bool", "bfloat16", "float16", "complex64"])
def test_dtypes(dtype: str) -> None:
    x = jnp.asarray([[0, 1, 2], [3, 0, 5]], dtype)
    assert_same(lambda x: (x + x, jnp.where(x != 0, x, 1), x.T.reshape(-1)[::2]), x)


def test_x64() -> None:
    with jax.enable_x64(True):
        assert_same(lambda x: (x * 2, jnp.cumsum(x), jnp.arange(3), 1.5), np.arange(4.0))
        assert_same(lambda x: x + 1, np.int64(2**40))


def test_typed_keys() -> None:
    def draw(key: Any) -> Any:
        first, second = jax.random.split(key)
        return first, jax.random.normal(second, (3,)), jax.random.permutation(second, 5)

    assert_same(draw, jax.random.key(3))
    assert_same(jax.vmap(draw), jax.random.split(jax.random.key(3), 2))


def test_loops_sorts_and_scatters() -> None:
    def program(x: Any) -> Any:
        total, rows = jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x)
        low = jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))
        chosen = jax.lax.cond(x[0, 0] > 1, jnp.sin, jnp.cos, x)
        return total, rows, low, chosen, jnp.argsort(x, 1), x.at[0, jnp.array([0, 2])].add(1)

    assert_same(program, X)


def test_linear_algebra() -> None:
    a = np.eye(4, dtype=np.float32) * 3 + 1
    assert_same(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.eigh(a)), a)
    assert_same(lambda a: (jnp.linalg.inv(a), jnp.linalg.svd(a), jnp.linalg.qr(a)), a)


def test_statics() -> None:
    def power(x: Any, n: int, *, sign: str) -> Any:
        return x**n if sign == "+" else -(x**n)

    ours = jit(power, static_argnums=1, static_argnames="sign")
    np.testing.assert_array_equal(ours(X, 2, sign="-"), -(X**2))
    np.testing.assert_array_equal(ours(X, 3, sign="+"), X**3)
    shapes = jit(lambda shape, x: jnp.broadcast_to(x, shape), static_argnums=0)
    assert shapes((2, 3), 1.0).shape == (2, 3)


def test_static_that_is_a_pytree_is_passed_by_value() -> None:
    static = Layer(2.0, 3.0)
    ours = jit(lambda layer, x: x * 2 if layer is static else x, static_argnums=0)
    np.testing.assert_array_equal(ours(static, X), X * 2)


def test_decorator_with_options() -> None:
    @jit(static_argnames=("n",))
    def repeat(x: Any, n: int) -> Any:
        """Repeat."""
        return jnp.tile(x, n)

    assert repeat(X, n=2).shape == (2, 6)
    assert (repeat.__name__, repeat.__doc__) == ("repeat", "Repeat.")


def test_donated_argument_is_deleted() -> None:
    ours = jit(lambda x, y: (x + 1, y), donate_argnums=0)
    x, y = jnp.ones((4, 4)), jnp.ones(2)
    ours(x, y)
    assert x.is_deleted() and not y.is_deleted()
    assert "tf.aliasing_output = 0" in ours.lower(jnp.ones((4, 4)), y).as_text()


def test_unused_argument_is_no_argument_of_the_module() -> None:
    def second(x: Any, y: Any) -> Any:
        return y + 1

    assert "%arg1" not in jit(second).lower(X, X).as_text().partition("->")[0]
    assert "%arg1" in jit(second, keep_unused=True).lower(X, X).as_text().partition("->")[0]


def test_closed_over_arrays_and_tracers() -> None:
    weight = jnp.arange(3.0)
    assert_same(lambda x: x @ weight, X)
    derivative = jax.grad(lambda w: jit(lambda x: (x @ w).sum())(X))(weight)
    np.testing.assert_array_equal(derivative, X.sum(0))


def test_derivatives_are_those_of_the_function() -> None:
    layers, x = parameters(2), jnp.ones((3, 8))
    ours = jit(network)
    for transform in (jax.grad, jax.jacfwd, jax.hessian):
        theirs = jax.jit(transform(network))(layers, x)
        for a, b in zip(
            jax.tree.leaves(transform(ours)(layers, x)), jax.tree.leaves(theirs), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_custom_rules_are_used() -> None:
    @jax.custom_vjp
    def clipped(x: Any) -> Any:
        return x * 2

    clipped.defvjp(lambda x: (clipped(x), None), lambda _, g: (jnp.clip(g, -1, 1),))

    @jax.custom_jvp
    def scaled(x: Any) -> Any:
        return x * 2

    scaled.defjvp(lambda p, t: (scaled(*p), 100 * t[0]))
    for fun, expected in ((clipped, 1.0), (scaled, 700.0)):
        inner = jit(fun)
        assert jax.grad(lambda x, inner=inner: 7 * inner(x))(1.0) == expected
        assert jit(jax.grad(lambda x, inner=inner: 7 * inner(x)))(1.0) == expected


def test_custom_rule_that_is_jitted() -> None:
    """The rule is linear in the tangents, and returns a result that the derivative needs."""

    @jax.custom_jvp
    def scaled(x: Any) -> Any:
        return jnp.sin(x)

    scaled.defjvp(jit(lambda p, t: (3 * scaled(*p), 7 * t[0] * p[0])))
    twice = jax.checkpoint(lambda x: scaled(scaled(x)))
    expected = 7 * X * 7 * 3 * np.sin(X)
    for fun in (lambda x: scaled(scaled(x)), twice, jit(twice)):
        np.testing.assert_allclose(jax.grad(lambda x, f=fun: f(x).sum())(X), expected, rtol=1e-6)


def _linear_transpose(own_jit: Any) -> Any:
    fun = own_jit(lambda x, w: (x @ w, 2 * x.sum(), jnp.arange(3)))
    return jax.linear_transpose(lambda x: fun(x, X.T)[:2], X)((jnp.ones((2, 2)), 3.0))


def _linear_solve(own_jit: Any) -> Any:
    matrix = X.T @ X + 3 * np.eye(3, dtype=np.float32)
    product = own_jit(lambda v: matrix @ v)
    return jax.grad(lambda b: jax.scipy.sparse.linalg.bicgstab(product, b)[0][0])(jnp.ones(3))


def _taylor_series(own_jit: Any) -> Any:
    return jet(own_jit(lambda x, y: (jnp.sin(x) * y, x @ y.T)), (X, X), ((X, X), (X, 0 * X)))


def _checked(own_jit: Any) -> Any:
    fun = own_jit(lambda x, index: (jnp.log(x), x[index]))
    for checks in (checkify.float_checks, checkify.index_checks):
        error, _ = checkify.checkify(fun, errors=checks)(-X[1], 9)
        assert error.get() is not None
    return checkify.checkify(fun)(X[1], 1)[1]


def _sparse(own_jit: Any) -> Any:
    fun = sparse.sparsify(own_jit(lambda x, y: (x @ y, 2.0 * x)))
    product, doubled = fun(sparse.BCOO.fromdense(jnp.asarray(X)), X.T)
    return product, doubled.todense()


@pytest.mark.parametrize(
    "program", [_linear_transpose, _linear_solve, _taylor_series, _checked, _sparse]
)
def test_transformations_with_rules_for_jit(program: Callable[[Any], Any]) -> None:
    theirs = program(jax.jit)
    for as_is in (None, False):
        ours = program(functools.partial(jit, as_is=as_is))
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), ours, theirs)


def test_derivative_with_integer_arguments_and_results() -> None:
    @jit
    def fun(x: Any, index: Any) -> Any:
        return (x[index] ** 2).sum(), {"next": index + 1, "is_large": x > 2}

    grad, extra = jax.grad(fun, has_aux=True)(X[0], jnp.array([1, 1]))
    np.testing.assert_array_equal(grad, [0, 4, 0])
    np.testing.assert_array_equal(extra["next"], [2, 2])
    (value, _), (tangent, zero) = jax.jvp(lambda x: fun(x, 1), (X[0],), (X[0],))
    assert (value, tangent, zero["next"].dtype) == (1, 2, jax.dtypes.float0)


def test_nan_is_reported_by_debug_nans() -> None:
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jit(lambda x: jnp.log(x))(-X - 1)


def test_executables_are_read_from_the_cache_of_jax(tmp_path: Path) -> None:
    program = """
import jax, jax.numpy as jnp, numpy as np
from olympus.interop.jax import jit
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jit(lambda x: jnp.tanh(x) @ x.T)(np.ones((3, 3), "f4"))
"""
    run = [sys.executable, "-c", program]
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    written = []
    for _ in range(2):
        subprocess.run(run, env=environment, check=True, capture_output=True)
        written.append(sorted(path.name for path in tmp_path.glob("*-cache")))
    assert written[0] and written[0] == written[1]


def test_batching() -> None:
    np.testing.assert_array_equal(jax.vmap(jit(jnp.sum))(X), X.sum(1))
    np.testing.assert_array_equal(jax.vmap(jit(jnp.dot), (None, 0))(X[0], X), X @ X[0])
    summed = jax.vmap(jit(lambda x: x / jax.lax.psum(x, "rows")), axis_name="rows")(X)
    np.testing.assert_array_equal(summed, X / X.sum(0))
    batched = jax.jit(jax.vmap(jit(lambda x: x * 0.25, as_is=False)))
    assert is_lowered_by_olympus(batched, X)


def test_jit_in_jit() -> None:
    inner = jit(marked, as_is=False)
    assert is_lowered_by_olympus(jax.jit(lambda x: inner(x) + 1), X)
    assert is_lowered_by_olympus(jit(lambda x: jax.jit(marked)(x) + inner(x), as_is=False), X)
    np.testing.assert_array_equal(jit(lambda x: inner(inner(x)))(X), X / 16)
    looped = jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, c: inner(c), x))
    np.testing.assert_array_equal(looped(X), X / 64)


def test_checkpoint() -> None:
    ours = jax.grad(lambda x: jax.checkpoint(jit(lambda x: jnp.sin(jnp.sin(x))))(x))
    np.testing.assert_allclose(ours(0.5), jax.grad(lambda x: jnp.sin(jnp.sin(x)))(0.5), rtol=1e-6)


def test_error_of_the_function_has_the_users_line() -> None:
    def branch(flag: Any) -> Any:
        return 1 if flag else 2  # the line in the traceback

    with pytest.raises(jax.errors.TracerBoolConversionError, match="argument flag") as caught:
        jit(branch)(True)
    assert any(entry.name == "branch" for entry in caught.traceback)
    with pytest.raises(TypeError, match=r"function <lambda> at .*test_jax_jit.py:"):
        jit(lambda x: "text")(1)


def test_errors_of_the_options() -> None:
    with pytest.raises(UsageError, match=r"repeats is .* and got 'on'"):
        jit(marked, repeats="on")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="jit needs a function, and got 3"):
        jit(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="surprise"):
        jit(marked, surprise=1)


def test_program_with_a_callback_is_that_of_jax(caplog: pytest.LogCaptureFixture) -> None:
    def called(x: Any) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.asarray(x) + 1, shape, x) * 0.25

    with caplog.at_level(logging.INFO, "olympus"):
        np.testing.assert_array_equal(jit(called)(X), (X + 1) / 4)
    assert "'called' is compiled as JAX lowers it: the program calls Python" in caplog.text


def test_program_with_an_effect_is_that_of_jax(capfd: pytest.CaptureFixture[str]) -> None:
    def printing(x: Any) -> Any:
        jax.debug.print("sum {}", x.sum())
        return x * 0.25

    np.testing.assert_array_equal(jit(printing)(X), X / 4)
    jax.effects_barrier()
    assert capfd.readouterr().out == "sum 15.0\n"


def test_several_devices() -> None:
    mesh = Mesh(np.array(jax.devices()[:2]), "d")
    sharding = NamedSharding(mesh, PartitionSpec("d"))
    ours = jit(marked, in_shardings=sharding, out_shardings=sharding)
    result = ours(X)
    assert result.sharding == sharding
    np.testing.assert_array_equal(result, X / 4)
    np.testing.assert_array_equal(jit(marked)(jax.device_put(X, sharding)), X / 4)
    mapped = jax.shard_map(
        jit(marked), mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d")
    )
    np.testing.assert_array_equal(mapped(X), X / 4)


def test_another_device_of_the_process() -> None:
    x = jax.device_put(X, jax.devices()[3])
    result = jit(marked)(x)
    assert result.devices() == x.devices()
    np.testing.assert_array_equal(result, X / 4)


def test_export_is_that_of_jax() -> None:
    exported = jax.export.export(jit(marked))(jax.ShapeDtypeStruct((2, 3), np.float32))
    assert "dense<2.500000e-01> : tensor<f32>" in exported.mlir_module()
    (size,) = jax.export.symbolic_shape("n")
    dynamic = jax.export.export(jit(marked))(jax.ShapeDtypeStruct((size, 3), np.float32))
    np.testing.assert_array_equal(dynamic.call(X), X / 4)


def test_disabled_jit_runs_the_function() -> None:
    seen: list[Any] = []
    ours = jit(lambda x: (seen.append(x), x + 1)[1])
    with jax.disable_jit():
        ours(X)
    assert not isinstance(seen[0], jax.core.Tracer)


def test_function_is_traced_once_a_signature() -> None:
    count: list[None] = []

    @jit
    def counted(x: Any) -> Any:
        count.append(None)
        return x + 1

    for x in (X, X, X[0]):
        counted(x)
    assert len(count) == 2


def test_jit_of_jax_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages that a program uses call `jax.jit`."""
    monkeypatch.setattr(jax, "jit", functools.partial(jit, as_is=False))
    assert is_lowered_by_olympus(jax.jit(marked), X)
    np.testing.assert_array_equal(jax.jit(marked, donate_argnums=0)(X), X / 4)
    np.testing.assert_array_equal(jax.grad(lambda x: jax.jit(marked)(x).sum())(X), 0 * X + 0.25)
    np.testing.assert_array_equal(callable(ox.sin)(X), callable(jnp.sin)(ox.asarray(X)))
    assert trace(jax.jit(marked), [olympus.ShapeDtypeStruct((3,), "float32")]).olympuspr


def test_threads() -> None:
    results: dict[int, Any] = {}

    def work(i: int) -> None:
        results[i] = jit(lambda x: jnp.tanh(x) @ x.T + i)(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    base = np.asarray(jax.jit(lambda x: jnp.tanh(x) @ x.T)(X))
    for i in range(6):
        np.testing.assert_allclose(results[i], base + i, rtol=1e-6)


def test_methods_and_partials() -> None:
    class Model:
        def __call__(self, x: Any) -> Any:
            return x * 3

        @functools.partial(jit, static_argnums=0)
        def scaled(self, x: Any) -> Any:
            return x * 2

    np.testing.assert_array_equal(jit(Model())(X), X * 3)
    np.testing.assert_array_equal(Model().scaled(X), X * 2)
    np.testing.assert_array_equal(jit(functools.partial(jnp.add, 1))(X), X + 1)


def test_small_constants_are_in_the_function() -> None:
    """XLA finds equal values in a loop with constants, but not with operands of a call."""
    small, large = np.arange(3, dtype="float32"), np.ones(2000, "float32")

    def program(x: Any) -> Any:
        step = lambda c, _: (jnp.sort(c * small) + large.sum(), None)  # noqa: E731
        return jax.lax.scan(step, x, None, length=3)[0] + jnp.asarray(large)[:3]

    ours, x = jit(program), np.ones(3, "float32")
    text = ours.lower(x).as_text()
    assert "call @program(%cst, %arg0) : (tensor<2000xf32>, tensor<3xf32>)" in text
    np.testing.assert_array_equal(ours(x), jax.jit(program)(x))
    derivative = jax.grad(lambda x: ours(x).sum())(x)
    np.testing.assert_allclose(derivative, jax.grad(lambda x: program(x).sum())(x), rtol=1e-6)
    mapped = jax.vmap(ours)(np.ones((2, 3), "float32"))
    np.testing.assert_allclose(mapped, jax.vmap(program)(np.ones((2, 3), "float32")), rtol=1e-6)
