"""Loops over small arrays, which XLA compiles to one function each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
import olympus.interop.jax
import olympus.numpy as jnp
from olympus import lax
from olympus.interop import stablehlo
from olympus_core.execution import compilation, compiled_loops

#: the attribute of a call that is compiled to one function
MARK = "xla_cpu_small_call"

X = np.random.default_rng(0).standard_normal(64).astype("float32")
XS = np.random.default_rng(1).standard_normal((30, 64)).astype("float32")
MATRIX = np.random.default_rng(2).standard_normal((64, 64)).astype("float32") / 8


def total(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.tanh(c + v), c.sum()), x, xs)


def filtered(_: Any, xs: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        mean, cov = state
        return (0.5 * cov @ mean + row, 0.1 * cov @ cov.T + 0.5 * jnp.eye(4)), mean

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), xs[:, :4])


def branching(x: Any, xs: Any) -> Any:
    return lax.cond(x[0] > 0, total, lambda x, xs: total(2 * x, xs), x, xs)


def with_constant(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.tanh(MATRIX @ c + v), c), x, xs)


def without_operands(x: Any, xs: Any) -> Any:
    counted = lax.fori_loop(0, 9, lambda i, c: jnp.sin(c + i) * jnp.arange(64.0), jnp.ones(64))
    return x + counted, xs


def twice(x: Any, xs: Any) -> Any:
    return total(total(x, xs)[0], 2 * xs)


def part(x: Any, xs: Any) -> Any:
    def step(i: Any, out: Any) -> Any:
        row = lax.dynamic_slice(out, (i, 0), (1, 64))
        return lax.dynamic_update_slice(out, jnp.tanh(2 * row + x), (i + 1, 0))

    return lax.fori_loop(0, 20, step, xs)


def integers(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (c * 3 + v, c), x.astype("int8"), xs.astype("int8"))


def at_places(x: Any, xs: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return c.at[(3 * i) % 70].add(jnp.tanh(c)[i % 64]).at[i % 64].set(c[0] + c.mean())

    return lax.fori_loop(0, 90, step, x), xs


def scattering(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (c.at[jnp.arange(1, 9)].add(v[:8]), c), x, xs)


def scattering_in_large(x: Any, xs: Any) -> Any:
    return lax.fori_loop(0, 9, lambda i, c: (0.5 * c).at[i].add(1), jnp.tile(x, 2)), xs


def nested(x: Any, xs: Any) -> Any:
    inner = lambda c, v: lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c + v), c)  # noqa: E731
    return lax.scan(lambda c, v: (inner(c, v), c), x, xs)


def nested_in_large(x: Any, xs: Any) -> Any:
    return nested(jnp.tile(x, 2), jnp.tile(xs, 2))


def sorting(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.sort(c) + v, c), x, xs)


def large(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.tanh(c + v), None), jnp.zeros((5, 64)), xs)


def long_products(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (0.1 * c @ c + v[:8], None), jnp.zeros((8, 8)), xs)


def summed_products(x: Any, xs: Any) -> Any:
    """XLA may compute the sum over the batch as one product over 16 elements."""
    return lax.scan(
        lambda c, v: (jnp.einsum("bij,bjk->ik", c, c)[None] * jnp.ones((4, 1, 1)) + v[0], None),
        jnp.zeros((4, 4, 4)),
        xs,
    )


def positions(x: Any, xs: Any) -> Any:
    return lax.scan(lambda c, v: (c + v, jnp.argmax(c)), x, xs)


def tiny(x: Any, xs: Any) -> Any:
    return lax.fori_loop(0, 9, lambda i, c: c + i, x[0])


def compiled(fun: Callable[..., Any], monkeypatch: pytest.MonkeyPatch | None = None) -> Any:
    """Return the lowered program; without the rewrite if `monkeypatch` is given."""
    if monkeypatch is not None:
        monkeypatch.setattr(compilation, "compile_loops", lambda _: 0)
    return ox.jit(lambda x, xs: fun(x, xs)).lower(X, XS)


@pytest.mark.parametrize(
    ("fun", "count"),
    [
        (total, 1),
        (branching, 2),
        (with_constant, 1),
        (without_operands, 1),
        (twice, 2),
        (part, 1),
        (filtered, 1),
        (lambda x, xs: ox.grad(lambda x: total(x, xs)[0].sum())(x), 2),
        (lambda x, xs: ox.vmap(total, (0, None))(x.reshape(4, 16), xs[:, :16]), 1),
        (integers, 1),
        (at_places, 1),
        (nested, 1),
    ],
)
def test_a_loop_over_small_arrays_is_one_function(
    fun: Callable[..., Any], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_loops, "_COMPUTED", 128)  # as for the oldest jaxlib
    lowered = compiled(fun)
    assert lowered.as_text().count(MARK) == count
    results = ox.tree_util.tree_leaves(lowered.compile()(X, XS))
    plain = compiled(fun, monkeypatch)
    assert MARK not in plain.as_text()
    expected = ox.tree_util.tree_leaves(plain.compile()(X, XS))
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_short_products_of_matrices_may_be_in_a_function() -> None:
    lowered = compiled(filtered)
    assert lowered.as_text().count(MARK) == 1
    expected = jax.tree.leaves(filtered_by_numpy())
    for ours, theirs in zip(
        ox.tree_util.tree_leaves(lowered.compile()(X, XS)), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def filtered_by_numpy() -> Any:
    mean, cov, means = np.zeros(4), np.eye(4), []
    for row in XS[:, :4]:
        means.append(mean)
        mean, cov = 0.5 * cov @ mean + row, 0.1 * cov @ cov.T + 0.5 * np.eye(4)
    return (mean, cov), np.array(means)


@pytest.mark.parametrize(
    "fun",
    [
        nested_in_large,
        sorting,
        large,
        long_products,
        summed_products,
        positions,
        tiny,
        scattering,
        scattering_in_large,
    ],
)
def test_other_loops_stay(fun: Callable[..., Any]) -> None:
    lowered = compiled(fun)
    assert "stablehlo.while" in lowered.as_text()
    assert MARK not in lowered.as_text()
    lowered.compile()(X, XS)


def test_other_targets_have_plain_loops() -> None:
    traced = ox.jit(filtered).trace(X, XS)
    assert MARK not in traced.lower(ox.target("gpu", "h200")).as_text()
    assert MARK not in traced.lower(lowering_platforms=("cpu", "cuda")).as_text()


def test_flags_of_libraries_turn_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=")
    assert MARK not in compiled(filtered).as_text()


def test_the_cost_is_that_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, plain = compiled(filtered), compiled(filtered, monkeypatch)
    assert ours.cost().flops == plain.cost().flops


def test_a_function_is_raised_to_the_loop_in_it(tmp_path: Path) -> None:
    file = tmp_path / "filter.mlir"
    file.write_text(compiled(filtered).as_text())
    program = stablehlo.read(file)
    names = [eqn.primitive.name for eqn in program.olympuspr.eqns]
    assert names.count("while") == 1
    assert program.lower().as_text().count(MARK) == 1
    for ours, theirs in zip(
        ox.tree_util.tree_leaves(program.lower().compile()(X, XS)),
        jax.tree.leaves(filtered_by_numpy()),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        """func.func @main(%x: tensor<2xf32>) -> tuple<tensor<2xf32>> {
             %0 = stablehlo.tuple %x : tuple<tensor<2xf32>>
             return %0 : tuple<tensor<2xf32>>
           }""",
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
             %0 = call @pair(%x) : (tensor<2xf32>) -> tuple<tensor<2xf32>>
             %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
             return %1 : tensor<2xf32>
           }
           func.func private @pair(%x: tensor<2xf32>) -> tuple<tensor<2xf32>> {
             %0 = stablehlo.tuple %x : tuple<tensor<2xf32>>
             return %0 : tuple<tensor<2xf32>>
           }""",
        """func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {
             %0 = stablehlo.tuple %x : tuple<tensor<2xf32>>
             %1 = "stablehlo.case"(%i) ({
               %2 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
               stablehlo.return %2 : tensor<2xf32>
             }) : (tensor<i32>) -> tensor<2xf32>
             return %1 : tensor<2xf32>
           }""",
        """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
             %0 = stablehlo.tuple %x : tuple<tensor<2xf32>>
             %1 = call @first(%0) : (tuple<tensor<2xf32>>) -> tensor<2xf32>
             %2 = call @first(%0) : (tuple<tensor<2xf32>>) -> tensor<2xf32>
             %3 = stablehlo.add %1, %2 : tensor<2xf32>
             return %3 : tensor<2xf32>
           }
           func.func private @first(%x: tuple<tensor<2xf32>>) -> tensor<2xf32> {
             %0 = stablehlo.get_tuple_element %x[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
             return %0 : tensor<2xf32>
           }""",
    ],
)
def test_other_tuples_are_not_raised(text: str) -> None:
    from olympus_core.mlir import bindings as mlir
    from olympus_core.raising.raising import raise_module
    from olympus_core.raising.unraisable import UnraisableError

    with pytest.raises(UnraisableError, match="tuple"):
        raise_module(mlir.parsed(f"module {{ {text} }}"))


