"""Promotion, weak types and x64 agree with the oracle for every pair of dtypes."""

from __future__ import annotations

import enum
import itertools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
from olympus_core.base import avals, dtypes
from olympus_core.base.errors import DTypeError

NAMES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2"),
]
WEAK = (1, 1.0, 1j)  # a weak value has the default dtype of its kind


def entries():
    strong = [(dtypes.canonicalize(n), False) for n in NAMES]
    return strong + [(avals.get_aval(x).dtype, True) for x in WEAK]


def oracle(*entries):
    weak_values = {"i": 1, "f": 1.0, "c": 1j}
    values = [weak_values[d.kind] if w else np.zeros((), d) for d, w in entries]
    try:
        dtype, weak = jax.dtypes.result_type(*values, return_weak_type_flag=True)
    except ValueError:  # TypePromotionError
        return None
    return np.dtype(dtype), weak


def ours(*entries):
    try:
        return dtypes.promote(*entries)
    except DTypeError:
        return None


@pytest.mark.parametrize("x64", [False, True])
def test_every_pair_promotes_like_the_oracle(x64):
    with jax.enable_x64(x64), olympus.enable_x64(x64):
        for a, b in itertools.product(entries(), repeat=2):
            assert ours(a, b) == oracle(a, b), (a, b)


@given(st.lists(st.sampled_from(entries()), min_size=1, max_size=5))
def test_several_promote_like_the_oracle(several):
    assert ours(*several) == oracle(*several)


def test_x64_is_a_context():
    assert dtypes.canonicalize("float64") == np.float32
    with olympus.enable_x64(True):
        assert dtypes.canonicalize("float64") == np.float64
        assert avals.get_aval(1.0).dtype == np.float64
    assert dtypes.canonicalize("int64") == np.int32


@pytest.mark.parametrize(("text", "message"), [("maybe", "is 0 or 1, and not 'maybe'"), ("0", "")])
def test_x64_of_the_environment_is_yes_or_no(text, message):
    environment = {**os.environ, "OLYMPUS_ENABLE_X64": text}
    command = [sys.executable, "-c", "import olympus"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert message in done.stderr and bool(message) == bool(done.stderr)


def test_strict_promotion_refuses_mixed_dtypes():
    a, b = (np.dtype("int32"), False), (np.dtype("float32"), False)
    with olympus.numpy_dtype_promotion("strict"):
        with pytest.raises(DTypeError, match="strict"):
            dtypes.promote(a, b)
        assert dtypes.promote(b, (np.dtype("float32"), True)) == (np.float32, False)


@pytest.mark.parametrize("name", ["bool", "int8", "uint32", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("number", WEAK)
def test_strict_promotion_of_python_numbers_as_in_jax(name: str, number: complex) -> None:
    def promoted(package):
        with package.numpy_dtype_promotion("strict"):
            try:
                return np.dtype(package.numpy.result_type(package.numpy.zeros(2, name), number))
            except ValueError as e:
                assert "strict" in str(e)
                return type(e).__name__

    assert promoted(olympus) == promoted(jax)


def test_names_are_what_programs_and_messages_have():
    assert avals.get_aval(np.zeros((2, 3), ml_dtypes.bfloat16)).short_name() == "bf16[2,3]"
    assert avals.get_aval(True).long_name() == "bool[]"


BAD = [
    "float33",
    object,
    "datetime64[s]",
    np.dtype("O"),
    "__name__",
    "finfo",
    "i4,,",
    {"a": 1},
    [1],
]


@pytest.mark.parametrize("bad", BAD)
def test_a_dtype_that_does_not_exist_is_an_error(bad):
    with pytest.raises(DTypeError):
        dtypes.dtype(bad)


class Count(enum.IntEnum):
    THREE = 3


class Length(float):
    pass


class Single(np.float32):
    pass


SCALARS = {
    "eager": lambda package, x: package.numpy.add(x, 1),
    "jit": lambda package, x: package.jit(lambda v: v + 1)(x),
    "closed over": lambda package, x: package.jit(lambda v: v * x)(np.ones(2, np.float16)),
    "array": lambda package, x: package.numpy.asarray(x),
    "list": lambda package, x: package.numpy.asarray([x, 1]),
    "result": lambda package, x: package.jit(lambda: x)(),
    "vmap": lambda package, x: package.vmap(lambda v: v * x)(np.ones(2, np.float16)),
    "full": lambda package, x: package.numpy.full((2,), x),
}


@pytest.mark.parametrize("x", [Count.THREE, Length(2.5), Single(2.5), np.float64(2.5)], ids=type)
@pytest.mark.parametrize("use", SCALARS.values(), ids=SCALARS)
def test_a_scalar_of_a_subclass_is_one_of_its_base(use, x):
    ours, theirs = use(olympus, x), use(jax, x)
    assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)
    np.testing.assert_array_equal(ours, theirs)


def test_an_int_of_a_subclass_must_fit_as_well():
    big = enum.IntEnum("Big", {"MORE": 2**40}).MORE
    for call in (jnp.asarray, olympus.numpy.asarray):
        with pytest.raises(OverflowError):
            call(big)


TYPES_ALONE = {
    "jit": lambda package, x: package.jit(lambda v: v)(x),
    "grad": lambda package, x: package.grad(package.numpy.sin)(x),
    "device_put": lambda package, x: package.device_put(x),
}


@pytest.mark.parametrize("call", TYPES_ALONE.values(), ids=TYPES_ALONE)
def test_a_type_without_data_is_no_argument_of_a_call(call):
    with pytest.raises(TypeError):
        call(jax, jax.ShapeDtypeStruct((), "float32"))
    with pytest.raises(DTypeError, match=r"elements of an array float32\[\], and a ShapeDtype"):
        call(olympus, olympus.ShapeDtypeStruct((), "float32"))


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("category", ["integer", "floating", "inexact", "number", "generic"])
def test_categories_agree_with_the_oracle(a, category):
    got = dtypes.is_sub_dtype(dtypes.dtype(a), getattr(np, category))
    assert got == jnp.issubdtype(dtypes.dtype(a), getattr(jnp, category))
