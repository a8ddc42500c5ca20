"""The derivative and batching laws that every primitive obeys, for every row of the table.

The forward derivative agrees with finite differences and with the oracle, to second order; the
reverse one is its transpose; a batch is a loop.  Each holds eagerly and compiled.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import numpy as np
import pytest
from case import Case
from cases import CASES
from test_primitives import as_plain

import olympus
from olympus_core.errors import TransformError

DIFFERENTIABLE = [
    pytest.param(c, d, id=f"{c.id}-{d}")
    for c in CASES
    for d in dict.fromkeys(
        [*["float64"] * c.doubles, *(d for d in c.dtypes if d in ("float32", "complex64"))]
    )
    if c.differentiable != () and ("float32" in c.dtypes or d == "complex64")
]
ROWS = [pytest.param(c, id=c.id) for c in CASES]


@pytest.fixture(autouse=True)
def x64():
    """Finite differences need doubles."""
    with olympus.enable_x64(True), jax.enable_x64(True):
        yield


def inexact(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def parted(case: Case, dtype: str):
    """The operands that derivatives are taken in, and the function of these alone."""
    xs = case.arrays(dtype)
    chosen = case.differentiable
    if chosen is None:
        chosen = tuple(i for i, x in enumerate(xs) if inexact(x))

    def fill(values):
        full = list(xs)
        for i, v in zip(chosen, values, strict=True):
            full[i] = v
        return full

    def ours(*values):
        outs = olympus.tree.leaves(case.call(olympus.lax, *fill(values)))
        return [x for x in outs if x.dtype.kind in "fc"]

    def oracle(*values):
        outs = jax.tree.leaves(case.call(jax.lax, *fill(values)))
        return [x for x in outs if x.dtype.kind in "fc"]

    return ours, oracle, [xs[i] for i in chosen]


def directions(xs, seed):
    rng = np.random.default_rng(seed)

    def one(x):
        value = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            value = value + 1j * rng.standard_normal(x.shape)
        return value.astype(x.dtype)

    return [one(np.asarray(x)) for x in xs]


def close(got, want, dtype, slack=1.0):
    tolerance = slack * (1e-7 if dtype == "float64" else 2e-3)
    for a, b in zip(got, want, strict=True):
        a, b = as_plain(np.asarray(a)), as_plain(np.asarray(b))
        assert a.shape == b.shape
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a / scale, b / scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("case", "dtype"), DIFFERENTIABLE)
def test_jvp_agrees_with_the_oracle_and_finite_differences(case: Case, dtype: str) -> None:
    ours, oracle, xs = parted(case, dtype)
    ts = directions(xs, 1)
    if not xs or not olympus.eval_shape(ours, *xs):
        return
    want = jax.jit(lambda xs, ts: jax.jvp(oracle, tuple(xs), tuple(ts))[1])(xs, ts)
    got = olympus.jvp(ours, tuple(xs), tuple(ts))[1]
    close(got, want, dtype)
    compiled = olympus.jit(lambda xs, ts: olympus.jvp(ours, tuple(xs), tuple(ts))[1])(xs, ts)
    close(compiled, want, dtype)
    if dtype == "float64":
        h = 1e-6
        up = ours(*(x + h * t for x, t in zip(xs, ts, strict=True)))
        down = ours(*(x - h * t for x, t in zip(xs, ts, strict=True)))
        finite = [np.isfinite(np.asarray(a)) for a in up]
        slope = [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(up, down, strict=True)]
        got = [np.asarray(a)[f] for a, f in zip(got, finite, strict=True)]
        close(got, [a[f] for a, f in zip(slope, finite, strict=True)], dtype, slack=50.0)


@pytest.mark.parametrize(("case", "dtype"), DIFFERENTIABLE)
def test_vjp_is_the_transpose_of_jvp(case: Case, dtype: str) -> None:
    ours, _, xs = parted(case, dtype)
    if not xs or not olympus.eval_shape(ours, *xs):
        return
    ts = directions(xs, 2)
    try:
        outs, pull_back = olympus.vjp(ours, *xs)
        cts = directions(outs, 3)
        back = pull_back(cts)
    except TransformError as e:
        assert case.primitive == "while" and "while_loop" in str(e)
        return
    tangents = olympus.jvp(ours, tuple(xs), tuple(ts))[1]
    forward = sum(np.sum(np.asarray(c) * np.asarray(t)) for c, t in zip(cts, tangents, strict=True))
    reverse = sum(np.sum(np.asarray(b) * t) for b, t in zip(back, ts, strict=True))
    close([np.real(forward)], [np.real(reverse)], dtype)
    compiled = olympus.jit(lambda xs, cts: olympus.vjp(ours, *xs)[1](cts))(xs, cts)
    close(compiled, back, dtype)


@pytest.mark.parametrize(("case", "dtype"), [p for p in DIFFERENTIABLE if p.id.endswith("64")])
def test_second_derivatives_agree_with_the_oracle(case: Case, dtype: str) -> None:
    ours, oracle, xs = parted(case, dtype)
    if not xs or not olympus.eval_shape(ours, *xs):
        return
    ts = directions(xs, 4)

    def second(module, fun, xs):
        first = functools.partial(lambda *v: module.jvp(fun, v, tuple(ts))[1])
        return module.jvp(first, tuple(xs), tuple(ts))[1]

    want = jax.jit(lambda *xs: second(jax, oracle, xs))(*xs)
    close(olympus.jit(lambda *xs: second(olympus, ours, xs))(*xs), want, dtype, slack=10.0)


@pytest.mark.parametrize("case", ROWS)
def test_a_batch_is_a_loop(case: Case) -> None:
    dtype = case.dtypes[0]
    xs = [np.asarray(x) for x in case.arrays(dtype)]
    subsets = [s for n in (1, len(xs)) for s in itertools.combinations(range(len(xs)), n)]
    for mapped in filter(None, dict.fromkeys(subsets)):
        for place in (0, -1):
            check_batch(case, xs, mapped, place)


def check_batch(case: Case, xs: list[Any], mapped: tuple[int, ...], place: int) -> None:
    size = 3

    def rows(x, i):
        # other values for each index, in the range of the operand's own
        return np.stack([np.roll(x, k) for k in range(size)], axis=place % (x.ndim + 1)), i

    stacked = [rows(x, i)[0] if i in mapped else x for i, x in enumerate(xs)]
    axes = tuple(place if i in mapped else None for i in range(len(xs)))

    def call(*args):
        return case.call(olympus.lax, *args)

    single = olympus.jit(call)
    got = olympus.jit(olympus.vmap(call, in_axes=axes))(*stacked)
    each = []
    for k in range(size):
        args = [np.take(x, k, place) if i in mapped else x for i, x in enumerate(stacked)]
        each.append([np.asarray(v) for v in olympus.tree.leaves(single(*args))])
    want = [np.stack(parts) for parts in zip(*each, strict=True)]
    for a, b in zip(olympus.tree.leaves(got), want, strict=True):
        assert np.asarray(a).dtype == b.dtype
        a = as_plain(np.asarray(a))
        np.testing.assert_allclose(a, as_plain(b), rtol=max(case.rtol, 1e-5), atol=1e-5)
