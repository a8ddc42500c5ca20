"""Python ints beside arrays: they wrap around, fit the default int, or are refused."""

from __future__ import annotations

from typing import Any

import jax.numpy
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import check, row

WRAPPING: dict[str, Any] = {
    "add": lambda np, x, i: x + i,
    "remainder": lambda np, x, i: x % i,
    "xor": lambda np, x, i: x ^ i,
    "less": lambda np, x, i: x < i,
    "where": lambda np, x, i: np.where(x > 3, x, i),
    "full": lambda np, x, i: np.full(2, i, x.dtype),
    "full_like": lambda np, x, i: np.full_like(x, i),
    "clip": lambda np, x, i: np.clip(x, i, 300),
    "pad": lambda np, x, i: np.pad(x, 1, constant_values=i),
    "append": lambda np, x, i: np.append(x, i),
    "max": lambda np, x, i: np.max(x, initial=i),
    "astype": lambda np, x, i: np.astype(i, x.dtype),
}


def test_python_ints_wrap_around_in_narrow_and_unsigned_dtypes() -> None:
    rows = [
        row(f"{name} {dtype} {i}", lambda np, x, f=call, i=i: f(np, np.asarray(x), i), x)
        for name, call in WRAPPING.items()
        for dtype in ("uint8", "int8", "uint32")
        for x in [np.array([3, 100, 0, 5], dtype)]
        for i in (-2, 300)
    ]
    check(rows, jit=False)
    check(rows[::3])


def test_a_literal_that_wraps_stays_a_literal() -> None:
    loop = ox.jit(lambda x: ox.lax.fori_loop(0, 3, lambda i, c: c + (-1), x))
    assert loop(np.uint8(9)) == 6
    assert "255" in str(ox.make_olympuspr(lambda x: x + (-1))(np.uint8(9)))


@pytest.mark.parametrize("dtype", ["float32", "uint32", "float16", "int32"])
def test_a_python_int_fits_the_default_int(dtype: str) -> None:
    x = ox.numpy.ones(2, dtype)
    for call in (lambda: x * 2**40, lambda: x + 2**31, lambda: ox.numpy.where(x > 0, x, 2**31)):
        with pytest.raises(OverflowError, match="out of bounds for int32"):
            call()
    with ox.enable_x64(True):
        assert (x + 2**31).dtype == dtype
        with pytest.raises(OverflowError, match="out of bounds for int64"):
            x + 2**70


def test_an_int_that_does_not_fit_the_explicit_dtype_is_refused() -> None:
    for call in (
        lambda: ox.numpy.array(-1, "uint8"),
        lambda: ox.numpy.uint8(300),
        lambda: ox.numpy.asarray([300], "int8"),
    ):
        with pytest.raises(OverflowError):
            call()
    assert ox.numpy.full(2, 2**40, "float32")[0] == np.float32(2**40)


def test_a_class_can_be_derived_from_a_dtype() -> None:
    for side in (ox, jax):

        class Kind(side.numpy.uint8):  # type: ignore[name-defined]
            FIRST = 3

        assert isinstance(Kind, type) and Kind.FIRST == 3
