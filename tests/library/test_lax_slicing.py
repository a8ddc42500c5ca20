"""Indices keep their values until their bounds are checked, in every integer dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
import olympus.lax as lax
import olympus.nn as nn
import olympus.numpy as jnp
from olympus import ops

Array = np.ndarray[Any, Any]
Call = Callable[[Any, Any], Any]
LENGTH = 4
X = np.array([5, 6, 7, 8], np.float32)

#: The dtypes of indices, with their values and True if 64-bit dtypes are on.
INDICES: dict[str, tuple[list[int], bool]] = {
    "int8": ([0, 3, 4, 127, -1, -4, -5, -128], False),
    "uint8": ([0, 3, 4, 128, 255], False),
    "int32": ([2, 4, -1, 2**31 - 1, -(2**31)], False),
    "uint32": ([2, 4, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1], False),
    "int64": ([1, -1, 2**31, 2**32, 2**32 + 1, -(2**31) - 1, -(2**32), 2 - 2**32, -(2**63)], True),
    "uint64": ([3, 2**31, 2**32, 2**32 - 1, 2**33 + 2, 2**63, 2**64 - 1], True),
}


def _slope(call: Call) -> Call:
    return ox.grad(lambda x, i: call(x, i).sum())


def _filled(x: Any, i: Any) -> Any:
    return x.at[i].get(mode="fill", fill_value=0)


def _one_row(x: Any, *starts: Any) -> Any:
    return lax.dynamic_slice(x[None], starts, (1, 1))[0]


#: Reads at an index array [1]; an index out of bounds is moved to the nearest element.
CLIPPED: dict[str, Call] = {
    "getitem": lambda x, i: x[i],
    "getitem of a scalar": lambda x, i: x[i[0]][None],
    "dynamic_slice": lambda x, i: lax.dynamic_slice(x, i, (1,)),
    "dynamic_slice of a row": lambda x, i: _one_row(x, jnp.zeros_like(i[0]), i[0]),
}
#: Reads at an index, which return 0 out of bounds.
FILLED: dict[str, Call] = {
    "get": _filled,
    "take": lambda x, i: jnp.take(x, i, fill_value=0),
    "take_along_axis": lambda x, i: jnp.take_along_axis(x, i, 0, fill_value=0),
}
#: Writes or additions of 1 at an index into zeros, which do nothing out of bounds.
WRITTEN: dict[str, Call] = {
    "set": lambda x, i: (x * 0).at[i].set(1),
    "add": lambda x, i: x.at[i].add(1) - x,
    "multiply": lambda x, i: x.at[i].multiply(2) / x - 1,
    "max": lambda x, i: (x * 0).at[i].max(1),
    "apply": lambda x, i: x.at[i].apply(lambda v: v + 1) - x,
    "put_along_axis": lambda x, i: jnp.put_along_axis(x * 0, i, 1, 0, inplace=False),
    "the gradient of get": _slope(_filled),
    "the gradient of take": _slope(FILLED["take"]),
}
#: Like WRITTEN, but negative indices are out of bounds.
COUNTED: dict[str, Call] = {
    "segment_sum": lambda x, i: ops.segment_sum(jnp.ones(1), i, LENGTH),
    "one_hot": lambda x, i: nn.one_hot(i, LENGTH)[0],
    "ravel_multi_index": lambda x, i: (
        jnp.ravel_multi_index((i,), (LENGTH + 2,), mode="clip") == jnp.arange(1, LENGTH + 1)
    ),
}


def _expected(i: int) -> list[tuple[dict[str, Call], Array]]:
    place = i + LENGTH if i < 0 else i
    hot = np.arange(LENGTH) == place
    return [
        (CLIPPED, X[[min(max(place, 0), LENGTH - 1)]]),
        (FILLED, X[hot] if hot.any() else np.zeros(1)),
        (WRITTEN, hot),
    ]


@pytest.mark.parametrize("dtype", INDICES)
def test_bounds_are_checked_before_indices_are_narrowed(dtype: str) -> None:
    values, wide = INDICES[dtype]
    with ox.enable_x64(wide):
        for run in (lambda f: f, ox.jit):
            for calls in (CLIPPED, FILLED, WRITTEN):
                every = run(lambda x, i, calls=calls: {n: f(x, i) for n, f in calls.items()})
                for value in values:
                    index = jnp.asarray(np.array([value], dtype))
                    expected = next(w for c, w in _expected(value) if c is calls)
                    for name, result in every(jnp.asarray(X), index).items():
                        np.testing.assert_array_equal(result, expected, f"{name} at {value}")


@pytest.mark.parametrize("dtype", INDICES)
def test_a_batch_of_indices_has_the_same_bounds(dtype: str) -> None:
    values, wide = INDICES[dtype]
    with ox.enable_x64(wide):
        indices = jnp.asarray(np.array(values, dtype)[:, None])
        for calls in (CLIPPED, FILLED, WRITTEN):
            every = ox.vmap(
                lambda x, i, calls=calls: {n: f(x, i) for n, f in calls.items()}, (None, 0)
            )
            for name, results in ox.jit(every)(jnp.asarray(X), indices).items():
                for value, result in zip(values, results, strict=True):
                    expected = next(w for c, w in _expected(value) if c is calls)
                    np.testing.assert_array_equal(result, expected, f"{name} at {value}")


@pytest.mark.parametrize("dtype", INDICES)
def test_numbers_of_segments_and_classes_are_not_narrowed(dtype: str) -> None:
    values, wide = INDICES[dtype]
    with ox.enable_x64(wide):
        for value in values:
            index = jnp.asarray(np.array([value], dtype))
            hot = np.arange(LENGTH) == value
            clipped = np.arange(1, LENGTH + 1) == min(max(value, 0), LENGTH + 1)
            for name, call in COUNTED.items():
                expected = clipped if name == "ravel_multi_index" else hot
                np.testing.assert_array_equal(call(X, index), expected, f"{name} at {value}")


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_arrays_of_numpy_are_checked_before_they_become_32_bit(dtype: str) -> None:
    for value in INDICES[dtype][0]:
        index = np.array([value], dtype)
        for calls, expected in _expected(value):
            for name in calls.keys() & {"getitem", "get", "take", "take_along_axis", "set", "add"}:
                result = calls[name](jnp.asarray(X), index)
                np.testing.assert_array_equal(result, expected, f"{name} at {value}")
        hot = np.arange(LENGTH) == value
        np.testing.assert_array_equal(nn.one_hot(index, LENGTH)[0], hot)
        np.testing.assert_array_equal(ops.segment_sum(jnp.ones(1), index, LENGTH), hot)


def test_one_hot_has_more_classes_than_the_dtype_has_numbers() -> None:
    encoded = nn.one_hot(jnp.asarray(np.array([0, 44, 127, -1], np.int8)), 300)
    np.testing.assert_array_equal(encoded, np.arange(300) == np.array([[0], [44], [127], [-1]]))


def test_int32_indices_cost_no_check() -> None:
    x, i = ox.ShapeDtypeStruct((4,), "float32"), ox.ShapeDtypeStruct((1,), "int32")
    program = ox.make_olympuspr(lambda x, i: x.at[i].add(1.0))(x, i)
    assert [str(e.primitive) for e in program.eqns if str(e.primitive) in ("min", "max")] == []
