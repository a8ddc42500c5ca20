"""Contexts in which operations are errors, or have another form, beside those of JAX."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])
X = np.asarray([0.5, -1.0, 2.0], np.float32)


@BOTH
def test_tracing_is_forbidden(jx: Any) -> None:
    double = jx.jit(lambda x: 2 * x)
    double(X)
    with jx.no_tracing(True):
        np.testing.assert_array_equal(double(X), 2 * X)
        with pytest.raises(RuntimeError, match="for `jit`, but 'no_tracing' is set"):
            double(X[:2])
        with pytest.raises(RuntimeError, match="re-tracing function"):
            jx.jit(lambda x: x + 1).lower(X)
    double(X[:2])


@BOTH
def test_execution_is_forbidden(jx: Any) -> None:
    double, array = jx.jit(lambda x: 2 * x), jx.numpy.asarray(X)
    compiled = double.lower(array).compile()
    for run in (double, compiled, jx.numpy.sin):
        run(array)
        run(array)
        with (
            jx.no_execution(True),
            pytest.raises(RuntimeError, match=r"ried to execute function .*no_execution config"),
        ):
            run(array)
        run(array)
    with jx.no_execution(True):
        assert jx.jit(lambda x: x + 1).lower(X).compile() is not None
        assert jx.make_jaxpr(lambda x: x + 1)(X).jaxpr.eqns


@BOTH
def test_sums_of_half_floats_are_forbidden(jx: Any) -> None:
    half = X.astype(np.float16)
    with jx.allow_f16_reductions(False):
        jx.numpy.sum(half)
        jx.lax.reduce_sum_p.bind(X, axes=(0,), **({"out_sharding": None} if jx is jax else {}))
        with pytest.raises(ValueError, match="jax_allow_f16_reductions=False"):
            jx.lax.reduce_sum(half, (0,))
        with pytest.raises(ValueError, match="jax_allow_f16_reductions=False"):
            jx.jit(lambda x: jx.lax.reduce_sum(x, (0,)))(half)
        assert jx.lax.reduce_sum(half[:1], (0,)) == half[0]
    jx.jit(lambda x: jx.lax.reduce_sum(x, (0,)))(half)


@BOTH
def test_operands_that_vary_along_different_axes(jx: Any) -> None:
    auto = (jx.sharding.AxisType.Auto,)
    mesh = jx.make_mesh((4,), ("i",), auto, devices=jx.devices()[:4])
    spec = jx.sharding.PartitionSpec

    def run(f: Any) -> Any:
        mapped = jx.shard_map(f, mesh=mesh, in_specs=(spec("i"), spec()), out_specs=spec("i"))
        return jx.jit(mapped)(np.arange(4, dtype=np.float32), X[:1])

    want = np.arange(4) + X[0]
    np.testing.assert_allclose(run(lambda x, y: x + y), want)
    with jx.auto_pcast(False):
        with pytest.raises(ValueError, match="requires varying manual axes"):
            run(lambda x, y: x + y)
        np.testing.assert_allclose(run(lambda x, y: x + jx.lax.pcast(y, "i", to="varying")), want)


def test_the_derivative_of_softmax() -> None:
    where = np.asarray([True, False, True])
    for options in ({}, {"where": where}):
        results = []
        for jx in (ox, jax):
            with jx.softmax_custom_jvp(True):
                results.append(
                    jx.jit(jx.jacrev(lambda x, jx=jx, o=options: jx.nn.softmax(x, **o)))(X)
                )
                results.append(jx.jacfwd(lambda x, jx=jx, o=options: jx.nn.softmax(x, **o))(X))
        for x in results:
            np.testing.assert_allclose(x, results[-1], rtol=1e-5, atol=1e-6)
    with ox.softmax_custom_jvp():
        mine = ox.make_jaxpr(lambda x: ox.nn.softmax(x))(X)
    assert "custom_jvp_call" in str(mine)
    assert "custom_jvp_call" not in str(ox.make_jaxpr(lambda x: ox.nn.softmax(x))(X))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (5, 3), (0,)])
def test_random_words_of_counters_in_pairs(shape: tuple[int, ...]) -> None:
    found: list[list[Any]] = []
    for jx in (ox, jax):
        with jx.threefry_partitionable(False):
            key = jx.random.key(7)
            drawn = [jx.random.bits(key, shape, f"uint{w}") for w in (8, 16, 32)]
            with jx.enable_x64(True):
                drawn.append(jx.random.bits(key, shape, "uint64"))
            drawn.append(jx.random.key_data(jx.random.split(key, shape)))
            drawn.append(jx.jit(lambda key, jx=jx: jx.random.uniform(key, shape))(key))
            keys = jx.random.split(key, 3)
            drawn.append(jx.vmap(lambda k, jx=jx: jx.random.bits(k, shape))(keys))
            drawn.append(jx.random.permutation(key, 10))
            found.append(drawn)
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    other = ox.random.key_data(ox.random.split(ox.random.key(7), shape))
    assert np.array_equal(found[0][4], other) is (np.size(other) == 0)


_CYCLE = """
import gc, sys
import {package} as jx
with jx.array_garbage_collection_guard("{level}"):
    cycle = [jx.numpy.ones(3)]
    cycle.append(cycle)
    del cycle
    gc.collect()
