"""Tangents of integers, which have no data, through every transformation and staged function."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus

F0 = jax.dtypes.float0
VECTOR = np.ones(3, np.float32)


def compared(ox, x):
    return ox.jvp(lambda v: (v * v, v > 0), (x,), (x,))


CASES = {
    "jit": lambda ox: ox.jit(lambda x: compared(ox, x))(VECTOR),
    "jit in jit": lambda ox: ox.jit(lambda x: ox.jit(lambda v: compared(ox, v))(x))(VECTOR),
    "jit of a tangent": lambda ox: ox.jit(lambda t: (t, 1.0))(np.zeros(3, F0)),
    "jit donating": lambda ox: ox.jit(lambda t, x: (t, x + 1), donate_argnums=1)(
        np.zeros(3, F0), ox.numpy.ones(3)
    ),
    "jit of jvp of integers": lambda ox: ox.jit(
        lambda x, t: ox.jvp(lambda v: (v, v > 0), (x,), (t,))
    )(1, np.zeros((), F0)),
    "vmap": lambda ox: ox.vmap(lambda x: compared(ox, x))(VECTOR),
    "vmap, out_axes": lambda ox: ox.vmap(lambda x: compared(ox, x), out_axes=1)(
        np.ones((2, 3), np.float32)
    ),
    "vmap of a tangent": lambda ox: ox.vmap(lambda x, t: ox.jit(lambda *v: v)(x, t))(
        VECTOR, np.zeros((3, 2), F0)
    ),
    "vmap of jit": lambda ox: ox.vmap(ox.jit(lambda x: compared(ox, x)))(VECTOR),
    "grad of jit": lambda ox: ox.grad(lambda x: ox.jit(lambda v: compared(ox, v))(x)[1][0].sum())(
        VECTOR
    ),
    "jvp of jit": lambda ox: ox.jvp(ox.jit(lambda v: compared(ox, v)), (VECTOR,), (VECTOR,)),
    "scan, ys": lambda ox: ox.lax.scan(lambda c, x: (c, compared(ox, x)), VECTOR[0], VECTOR),
    "scan, carry": lambda ox: ox.lax.scan(
        lambda c, x: (compared(ox, x)[1][1], x), np.zeros((), F0), VECTOR
    ),
    "while_loop": lambda ox: ox.lax.while_loop(
        lambda c: c[0] < 3,
        lambda c: (c[0] + 1, compared(ox, c[0])[1][1]),
        (VECTOR[0], np.zeros((), F0)),
    ),
    "map": lambda ox: ox.lax.map(lambda x: compared(ox, x), VECTOR),
    "cond": lambda ox: ox.lax.cond(
        True, lambda x: compared(ox, x), lambda x: compared(ox, x), VECTOR
    ),
    "checkpoint": lambda ox: ox.jit(ox.checkpoint(lambda x: compared(ox, x)))(VECTOR),
    "grad of an integer": lambda ox: ox.vmap(ox.grad(lambda x: x * 1.0, allow_int=True))(
        np.arange(3)
    ),
    "jacfwd": lambda ox: ox.jacfwd(lambda x: (x, x.astype(int)))(ox.numpy.ones(2)),
    "jacfwd of cond": lambda ox: ox.jit(
        ox.jacfwd(lambda x: ox.lax.cond(x > 0, lambda: (x, 1), lambda: (1.0, 2)))
    )(2.0),
    "jacrev of an integer": lambda ox: ox.jacrev(lambda x: x * 1.0, allow_int=True)(1),
    "jacrev of integers": lambda ox: ox.jit(ox.jacrev(lambda x, y: x * y, (0, 1), allow_int=True))(
        np.arange(2), VECTOR[:2]
    ),
    "created": lambda ox: (
        [getattr(ox.numpy, name)((2, 3), dtype=F0) for name in ("zeros", "ones", "empty")]
        + [ox.numpy.full((2,), 1, F0), ox.numpy.zeros_like(VECTOR, F0)]
    ),
    "as an array": lambda ox: [
        ox.numpy.asarray(np.zeros(2, F0)),
        ox.numpy.zeros_like(np.zeros(2, F0)),
        ox.numpy.zeros_like(np.zeros(2, F0), "float32"),
        ox.device_put(np.zeros(2, F0)),
    ],
    "eval_shape": lambda ox: ox.tree.map(
        lambda s: np.zeros(s.shape, s.dtype), ox.eval_shape(lambda x: compared(ox, x), VECTOR)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_float0_goes_around_programs(name):
    got, want = CASES[name](olympus), CASES[name](jax)
    assert repr(olympus.tree.structure(got)) == repr(olympus.tree.structure(want))
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        if np.asarray(a).dtype != F0:
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("package", [olympus, jax])
def test_float0_is_no_operand(package):
    add = package.numpy.add
    for operands in ((np.zeros(3, F0), VECTOR), (VECTOR, np.zeros(3, F0))):
        with pytest.raises(TypeError, match="Called add with a float0 array"):
            add(*operands)


def test_float0_goes_around_unstaged_loops():
    with olympus.disable_jit():
        got = olympus.lax.map(lambda x: compared(olympus, x), VECTOR)
    assert (got[1][1].shape, got[1][1].dtype) == ((3,), F0)


def test_float0_has_rows_to_scan_over():
    shapes = []
    xs = VECTOR, np.zeros((3, 2), F0)
    _, ys = olympus.lax.scan(lambda c, x: (shapes.append(x[1].shape) or c, x), VECTOR[0], xs)
    assert shapes == [(2,)]
    assert (ys[1].shape, ys[1].dtype) == ((3, 2), F0)