def test_jit_of_jax_compiles_loops_of_programs_that_stay_jaxs() -> None:
    def rates(xs: Any) -> Any:
        step = lambda c, v: (jax.numpy.eye(4) @ (0.1 * c @ c + 0.2 * v), c[0])  # noqa: E731
        return jax.lax.scan(step, jax.numpy.eye(4), xs[:, :4])

    ours, theirs = olympus.interop.jax.jit(rates), jax.jit(rates)
    assert MARK in ours.lower(XS).as_text()
    for x, y in zip(jax.tree.leaves(ours(XS)), jax.tree.leaves(theirs(XS)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


def test_a_function_is_searched_once() -> None:
    same = ox.jit(filtered)
    lowered = ox.jit(lambda x, xs: (same(x, xs), same(2 * x, 2 * xs))).lower(X, XS)
    text = lowered.as_text()
    assert text.count("stablehlo.while") == text.count(MARK) == 1
    assert compiled_loops.compile_loops(lowered.compiler_ir()) == 0


def test_values_are_alive_until_the_call_is_emitted() -> None:
    """With this allocator of Python, an object that was released cannot be read."""
    program = """
import numpy as np, olympus as ox, olympus.numpy as jnp
fun = ox.jit(lambda x: ox.lax.scan(lambda c, v: (jnp.tanh(c @ c + v), c), jnp.eye(4), x))
assert "xla_cpu_small_call" in fun.lower(np.ones((30, 4, 4), "float32")).as_text()
"""
    environment = os.environ | {"PYTHONMALLOC": "debug"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
