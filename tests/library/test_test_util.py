"""check_grads accepts correct derivatives and refuses each kind of wrong ones."""

from __future__ import annotations

import jax
import jax.test_util
import numpy as np
import pytest

import olympus
import olympus.test_util
from tests.day import by_day

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
RIGHT = {
    "scalar": (lambda ox: lambda x: x * ox.numpy.sin(x), (2.0,)),
    "trees": (
        lambda ox: lambda p, x: {"y": ox.numpy.tanh(x @ p["w"]), "n": p["w"].sum()},
        ({"w": np.full((3, 2), 0.3, np.float32)}, np.arange(3, dtype=np.float32)),
    ),
    "complex": (lambda ox: lambda z: ox.numpy.exp(z) * z, (np.complex64(0.3 + 0.5j),)),
    "complex to real": (lambda ox: lambda z: ox.numpy.abs(z) ** 2, (np.complex64(1 + 2j),)),
    "real to complex": (lambda ox: lambda x: ox.numpy.exp(1j * x), (np.float32(0.5),)),
}


@pytest.mark.parametrize("ox", by_day((olympus, jax), [olympus]), ids=["olympus", "jax"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("make", "args"), RIGHT.values(), ids=RIGHT)
def test_correct_derivatives_pass(ox, make, args, order):
    modes = ("fwd", "rev", "lin")
    ox.test_util.check_grads(make(ox), args, order, modes, atol=2e-2, rtol=2e-2, eps=1e-2)


def wrong_jvp(ox, factor):
    @ox.custom_jvp
    def f(x):
        return x**2

    @f.defjvp
    def _(primals, tangents):
        return primals[0] ** 2, factor * primals[0] * tangents[0]

    return f


def wrong_vjp(ox, factor):
    @ox.custom_vjp
    def f(x):
        return x**2

    f.defvjp(lambda x: (x**2, x), lambda x, ct: (factor * x * ct,))
    return f


@BOTH
def test_wrong_derivatives_fail(ox):
    x = (np.float32(1.5),)
    for f, modes in ((wrong_jvp, ("fwd",)), (wrong_jvp, ("lin",)), (wrong_vjp, ("rev",))):
        ox.test_util.check_grads(f(ox, 2.0), x, 1, modes, eps=1e-2, atol=1e-2, rtol=1e-2)
        with pytest.raises(AssertionError):
            ox.test_util.check_grads(f(ox, 2.2), x, 1, modes, eps=1e-2, atol=1e-2, rtol=1e-2)


def test_order_two_finds_a_wrong_second_derivative():
    @olympus.custom_jvp
    def f(x):
        return x**3

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return x**3, 3 * x * olympus.lax.stop_gradient(x) * t

    olympus.test_util.check_grads(f, (1.5,), 1)
    for modes in ("fwd", "rev"):
        with pytest.raises(AssertionError):
            olympus.test_util.check_grads(f, (1.5,), 2, modes)


def test_integers_are_not_perturbed():
    olympus.test_util.check_grads(
        lambda x, i: (x[i] ** 2, i), (np.ones(3, np.float32), 1), 1, eps=1e-2, atol=1e-2, rtol=1e-2
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_defaults_suit_each_dtype(dtype):
    with olympus.enable_x64():
        x = olympus.numpy.linspace(0.2, 1.0, 5).astype(dtype)
        olympus.test_util.check_grads(olympus.numpy.sin, (x,), 1)


@BOTH
def test_tolerances_by_dtype(ox):
    x = (np.full(3, 1.5, np.float32),)
    wide = {np.float32: 1e-1, ox.numpy.float64: 1e-12}
    narrow = {"float32": 1e-2}
    for order in (1, 2):
        ox.test_util.check_grads(wrong_jvp(ox, 2.0), x, order, atol=wide, rtol=wide, eps=1e-2)
    ox.test_util.check_grads(wrong_jvp(ox, 2.1), x, 1, atol=wide, rtol=wide, eps=1e-2)
    with pytest.raises(AssertionError):
        ox.test_util.check_grads(wrong_jvp(ox, 2.4), x, 1, atol=narrow, rtol=narrow, eps=1e-2)
    for value in (np.float16(1.5), ox.numpy.bfloat16(1.5)):  # no tolerance given: the default
        ox.test_util.check_grads(ox.numpy.sin, (value,), 1, atol=narrow, rtol=narrow, eps=1e-1)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="modes of check_grads"):
        olympus.test_util.check_grads(abs, (1.0,), 1, ("forward",))
