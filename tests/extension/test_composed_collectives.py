"""Collectives, samples and scatters that are made of other operations, beside those of JAX."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.extend.core.primitives
import numpy as np
import pytest

import olympus as ox
import olympus.extend.core.primitives as primitives

P = ox.sharding.PartitionSpec
N = 4


def sharded(f: Any, specs: Any, **options: Any) -> Any:
    auto = (ox.sharding.AxisType.Auto,)
    mesh = ox.make_mesh((N,), ("i",), auto, devices=ox.devices()[:N])
    return ox.jit(ox.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("i"), **options))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_a_broadcast_along_an_axis(dtype: str) -> None:
    x = (np.arange(2 * N) % 3).reshape(N, 2).astype(dtype)
    want = np.broadcast_to(x[2], x.shape)
    mapped = ox.vmap(lambda x: ox.lax.pbroadcast({"x": x}, "i", 2), axis_name="i")(x)["x"]
    assert mapped.dtype == x.dtype
    np.testing.assert_array_equal(mapped, want)
    run = sharded(lambda x: ox.lax.pbroadcast(x, "i", 2), P("i"))
    np.testing.assert_array_equal(run(x), want)
    if dtype == "float32":
        gradient = ox.grad(
            lambda x: (ox.vmap(lambda x: ox.lax.pbroadcast(x, "i", 2), axis_name="i")(x) * x).sum()
        )(x)
        expected = jax.grad(lambda x: (jax.numpy.broadcast_to(x[2], x.shape) * x).sum())(x)
        np.testing.assert_allclose(gradient, expected)


def ragged(seed: int) -> tuple[Any, ...]:
    """Operands of a ragged exchange between N devices, and the results by loops of NumPy."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 3, (N, N)).astype(np.int32)
    length = int(max(sizes.sum(1).max(), sizes.sum(0).max()))
    operand = rng.normal(size=(N, length, 2)).astype(np.float32)
    output = rng.normal(size=(N, length, 2)).astype(np.float32)
    ins = np.cumsum(sizes, 1, dtype=np.int32) - sizes
    outs = np.cumsum(sizes, 0, dtype=np.int32) - sizes
    want = output.copy()
    for i in range(N):
        for j in range(N):
            n = sizes[i, j]
            want[j, outs[i, j] : outs[i, j] + n] = operand[i, ins[i, j] : ins[i, j] + n]
    return (operand, output, ins, sizes, outs, np.ascontiguousarray(sizes.T)), want


@pytest.mark.parametrize("seed", range(3))
def test_an_exchange_of_ragged_parts(seed: int) -> None:
    args, want = ragged(seed)
    exchange = functools.partial(ox.lax.ragged_all_to_all, axis_name="i")
    mapped = ox.vmap(exchange, axis_name="i")
    np.testing.assert_array_equal(mapped(*args), want)
    run = sharded(lambda *xs: exchange(*[x[0] for x in xs])[None], (P("i"),) * 6)
    np.testing.assert_array_equal(run(*args), want)

    def total(operand: Any, output: Any) -> Any:
        return (mapped(operand, output, *args[2:]) * want).sum()

    mine = ox.grad(total, (0, 1))(*args[:2])
    sent, unsent = np.zeros_like(want), want.copy()
    ins, sizes, outs = args[2:5]
    for i in range(N):
        for j in range(N):
            n = sizes[i, j]
            sent[i, ins[i, j] : ins[i, j] + n] = want[j, outs[i, j] : outs[i, j] + n]
            unsent[j, outs[i, j] : outs[i, j] + n] = 0
    np.testing.assert_allclose(mine[0], sent)
    np.testing.assert_allclose(mine[1], unsent)