"""


@pytest.mark.parametrize("package", ["olympus", "jax"])
@pytest.mark.parametrize(("level", "is_written"), [("log", True), ("allow", False)])
def test_arrays_that_the_garbage_collector_deletes(
    package: str, level: str, is_written: bool
) -> None:
    code = _CYCLE.format(package=package, level=level)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ("was deleted by the Python garbage collector" in done.stderr) is is_written


def test_the_options_of_the_process() -> None:
    gc.collect()
    ox.config.update("jax_array_garbage_collection_guard", "allow")
    assert ox.config.jax_array_garbage_collection_guard == "allow"
    with pytest.raises(ValueError, match=r"\['allow', 'log', 'fatal'\]"):
        ox.config.update("jax_array_garbage_collection_guard", "never")
    with ox.no_tracing():
        assert ox.config.jax_no_tracing
    ox.config.update("jax_no_tracing", True)
    try:
        with pytest.raises(RuntimeError, match="no_tracing"):
            ox.jit(lambda x: x)(1)
    finally:
        ox.config.update("jax_no_tracing", False)


def test_collectives_are_forbidden() -> None:
    def f(x: Any) -> Any:
        return ox.lax.psum(x, "i") + ox.lax.axis_index("i")

    run = ox.vmap(f, axis_name="i")
    run(X)
    with ox.sharding.no_collectives({"j"}):
        run(X)
    for forbidden in (run, ox.jit(run)):
        with (
            ox.sharding.no_collectives({"i"}),
            pytest.raises(ValueError, match="Collective across axis 'i' is forbidden"),
        ):
            forbidden(X)
    with ox.sharding.no_collectives({"i"}):
        ox.vmap(lambda x: x + ox.lax.axis_index("i"), axis_name="i")(X)
    with pytest.raises(TypeError, match="Expected axis name"):
        ox.sharding.no_collectives("i")


def test_names_of_values_without_names_of_tangents() -> None:
    def names(function: Any) -> int:
        program = ox.make_jaxpr(lambda x, t: ox.jvp(lambda x: function(x, "x"), (x,), (t,)))(X, X)
        return sum(eqn.primitive is ox.ad_checkpoint.name_p for eqn in program.jaxpr.eqns)

    assert names(ox.ad_checkpoint.checkpoint_name_fwd) == 1
    assert names(ox.ad_checkpoint.checkpoint_name) == 2
    policy = ox.checkpoint_policies.save_only_these_names("x")

    def f(x: Any) -> Any:
        return ox.numpy.sin(ox.ad_checkpoint.checkpoint_name_fwd(ox.numpy.sin(x), "x")).sum()

    gradient = ox.grad(ox.checkpoint(f, policy=policy))(X)
    np.testing.assert_allclose(gradient, np.cos(np.sin(X)) * np.cos(X), rtol=1e-5)
    again = str(ox.make_jaxpr(ox.grad(ox.checkpoint(f, policy=policy)))(X))
    assert again.count("sin") < str(ox.make_jaxpr(ox.grad(ox.checkpoint(f)))(X)).count("sin")
    with pytest.raises(ox.errors.UsageError, match="needs a string"):
        ox.ad_checkpoint.checkpoint_name_fwd(X, 3)
