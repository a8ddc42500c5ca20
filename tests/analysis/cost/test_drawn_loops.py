"""Drawn loops run as often as the cost counts, or their count is unknown."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus as ox
import olympus.numpy as jnp
from olympus import lax
from tests.drawn import examples

N = 4
X = ox.ShapeDtypeStruct((N,), "float16")
TESTS = (operator.lt, operator.le, operator.gt, operator.ge, operator.ne)
DTYPES = ("int8", "uint8", "int16", "int32", "uint32")
WAYS = ("plain", "in a scan", "in a function", "mapped")


def actual(start, test, bound, step, is_left, most=1200) -> int | None:
    """Return the number of iterations of a loop with wrapping integers, or None above `most`."""
    i, trips = start, 0
    while test(bound, i) if is_left else test(i, bound):
        trips += 1
        if trips > most:
            return None
        with np.errstate(over="ignore"):
            i = i + step
    return trips


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@examples(20)
def test_the_count_of_a_drawn_loop_is_its_number_of_iterations(way, data):
    scalar = np.dtype(data.draw(st.sampled_from(DTYPES))).type
    least = 0 if scalar(0).dtype.kind == "u" else -20
    numbers = st.integers(least, 20)
    starts = [scalar(n) for n in data.draw(st.lists(numbers, min_size=3, max_size=3))]
    bound = scalar(data.draw(numbers))
    step = scalar(data.draw(st.integers(1 if least == 0 else -3, 3)))
    test, is_left = data.draw(st.sampled_from(TESTS)), data.draw(st.booleans())

    def goes_on(c):
        return test(jnp.asarray(bound), c[0]) if is_left else test(c[0], bound)

    def loop(x, start):
        return lax.while_loop(goes_on, lambda c: (c[0] + step, c[1] * np.float16(2)), (start, x))[1]

    def program(x):
        if way == "mapped":
            return ox.vmap(loop, (None, 0))(x, np.array(starts))
        if way == "in a scan":
            return lax.scan(lambda c, _: (loop(c, starts[0]), None), x, None, length=3)[0]
        return ox.jit(loop)(x, starts[0]) if way == "in a function" else loop(x, starts[0])

    counts = [actual(s, test, bound, step, is_left) for s in starts]
    figures = ox.jit(program).lower(X).cost()
    if figures.flops is None:
        assert None in (counts if way == "mapped" else counts[:1])
        return
    flops = {row.key: row.flops for row in figures.by("dtype")}.get("float16", 0)
    if (
        way == "mapped"
    ):  # each step multiplies all lanes, and selects the old value of a lane that has ended
        assert flops == max(n for n in counts if n is not None) * 2 * len(starts) * N
    else:
        assert flops == counts[0] * N * (3 if way == "in a scan" else 1)


INTEGERS = ("int8", "uint8", "int32", "uint32")


@st.composite
def bounds(draw, dtype, depth=3):
    """An expression of constants; NumPy and the backends differ at the limits of the dtypes."""
    if not depth or draw(st.booleans()):
        if dtype == "float32":
            number = np.float32(draw(st.sampled_from([-1, 0.1, 2.5, 300, 1e10, 1e-40, np.nan])))
            return lambda: jnp.asarray(number)
        ends = np.iinfo(dtype)
        number = draw(st.sampled_from([ends.min, 0, 1, 3, 7, 20, ends.max]))
        return lambda: jnp.asarray(np.dtype(dtype).type(number))
    first = draw(bounds(dtype, depth=depth - 1))
    if draw(st.booleans()):
        source_dtype = draw(st.sampled_from([*INTEGERS, "float32"]))
        source = draw(bounds(source_dtype, depth=depth - 1))
        return lambda: lax.convert_element_type(source(), np.dtype(dtype))
    second = draw(bounds(dtype, depth=depth - 1))
    rules = [lax.add, lax.sub, lax.mul, lax.max, lax.min]
    if dtype != "float32":
        rules += [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]
    rule = draw(st.sampled_from(rules))
    return lambda: rule(first(), second())


@given(data=st.data())
@examples(20)
def test_the_count_of_a_drawn_bound_is_the_number_of_iterations(data):
    dtype = data.draw(st.sampled_from(INTEGERS))
    bound, test = data.draw(bounds(dtype)), data.draw(st.sampled_from(TESTS[:2]))
    step, most = np.dtype(dtype).type(data.draw(st.integers(1, 3))), 500

    def loop(x, n, limit):
        def goes_on(c):
            more = test(c[1], bound())
            return more if limit is None else more & (c[2] < limit)

        def body(c):
            return c[0] * np.float16(2), c[1] + step, c[2] + 1

        return lax.while_loop(goes_on, body, (x, np.dtype(dtype).type(0), n))[2]

    scalar = ox.ShapeDtypeStruct((), "float16"), ox.ShapeDtypeStruct((), "int32")
    figures = ox.jit(lambda x, n: loop(x, n, None)).lower(*scalar).cost()
    if figures.flops is None:
        return
    counted = {row.key: row.flops for row in figures.by("dtype")}.get("float16", 0)
    ran = int(ox.jit(loop)(np.float16(1), np.int32(0), np.int32(most)))
    assert min(counted, most) == ran
