"""Arguments of control flow: weak carries, bounds of small dtypes, operands by name, batches."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus

XS = np.arange(7, dtype=np.float32)

CASES = {
    "weak carry of while_loop": lambda ox: ox.lax.while_loop(
        lambda c: c < 10, lambda c: c * 1.5, 1
    ),
    "narrow bounds of fori_loop": lambda ox: ox.lax.fori_loop(
        0, np.int8(3), lambda i, c: c + i, np.int8(1)
    ),
    "weak carry of fori_loop": lambda ox: ox.lax.fori_loop(0, 5, lambda i, c: c * 1.5, 1),
    "weak carry of scan": lambda ox: ox.lax.scan(lambda c, x: (c + 1.0, None), 1, None, length=2),
    "complex carry": lambda ox: ox.lax.scan(lambda c, x: (c * 1j, None), 1.0, None, length=3),
    "bounds of int8": lambda ox: ox.jit(
        lambda z: ox.lax.fori_loop(
            ox.numpy.int8(0),
            ox.numpy.int8(4),
            lambda i, c: (i, i + c[1]),
            (ox.numpy.int8(0), 0),
        )
    )(1.0),
    "map in batches": lambda ox: ox.lax.map(lambda x: 2 * x, XS, batch_size=3),
    "map of trees in batches": lambda ox: ox.lax.map(
        lambda x: (x[0] * 2, x[1].sum()), (XS[:6], np.ones((6, 2), "float32")), batch_size=3
    ),
    "map of less than a batch": lambda ox: ox.lax.map(lambda x: 2 * x, XS, batch_size=10),
    "cond, operand": lambda ox: ox.lax.cond(True, lambda x: x, lambda x: -x, operand=XS),
    "cond, operand None": lambda ox: ox.lax.cond(
        XS[0] < 1, lambda x: 1.0, lambda x: 2.0, operand=None
    ),
    "cond, an operand each": lambda ox: ox.lax.cond(False, XS, lambda x: x, XS + 1, lambda x: -x),
    "switch, operand": lambda ox: ox.lax.switch(1, [lambda x: x, lambda x: -x], operand=XS),
    "scan, _split_transpose": lambda ox: ox.lax.scan(
        lambda c, x: (c + x, c), XS[0], XS, _split_transpose=True
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments_of_control_flow(name):
    got, want = CASES[name](olympus), CASES[name](jax)
    assert repr(olympus.tree.structure(got)) == repr(olympus.tree.structure(want))
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


REFUSED = {
    "an operand twice": lambda ox: ox.lax.cond(True, abs, abs, XS, operand=XS),
    "unroll": lambda ox: ox.lax.scan(lambda c, x: (c, x), 0, XS, unroll=-1),
    "narrower": lambda ox: ox.lax.scan(lambda c, x: (1, None), 1.0, None, length=3),
    "promoted in two steps": lambda ox: ox.lax.scan(
        lambda c, x: ((c[1], c[2], c[2] * np.float32(1.5)), None), (1, 1, 1), None, length=3
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_arguments_of_control_flow(name):
    with pytest.raises((TypeError, ValueError)) as want:
        REFUSED[name](jax)
    with pytest.raises(want.type):
        REFUSED[name](olympus)


def test_rows_and_batches_of_map_are_staged_apart():
    def f(x):
        return x * 2 + x.ndim

    got = olympus.lax.map(f, XS[:6].reshape(2, 3)), olympus.lax.map(f, XS[:6], batch_size=3)
    np.testing.assert_array_equal(got[0], XS[:6].reshape(2, 3) * 2 + 1)
    np.testing.assert_array_equal(got[1], XS[:6] * 2)
