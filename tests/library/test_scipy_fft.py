"""olympus.scipy.fft against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import jax.scipy.fft
import numpy as np
import pytest

import olympus as ox
import olympus.scipy.fft
from olympus.errors import ArgumentError, ShapeError, UnsupportedError
from tests.library.oracle import Row, check, check_derivatives, row

FFT = {ox.numpy: olympus.scipy.fft, jax.numpy: jax.scipy.fft}
rng = np.random.default_rng(0)
X = rng.normal(size=(4, 5, 3)).astype(np.float32)


def of(name: str, x: Any, **options: Any) -> Row:
    label = f"{name} {x.shape} {x.dtype} {options}"
    return row(label, lambda n, x: getattr(FFT[n], name)(x, **options), x, rtol=1e-4, atol=1e-4)


ROWS = [
    *[
        of(name, X, **options)
        for name in ("dct", "idct")
        for options in ({}, {"norm": "ortho"}, {"axis": 0}, {"n": 7, "axis": 1}, {"n": 2})
    ],
    *[
        of(name, X, **options)
        for name in ("dctn", "idctn")
        for options in ({}, {"norm": "ortho"}, {"axes": (0, 2)}, {"s": (3, 6)}, {"axes": (1,)})
    ],
    of("dctn", X[0], norm="backward"),
    of("dct", X[0] + 1j * X[1]),
    of("idctn", X[0] + 1j * X[1]),
    of("dct", np.arange(6)),
    of("dct", X[:, 0, 0]),
]


def test_values() -> None:
    check(ROWS, weak=False)
    check(ROWS[::5], jit=False, weak=False)


def test_derivatives_and_batches() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(lambda n, x: n.sum(n.sin(FFT[n].dctn(x))), X[0, :3].astype(np.float64))

    def mapped(n: Any, x: Any) -> Any:
        return (ox if n is ox.numpy else jax).vmap(FFT[n].idct, in_axes=1)(x)

    check([row("vmap", mapped, X, rtol=1e-4, atol=1e-5)], weak=False)


def test_errors() -> None:
    fft = olympus.scipy.fft
    for call, error in (
        (lambda: fft.dct(X, type=1), UnsupportedError),
        (lambda: fft.idctn(X, type=3), NotImplementedError),
        (lambda: fft.dct(X, norm="forward"), ArgumentError),
        (lambda: fft.dct(X, axis=3), ShapeError),
        (lambda: fft.dctn(X, s=(1, 2, 3, 4)), ShapeError),
        (lambda: fft.dct([1.0]), TypeError),
    ):
        with pytest.raises(error):
            call()
