"""olympus.numpy.fft against JAX: values, types, derivatives, batches, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import Row, check, check_derivatives, check_types, row
from tests.marks import needs_gpu_compiler

jnp = ox.numpy
rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4, 2, 3, 2)).astype("float32")
C = (X + 1j * rng.normal(size=X.shape)).astype("complex64")
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")


def of(name: str, x: Any, **options: Any) -> Row:
    return row(
        f"{name} {x.dtype}{x.shape} {options}",
        lambda np, x: getattr(np.fft, name)(x, **options),
        x,
        rtol=1e-5,
        atol=1e-5,
    )


def signal(name: str) -> Any:
    return X if name in OF_REAL else C


ROWS = [
    *[
        of(name, signal(name), **options)
        for name in ONE
        for options in (
            {},
            {"norm": "backward"},
            {"norm": "ortho"},
            {"norm": "forward"},
            {"n": 3, "norm": "ortho"},
            {"n": 9, "axis": 1},
            {"n": 1},
            {"axis": -4},
        )
    ],
    *[
        of(name, signal(name), **options)
        for name in TWO
        for options in ({}, {"s": (3, 4)}, {"axes": (3, 0)}, {"s": [5, 2], "axes": (1, 2)})
    ],
    *[
        of(name, signal(name), **options)
        for name in MANY
        for options in (
            {},
            {"norm": "forward"},
            {"s": (3, 7)},
            {"axes": (1, 3)},
            {"axes": (3, 1), "s": (2, 9)},
            {"axes": ()},
            {"axes": [4, 3, 2, 0], "norm": "ortho"},
            {"s": (2, 3, 4, 5)},
        )
    ],
    *[
        of(name, x)
        for name in ONE
        for x in (
            np.arange(5),
            np.arange(5) > 2,
            np.arange(4, dtype="uint8"),
            np.zeros((0, 3), "float32"),
            np.ones((3, 1), "float32"),
        )
    ],
    *[of(name, np.arange(4).astype("float16")) for name in ("fft", "ifft", "irfft", "hfft")],
    of("irfft", np.zeros((3, 0), "float32")),
    of("fft", np.zeros((3, 0), "float32")),
    of("fftn", np.float32(2)),
]


@pytest.mark.parametrize("jit", [True, False])
def test_values(jit: bool) -> None:
    check(ROWS if jit else ROWS[::3], jit=jit)


def test_types_of_doubles() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check_types([of(n, x) for n in ONE for x in (np.arange(5), np.arange(5.0))])


def test_values_of_lax() -> None:
    def at(np: Any) -> Any:
        return ox.lax if np is jnp else jax.lax

    check([
        row("enum", lambda np, x: at(np).fft(x, at(np).FftType.FFT, (3, 2)), C, atol=1e-5),
        row("name", lambda np, x: at(np).fft(x, "irfft", (2, 3, 2)), C, atol=1e-5),
        row("of integers", lambda np, x: at(np).fft(x, "RFFT", (5,)), np.arange(5), atol=1e-5),
        row("of no axis", lambda np, x: at(np).fft(x, "FFT", ()), X),
    ])  # fmt: skip


def test_batches() -> None:
    check([
        row(
            f"{name} {axis}",
            lambda np, x, name=name, axis=axis: (ox if np is jnp else jax).vmap(
                getattr(np.fft, name), in_axes=axis, out_axes=1
            )(x),
            signal(name),
            rtol=1e-5,
            atol=1e-5,
        )
        for name in ("fft", "irfft", "rfft2", "ifftn")
        for axis in (0, 2, -1)
    ])  # fmt: skip


def _smooth(name: str, **options: Any) -> Callable[[Any, Any], Any]:
    def total(np: Any, x: Any) -> Any:
        spectrum = getattr(np.fft, name)(x, **options)
        return np.sum(
            np.sin(np.real(spectrum)) + np.cos(np.imag(spectrum)) * np.real(spectrum) ** 2
        )

    return total


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *[(name, {}) for name in ONE],
        ("fft", {"n": 3, "norm": "ortho"}),
        ("irfft", {"n": 7}),
        ("rfft", {"n": 7}),
        ("rfftn", {"axes": (1, 0)}),
        ("irfftn", {"s": (3, 4)}),
    ],
)
def test_first_and_second_derivatives(name: str, options: dict[str, Any]) -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(_smooth(name, **options), rng.normal(size=(2, 4)))


def test_inverses() -> None:
    back = jnp.fft.irfftn(jnp.fft.rfftn(X), X.shape)
    np.testing.assert_allclose(back, X, rtol=1e-5, atol=1e-5)
    back = jnp.fft.ihfft(jnp.fft.hfft(X)).real
    np.testing.assert_allclose(back, X, rtol=1e-5, atol=1e-5)


@needs_gpu_compiler
def test_transforms_compile_for_a_gpu() -> None:
    def power(x: Any) -> Any:
        return jnp.sum(jnp.abs(jnp.fft.irfft2(jnp.fft.rfft2(x) * 2)) ** 2)

    traced = ox.jit(ox.grad(power)).trace(ox.ShapeDtypeStruct((3, 8, 8), "float32"))
    text = traced.lower(ox.target("gpu", "h200")).compile().as_text()
    assert text.count(" fft(") >= 2


def test_an_axis_of_none_means_all_and_ihfft_takes_lists() -> None:
    check([
        row("none", lambda jnp, x: jnp.fft.fft(x, axis=None), np.ones((2, 3), np.float32)),
        row("list", lambda jnp: jnp.fft.ihfft([8.0, -2.0, 0.0, -2.0])),
    ])  # fmt: skip
