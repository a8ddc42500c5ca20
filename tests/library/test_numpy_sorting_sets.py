"""Sets and `isin` of olympus.numpy against jax.numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus.errors import ConcretizationTypeError
from tests.library.oracle import check, row

jnp = ox.numpy
A, B = np.array([5, 3, 3, 9]), np.array([3, 7, 9, 9])
F, G = np.array([np.nan, 1, np.nan, 2.5]), np.array([np.nan, 2.5, 3])
MANY = np.arange(200, dtype=np.float32) % 83
SETS = ("union1d", "intersect1d", "setdiff1d", "setxor1d")


def sets(name: str, a: Any, b: Any, **options: Any) -> Any:
    return row(
        f"{name} {a.dtype}{a.shape} {options}",
        lambda n, a, b: getattr(n, name)(a, b, **options),
        a,
        b,
    )


PAIRS = [(A, B), (A.reshape(2, 2), np.float32([9, 4])), (A, A[:0]), (A[:0], A), (A > 4, B > 7)]


def test_sets_of_known_arrays() -> None:
    rows = [sets(name, a, b) for name in SETS for a, b in PAIRS]
    rows += [sets(name, F, G) for name in SETS[:3]]
    rows += [sets(name, A[1:2], B[:3], assume_unique=True) for name in SETS[1:]]
    check([*rows, sets("intersect1d", A, B, return_indices=True)], jit=False, jit_oracle=False)


@pytest.mark.parametrize("jit", [True, False])
def test_sets_of_a_given_size(jit: bool) -> None:
    sizes = ({"size": 6}, {"size": 6, "fill_value": -1}, {"size": 1})
    rows = [sets(name, A, B, **s) for name in SETS for s in sizes]
    rows += [sets("setdiff1d", A, B, assume_unique=True, size=4)]
    rows += [sets("setxor1d", A[:2], B[:3], assume_unique=True, size=4)]
    rows += [sets("intersect1d", A, B, return_indices=True, size=5)]
    check(rows if jit else rows[::4], jit=jit)


@pytest.mark.parametrize("jit", [True, False])
def test_isin(jit: bool) -> None:
    check(
        [
            *[sets("isin", a, b, invert=i) for a, b in (*PAIRS, (F, G), (A + 1j, B))
              for i in (False, True)],
            *[sets("isin", MANY, MANY[::3] * 2, method=m)
              for m in ("auto", "compare_all", "binary_search", "sort")],
            row("scalar", lambda n, b: n.isin(3, b), B),
        ],
        jit=jit,
    )  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_a_compiled_program_needs_the_size_of_a_set(name: str) -> None:
    with pytest.raises(
        ConcretizationTypeError, match=r"needs (its|a) size|elements .* is not known"
    ):
        ox.jit(getattr(jnp, name))(A, B)