def test_the_exchange_in_a_program_and_in_groups() -> None:
    args, _ = ragged(0)
    exchange = functools.partial(ox.lax.ragged_all_to_all, axis_name="i")
    run = sharded(lambda *xs: exchange(*[x[0] for x in xs])[None], (P("i"),) * 6)
    program = str(ox.make_jaxpr(run)(*args))
    assert "ragged_all_to_all[" in program
    assert primitives.ragged_all_to_all_p is ox.lax.ragged_all_to_all_p
    x = np.arange(2 * N, dtype=np.float32).reshape(N, 2)
    ones, places = np.ones((N, 2), np.int32), np.asarray([[0, 0], [1, 1]] * 2, np.int32)
    starts = np.tile(np.arange(2, dtype=np.int32), (N, 1))
    groups = [[0, 1], [2, 3]]
    run = sharded(
        lambda *xs: exchange(*[x[0] for x in xs], axis_index_groups=groups)[None], (P("i"),) * 6
    )
    out = run(x, 0 * x, starts, ones, places, ones)
    np.testing.assert_array_equal(out, [[0, 2], [1, 3], [4, 6], [5, 7]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({2: np.zeros((N, N), np.float32)}, "input_offsets must be integer type"),
        ({5: np.zeros((N, N, 1), np.int32)}, "recv_sizes must be rank 1 with positive dimension"),
        ({1: np.zeros((N, 3), np.float32)}, "differ in the first dimension"),
        ({1: np.zeros((N, 3, 2), np.int32)}, "of one dtype"),
    ],
)
def test_wrong_operands_of_an_exchange(change: dict[int, Any], message: str) -> None:
    args = list(ragged(0)[0])
    for i, x in change.items():
        args[i] = x
    with pytest.raises((TypeError, ValueError), match=message):
        ox.vmap(functools.partial(ox.lax.ragged_all_to_all, axis_name="i"), axis_name="i")(*args)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_gamma_samples_by_their_primitive(impl: str) -> None:
    a = np.asarray([[0.5, 2.0, 3.0], [1.0, 0.1, 9.0]], np.float32)
    key = ox.random.key(3, impl=impl)
    p = primitives.random_gamma_p
    assert p is ox.random.random_gamma_p
    for log_space, draw in ((False, ox.random.gamma), (True, ox.random.loggamma)):
        sample = p.bind(key, a, log_space=log_space)
        np.testing.assert_allclose(sample, draw(key, a), rtol=1e-5)
        slope = ox.grad(lambda a, s=log_space: p.bind(key, a, log_space=s).sum())(a)
        np.testing.assert_allclose(slope, ox.grad(lambda a, d=draw: d(key, a).sum())(a), rtol=1e-5)
    keys = ox.random.split(key, 2)
    rows = p.bind(keys, a, log_space=False)
    want = [ox.random.gamma(k, x) for k, x in zip(keys, a, strict=True)]
    np.testing.assert_allclose(rows, want, rtol=1e-5)
    jitted = ox.jit(lambda k, a: p.bind(k, a, log_space=False))(keys, a)
    np.testing.assert_allclose(jitted, rows, rtol=1e-5)
    if impl == "threefry2x32":
        theirs = jax.extend.core.primitives.random_gamma_p
        expected = theirs.bind(jax.random.split(jax.random.key(3), 2), a, log_space=False)
        np.testing.assert_allclose(rows, expected, rtol=2e-4)
    assert ox.random.Key is type(key)


def test_windows_that_select_and_scatter() -> None:
    x = np.asarray([[3.0, 1.0, 4.0, 1.0], [5.0, 9.0, 2.0, 6.0]], np.float32)
    source, results = np.asarray([[10.0, 20.0]], np.float32), []
    for jx in (ox, jax):
        scalar = np.float32(0)
        params: dict[str, Any] = {
            "select_jaxpr": jx.make_jaxpr(lambda a, b: a >= b)(scalar, scalar).jaxpr,
            "select_consts": (),
            "scatter_jaxpr": jx.make_jaxpr(lambda a, b: a + b)(scalar, scalar).jaxpr,
            "scatter_consts": (),
            "window_dimensions": (2, 2),
            "window_strides": (2, 2),
            "padding": ((0, 0), (0, 0)),
        }
        p = jx.lax.select_and_scatter_p
        run = jx.jit(lambda *args, p=p, params=params: p.bind(*args, **params))
        results.append(run(x, source, np.float32(1)))
    np.testing.assert_array_equal(*results)
    assert primitives.select_and_scatter_p is ox.lax.select_and_scatter_p
    with pytest.raises(ValueError, match=r"needs a source of shape \(1, 2\)"):
        run = ox.jit(lambda *args: ox.lax.select_and_scatter_p.bind(*args, **params))
        run(x, x, np.float32(1))
