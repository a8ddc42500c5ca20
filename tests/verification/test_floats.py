"""Distances in ulps, and statistics, for every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from olympus.verification import Tolerance, compare, statistics, ulps
from olympus_core.verification.floats import spacing

FLOATS = [
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3"),
]


@pytest.mark.parametrize("name", FLOATS)
def test_neighbours_are_one_ulp_apart(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.array([1.0, -1.0, 0.25, 1.75, 3.0], dtype)
    wide = x.astype(np.float64)
    y = (wide + np.sign(wide) * spacing(wide, dtype)).astype(dtype)
    assert ulps(x, y).tolist() == [1] * 5
    assert ulps(x, x).tolist() == [0] * 5
    smallest = np.array([ml_dtypes.finfo(dtype).smallest_subnormal], dtype)
    assert ulps(smallest, -smallest).tolist() == [2]


def test_special_values() -> None:
    x = np.float32([0.0, np.nan, np.nan, np.inf, np.inf])
    y = np.float32([-0.0, np.nan, 1.0, np.inf, 3.4028235e38])
    assert ulps(x, y).tolist() == [0, 0, np.inf, 0, 1]
    z = np.complex64([1 + 1j])
    assert ulps(z, np.complex64([1 + np.nextafter(np.float32(1), 2) * 1j])).tolist() == [1]
    assert ulps(np.int8([-128]), np.int8([127])).tolist() == [255]
    assert ulps(np.uint64([2**64 - 1]), np.uint64([0])).tolist() == [2.0**64]


def test_comparison_of_special_values() -> None:
    x = np.float32([np.nan, np.inf, -np.inf, 0.0])
    assert compare(x, x.copy(), 0.0).mismatches == 0
    assert compare(x, np.float32([np.nan, np.inf, -np.inf, -0.0]), 0.0).mismatches == 0
    assert compare(x, np.float32([1, np.inf, np.inf, 0]), 1e30).mismatches == 2
    loose = Tolerance(rtol=1.0)
    assert compare(np.bool_([True]), np.bool_([False]), 0.0, loose).mismatches == 1
    assert compare(np.int32([5]), np.int32([6]), 10.0, loose).mismatches == 1
    assert compare(np.zeros((0, 3), "f4"), np.zeros((0, 3), "f4"), 0.0).size == 0


def test_ulps_are_reported_where_digits_agree() -> None:
    one, near = np.float32([1.0]), np.nextafter(np.float32([1.0]), 2, dtype="f4")
    assert compare(one, near, 1.0).ulps == 1
    assert compare(one, one.copy(), 0.0).ulps == 0
    around_zero = compare(np.float32([1e-20, 1.0]), np.float32([-1e-20, 1.0]), 1.0)
    assert (around_zero.ulps, around_zero.error) == (None, 2 * float(np.float32(1e-20)))
    some = compare(np.float32([1e-20, 1.0]), np.concatenate([np.float32([0.0]), near]), 1.0)
    assert some.ulps == 1
    beyond = compare(np.float32([np.inf]), np.float64([3e38]), 0.0)
    assert (beyond.mismatches, beyond.ulps, beyond.error) == (1, None, np.inf)
    assert beyond.element is not None
    assert (beyond.element.got, beyond.element.ulps) == (np.inf, None)
    assert compare(np.int32([5]), np.int32([8]), 0.0).ulps == 3


def test_statistics() -> None:
    found = statistics(np.float32([1, -3, np.nan, np.inf, 1e-40]))
    assert (found.minimum, found.maximum) == (-3, 1)
    assert (found.nans, found.infinities, found.subnormals) == (1, 1, 1)
    assert statistics(np.full(2, np.finfo("f8").max)).mean == np.finfo("f8").max
    assert statistics(np.zeros((0,), bool)).mean is None
    assert statistics(np.complex64([3 + 4j])).mean == 5
    half = statistics(np.array([1, 2], ml_dtypes.bfloat16))
    assert str(half) == "bfloat16[2], min 1, max 2, mean 1.5"
