"""The namespaces around the functions: dtypes, core, typing, under the oracle's names."""

from __future__ import annotations

import importlib

import jax
import jax.extend.core
import numpy as np
import pytest

import olympus
import olympus.core
import olympus.extend.core
import olympus.typing
from olympus import dtypes

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
#: of whole values: what has no like in OLYMPUS
ABSENT = {
    "core": set(),
    "dtypes": set(),
    "typing": set(),
    "test_util": set(),
    "flatten_util": set(),
}


@pytest.mark.parametrize("name", ABSENT)
def test_names(name):
    ours, theirs = (importlib.import_module(f"{ox}.{name}") for ox in ("olympus", "jax"))
    # "@" begins what pytest puts into a module whose file is called as a test's
    wanted = {n for n in dir(theirs) if not n.startswith(("_", "@"))}
    assert wanted - set(dir(ours)) == ABSENT[name]
    assert getattr(olympus, name) is ours


SCALARS = "bool_ int4 int8 int32 uint16 float16 bfloat16 float32 float64 complex64 float8_e4m3fn"


@pytest.mark.parametrize("name", SCALARS.split())
def test_scalar_types_have_names(name):
    ours, theirs = getattr(olympus.numpy, name), getattr(jax.numpy, name)
    assert ours.__name__ == theirs.__name__
    assert ours.__qualname__ == theirs.__qualname__


@BOTH
def test_categories_of_dtypes(ox):
    key = ox.random.key(0)
    for module in (ox.dtypes, ox.numpy):
        assert module.issubdtype(key.dtype, ox.dtypes.prng_key)
        assert module.issubdtype(key.dtype, ox.dtypes.extended)
        assert not module.issubdtype(key.dtype, np.floating)
        assert not module.issubdtype(np.float32, ox.dtypes.prng_key)
        assert module.issubdtype(ox.dtypes.prng_key, ox.dtypes.extended)
        assert module.issubdtype(ox.numpy.bfloat16, np.floating)
        assert module.issubdtype(ox.dtypes.bfloat16, ox.numpy.inexact)


@BOTH
def test_questions_about_dtypes(ox):
    assert ox.dtypes.canonicalize_dtype(float) == np.float32
    assert ox.dtypes.canonicalize_dtype("int64") == np.int32
    assert ox.dtypes.scalar_type_of(np.int8) is ox.dtypes.scalar_type_of(3) is int
    assert ox.dtypes.scalar_type_of(2.0) is float
    assert [ox.dtypes.itemsize_bits(d) for d in ("int4", "bool", "bfloat16", "complex64")] == [
        4, 8, 16, 64,
    ]  # fmt: skip
    assert ox.dtypes.result_type("int8", 2.0) == np.float32
    key = ox.random.key(0)
    assert ox.dtypes.canonicalize_dtype(key.dtype, allow_extended_dtype=True) == key.dtype
    with pytest.raises(ox.dtypes.TypePromotionError):
        ox.numpy.add(np.ones(1, ox.dtypes.bfloat16), np.ones(1, ox.numpy.float8_e4m3fn.dtype))
    assert issubclass(ox.dtypes.TypePromotionError, ValueError)


@BOTH
def test_types_of_arrays(ox):
    aval = ox.core.ShapedArray((2, 3), "float32", weak_type=True)
    assert (aval.shape, aval.dtype, aval.ndim, aval.size) == ((2, 3), np.float32, 2, 6)
    assert aval.weak_type
    assert aval.strip_weak_type() == ox.core.ShapedArray((2, 3), np.dtype("float32"))
    assert aval.update(shape=(3,)) == ox.core.ShapedArray((3,), np.float32, True)
    assert aval != ox.core.ShapedArray((2, 3), np.float32)
    assert repr(aval) == "ShapedArray(float32[2,3], weak_type=True)"
    assert str(aval.strip_weak_type()) == "float32[2,3]"
    integers = [n.core.ShapedArray((2, 3), np.dtype("int32")) for n in (ox, jax)]
    assert [str(t.to_tangent_aval()) for t in (aval, *integers)] == [
        str(aval),
        *["float0[2,3]"] * 2,
    ]
    assert aval.str_short() == "float32[2,3]"
    assert isinstance(aval, ox.core.AbstractValue)
    assert ox.typeof(np.ones((2, 3), np.float32)) == aval.strip_weak_type()


def test_a_type_is_one_object_and_narrow():
    aval = olympus.core.ShapedArray([2], "float64")
    assert aval is olympus.core.ShapedArray((2,), np.float32)
    with pytest.raises(olympus.errors.ShapeError):
        olympus.core.ShapedArray((-1,), "float32")


@BOTH
def test_tracers(ox):
    seen = []

    @ox.jit
    def f(x, key):
        seen.extend([isinstance(v, c) for v in (x, key) for c in (ox.core.Tracer, ox.Array)])
        seen.append(issubclass(type(x), ox.core.Tracer))
        return x

    class Mine(ox.core.Tracer):
        pass

    f(1.0, ox.random.key(0))
    assert seen == [True] * 5
    for value in (ox.numpy.ones(2), ox.random.key(0), 1.0):
        assert not isinstance(value, ox.core.Tracer)
    assert issubclass(Mine, ox.core.Tracer) and not issubclass(ox.core.Tracer, Mine)
    assert ox.extend.core.valid_jaxtype(1.0) and not ox.extend.core.valid_jaxtype("a")
    assert ox.extend.core.concrete_or_error(int, 3.0) == 3
    with pytest.raises(ox.errors.ConcretizationTypeError):
        ox.jit(lambda x: ox.extend.core.concrete_or_error(int, x, "for a test"))(1)


@BOTH
def test_types_for_annotations(ox):
    for value in (ox.numpy.ones(2), np.ones(2), np.float32(1), True, 1, 1.0, 1j):
        assert isinstance(value, ox.typing.ArrayLike)
    assert not isinstance("text", ox.typing.ArrayLike)
    assert not isinstance([1.0], ox.typing.ArrayLike)

    def f(x: ox.typing.ArrayLike, dtype: ox.typing.DTypeLike | None = None) -> ox.Array: ...

    assert f.__annotations__
    assert dtypes.float0 == jax.dtypes.float0
