"""A row of the primitives' test table: what to call, on what, and how exact the result is."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["Arg", "Case", "arg", "as_plain"]


@dataclass(frozen=True)
class Arg:
    """An operand: its shape, and the range its elements are drawn from."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None  # fixed, whatever the case's dtype is


def arg(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str | None = None) -> Arg:
    """An operand of the given shape."""
    return Arg(shape, low, high, dtype)


@dataclass(frozen=True)
class Case:
    """One way to use a primitive; `call(lax, *arrays)` runs on olympus.lax and on jax.lax.

    `dtypes` are the dtypes to run with.  `differentiable` names the operands (by position) that
    derivatives are taken of, for the float and complex dtypes; `doubles` is False where these
    are computed in less than double precision even of doubles.
    """

    primitive: str
    call: Callable[..., Any]
    args: tuple[Arg, ...]
    dtypes: tuple[str, ...] = ("float32",)
    label: str = ""
    rtol: float = 1e-5
    atol: float = 1e-6
    differentiable: tuple[int, ...] | None = None
    doubles: bool = True

    @property
    def id(self) -> str:
        return f"{self.primitive}-{self.label}" if self.label else self.primitive

    def arrays(self, dtype: str) -> list[np.ndarray[Any, Any]]:
        """Operands drawn from a seed of the row's own."""
        rng = np.random.default_rng(zlib.crc32(self.id.encode()))
        return [
            _draw(rng, a, np.dtype(getattr(ml_dtypes, a.dtype or dtype, a.dtype or dtype)))
            for a in self.args
        ]


def _draw(rng: np.random.Generator, a: Arg, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype == np.bool_:
        return rng.integers(0, 2, a.shape).astype(bool)
    if dtype.kind in "iu":
        low = max(0, int(a.low)) if dtype.kind == "u" else int(a.low)
        return rng.integers(low, int(a.high), a.shape, endpoint=True).astype(dtype)
    values = rng.uniform(a.low, a.high, a.shape)
    if dtype.kind == "c":
        return (values + 1j * rng.uniform(a.low, a.high, a.shape)).astype(dtype)
    return np.asarray(values).astype(dtype)


def as_plain(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array as one of a dtype that NumPy itself has, which its comparisons need."""
    return x if x.dtype.kind in "biufc" else x.astype(np.float64)
