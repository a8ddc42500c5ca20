"""The derivative and batching laws that every primitive obeys, for every row of the table.

The forward derivative agrees with finite differences and with the oracle, to second order; the
reverse one is its transpose; a batch is a loop.  Each is tested compiled, and for eager operations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus_core.base.errors import TransformError
from tests.primitives.case import Case, as_plain
from tests.primitives.cases import CASES, with_dtypes


def derivative_dtypes(case: Case) -> list[str]:
    """The dtypes in which the derivatives of a row are tested, the widest first."""
    if case.differentiable == ():
        return []
    dtypes = ["float64"] * (case.doubles and "float32" in case.dtypes)
    return [*dtypes, *(d for d in case.dtypes if d in ("float32", "complex64"))]


#: The rules do not depend on the width: by day, float32 only where there are no doubles.
DIFFERENTIABLE = with_dtypes(derivative_dtypes, night={"float32"})
#: Second derivatives, and eager operations, each of which is compiled: one row by day.
ONE_ROW = with_dtypes(derivative_dtypes, night={"float32", "complex64"}, one_row=True)
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
    """Draw an array with the shape and dtype of each of `xs`."""
    rng = np.random.default_rng(seed)

    def one(x):
        value = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            value = value + 1j * rng.standard_normal(x.shape)
        return value.astype(x.dtype)

    return [one(x) for x in xs]


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
    got = olympus.jit(lambda xs, ts: olympus.jvp(ours, tuple(xs), tuple(ts))[1])(xs, ts)
    close(got, want, dtype)
    if dtype == "float64":
        h = 1e-6
        value = olympus.jit(ours)
        up = value(*(x + h * t for x, t in zip(xs, ts, strict=True)))
        down = value(*(x - h * t for x, t in zip(xs, ts, strict=True)))
        finite = [np.isfinite(np.asarray(a)) for a in up]
        slope = [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(up, down, strict=True)]
        got = [np.asarray(a)[f] for a, f in zip(got, finite, strict=True)]
        close(got, [a[f] for a, f in zip(slope, finite, strict=True)], dtype, slack=50.0)


def is_without_reverse(case: Case, error: TransformError) -> bool:
    """Return True for the error that a loop of unknown length has no reverse derivative."""
    return case.primitive == "while" and "while_loop" in str(error)


@pytest.mark.parametrize(("case", "dtype"), DIFFERENTIABLE)
def test_vjp_is_the_transpose_of_jvp(case: Case, dtype: str) -> None:
    ours, _, xs = parted(case, dtype)
    if not xs or not (outs := olympus.eval_shape(ours, *xs)):
        return
    ts, cts = directions(xs, 2), directions(outs, 3)

    def both(xs, ts, cts):
        return olympus.jvp(ours, tuple(xs), tuple(ts))[1], olympus.vjp(ours, *xs)[1](cts)

    try:
        tangents, back = olympus.jit(both)(xs, ts, cts)
    except TransformError as e:
        assert is_without_reverse(case, e)
        return
    forward = sum(np.sum(np.asarray(c) * np.asarray(t)) for c, t in zip(cts, tangents, strict=True))
    reverse = sum(np.sum(np.asarray(b) * t) for b, t in zip(back, ts, strict=True))
    close([np.real(forward)], [np.real(reverse)], dtype)


def second_derivative(module: Any, fun: Callable[..., Any], ts: list[Any]) -> Callable[..., Any]:
    """Return the function of the second derivative of `fun` along `ts`."""

    def first(*xs):
        return module.jvp(fun, xs, tuple(ts))[1]

    return lambda *xs: module.jvp(first, xs, tuple(ts))[1]


@pytest.mark.parametrize(("case", "dtype"), ONE_ROW)
def test_second_derivatives_agree_with_the_oracle(case: Case, dtype: str) -> None:
    ours, oracle, xs = parted(case, dtype)
    if not xs or not olympus.eval_shape(ours, *xs):
        return
    ts = directions(xs, 4)
    want = jax.jit(second_derivative(jax, oracle, ts))(*xs)
    cts = directions(want, 5)
    has_reverse = case.primitive != "while"

    def first(*xs):
        return olympus.jvp(ours, xs, tuple(ts))[1]

    def both(*xs):
        back = olympus.vjp(first, *xs)[1](cts) if has_reverse else ()
        return second_derivative(olympus, ours, ts)(*xs), back

    compiled, back = olympus.jit(both)(*xs)
    close(compiled, want, dtype, slack=10.0)
    if not has_reverse:
        return
    forward = sum(np.sum(np.asarray(c) * np.asarray(w)) for c, w in zip(cts, want, strict=True))
    reverse = sum(np.sum(np.asarray(b) * t) for b, t in zip(back, ts, strict=True))
    close([np.real(forward)], [np.real(reverse)], dtype, slack=10.0)


@pytest.mark.parametrize(("case", "dtype"), ONE_ROW)
def test_eager_derivatives_are_those_of_the_compiled_program(case: Case, dtype: str) -> None:
    ours, _, xs = parted(case, dtype)
    if not xs or not (outs := olympus.eval_shape(ours, *xs)):
        return
    ts, cts = directions(xs, 6), directions(outs, 7)
    laws = [
        lambda xs, ts, cts: olympus.jvp(ours, tuple(xs), tuple(ts))[1],
        lambda xs, ts, cts: second_derivative(olympus, ours, ts)(*xs),
        lambda xs, ts, cts: olympus.vjp(ours, *xs)[1](cts),
    ]
    for law in laws:
        try:
            close(law(xs, ts, cts), olympus.jit(law)(xs, ts, cts), dtype)
        except TransformError as e:
            assert law is laws[-1] and is_without_reverse(case, e)


#: the primitives whose batch is not a loop, which have a test of their own
NO_LOOP = ("rng_bit_generator",)


@pytest.mark.parametrize("case", [row for row in ROWS if not str(row.id).startswith(NO_LOOP)])
def test_a_batch_is_a_loop(case: Case) -> None:
    dtype = case.dtypes[0]
    xs = [np.asarray(x) for x in case.arrays(dtype)]
    count = range(len(xs))
    subsets = [s for n in count for s in itertools.combinations(count, n + 1)]
    runs = [subsets[i % len(subsets)] for i in range(max(3, len(subsets)))] if subsets else []
    places, forms = itertools.cycle((0, -1, 1)), itertools.cycle((olympus.jit, lambda f: f))

    def call(*args):
        return case.call(olympus.lax, *args)

    single = olympus.jit(call)  # each element of every batch has the types of `xs`
    for mapped in runs:
        form = next(forms)
        check_batch(
            case,
            xs,
            mapped,
            next(places),
            lambda axes, form=form: form(olympus.vmap(call, in_axes=axes)),
            single,
        )


def check_batch(
    case: Case,
    xs: list[Any],
    mapped: tuple[int, ...],
    place: int,
    batched: Callable[[tuple[int | None, ...]], Callable[..., Any]],
    single: Callable[..., Any],
) -> None:
    """Compare `batched(axes)`, along axes of the operands in `mapped`, with a loop of `single`."""
    size = 3
    axes = tuple(place % (x.ndim + 1) if i in mapped else None for i, x in enumerate(xs))
    stacked = [
        # other values for each index, in the range of the operand's own
        x if axis is None else np.stack([np.roll(x, k) for k in range(size)], axis=axis)
        for x, axis in zip(xs, axes, strict=True)
    ]

    got = batched(axes)(*stacked)
    each = []
    for k in range(size):
        args = [x if a is None else np.take(x, k, a) for x, a in zip(stacked, axes, strict=True)]
        each.append([np.asarray(v) for v in olympus.tree.leaves(single(*args))])
    want = [np.stack(parts) for parts in zip(*each, strict=True)]
    for a, b in zip(olympus.tree.leaves(got), want, strict=True):
        assert np.asarray(a).dtype == b.dtype
        a = as_plain(np.asarray(a))
        np.testing.assert_allclose(a, as_plain(b), rtol=max(case.rtol, 1e-5), atol=1e-5)
