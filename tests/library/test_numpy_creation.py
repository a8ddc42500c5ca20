"""Arrays from values, ranges, grids, triangles, windows and dtypes, against jax.numpy."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, ConcretizationTypeError, DTypeError, ShapeError
from tests.library.oracle import check, row

jnp = ox.numpy
Call = Callable[..., Any]

VALUES: dict[str, Call] = {
    "int": lambda np: np.array(2),
    "float": lambda np: np.asarray(2.5),
    "bool": lambda np: np.asarray(True),
    "complex": lambda np: np.array(2j),
    "float as int": lambda np: np.array(2.7, dtype="int8"),
    "complex as float": lambda np: np.array([2.0], dtype=np.complex64).real,
    "int as bfloat16": lambda np: np.asarray(3, np.bfloat16),
    "list": lambda np: np.array([[1, 2], [3, 4.5]]),
    "list of bools and ints": lambda np: np.array([True, 2]),
    "list dtype": lambda np: np.array([1, 2, 300], dtype=np.uint16),
    "empty list": lambda np: np.array([]),
    "empty rows": lambda np: np.array([[], []]),
    "tuple": lambda np: np.asarray((1, 2)),
    "ndmin": lambda np: np.array([1, 2], ndmin=3),
    "ndmin scalar": lambda np: np.array(1.0, ndmin=1),
    "list of arrays": lambda np: np.array([np.ones(2, "int8"), np.zeros(2, "int8")]),
    "list of array and scalar": lambda np: np.array([np.int8(1), 2.0]),
    "range": lambda np: np.array(range(3)),
    "zeros": lambda np: np.zeros((2, 3)),
    "zeros int": lambda np: np.zeros(3, int),
    "ones": lambda np: np.ones(2, "bfloat16"),
    "ones scalar": lambda np: np.ones(()),
    "full": lambda np: np.full((2,), 7),
    "full dtype": lambda np: np.full(3, 7.9, "int32"),
    "full array": lambda np: np.full((2, 3), np.arange(3)),
    "full bool": lambda np: np.full(2, True),
    "zeros_like scalar": lambda np: np.zeros_like(2.5),
    "ones_like": lambda np: np.ones_like(np.arange(3)),
    "ones_like dtype": lambda np: np.ones_like(np.arange(3), "float16"),
    "full_like": lambda np: np.full_like(np.arange(3), 2.9),
    "full_like shape": lambda np: np.full_like(np.arange(3), 2, shape=(2, 2)),
    "astype": lambda np: np.astype(np.array([1.5, -1.5]), "int32"),
    "astype bool": lambda np: np.array([0.0, 0.5]).astype(bool),
    "astype float": lambda np: np.arange(2).astype(float),
    "copy": lambda np: np.copy(np.arange(3)),
    "float32": lambda np: np.float32([1, 2]),
    "int8": lambda np: np.int8(3.9),
    "bool_": lambda np: np.bool_(3),
    "bfloat16": lambda np: np.bfloat16(1),
}

RANGES: dict[str, Call] = {
    "arange": lambda np: np.arange(5),
    "arange float": lambda np: np.arange(5.5),
    "arange start": lambda np: np.arange(2, 5),
    "arange down": lambda np: np.arange(5, 0, -2),
    "arange fraction": lambda np: np.arange(0.0, 1, 0.1),
    "arange empty": lambda np: np.arange(-1),
    "arange dtype": lambda np: np.arange(3, dtype="float16"),
    "linspace": lambda np: np.linspace(0, 1, 5),
    "linspace 1": lambda np: np.linspace(2, 3, 1),
    "linspace 0": lambda np: np.linspace(2, 3, 0),
    "linspace open": lambda np: np.linspace(1, 2.0, 7, endpoint=False),
    "linspace int": lambda np: np.linspace(0, 10, 5, dtype="int32"),
    "linspace step": lambda np: np.linspace(0, 10, 5, retstep=True),
    "linspace arrays": lambda np: np.linspace(np.zeros(2), np.arange(2) + 1, 3, axis=1),
    "linspace bfloat16": lambda np: np.linspace(0, 1, 3, dtype=np.bfloat16),
    "logspace": lambda np: np.logspace(0, 2, 3),
    "logspace base": lambda np: np.logspace(0, 3, 4, base=2),
    "geomspace": lambda np: np.geomspace(1, 100, 3),
    "geomspace down": lambda np: np.geomspace(-100, -1, 3),
    "meshgrid": lambda np: np.meshgrid(np.arange(3), np.arange(2.0)),
    "meshgrid ij": lambda np: np.meshgrid(np.arange(3), np.arange(2), np.ones(1), indexing="ij"),
    "meshgrid sparse": lambda np: np.meshgrid(np.arange(3), np.arange(2), sparse=True),
    "indices": lambda np: np.indices((2, 3)),
    "indices sparse": lambda np: np.indices((2, 3), sparse=True),
    "mgrid": lambda np: np.mgrid[0:2, 1:4],
    "mgrid one": lambda np: np.mgrid[0:3],
    "mgrid complex": lambda np: np.mgrid[0:1:3j],
    "ogrid": lambda np: np.ogrid[0:2, 1:4],
    "r_": lambda np: np.r_[1, 2, 3],
    "r_ matrices": lambda np: [np.r_["r", 1, 2], np.r_["c", 1, 2], np.c_["c", [1, 2], [3, 4]]],
    "r_ slices": lambda np: np.r_[0:3, 5, np.arange(2)],
    "r_ axis": lambda np: np.r_["0,2", np.arange(3), np.arange(3)],
    "c_": lambda np: np.c_[np.arange(3), np.arange(3)],
    "ix_": lambda np: np.ix_(np.arange(2), np.array([1, 2, 3])),
    "hanning": lambda np: np.hanning(5),
    "hamming": lambda np: np.hamming(5),
    "bartlett": lambda np: np.bartlett(5),
    "blackman": lambda np: np.blackman(6),
    "kaiser": lambda np: np.kaiser(5, 8.6),
    "hanning 1": lambda np: np.hanning(1),
    "hanning 4.5": lambda np: np.hanning(4.5),
    "i0": lambda np: np.i0(np.array([-3.0, 0.0, 0.5, 7.9, 8.1, 20.0])),
    "fftfreq": lambda np: np.fft.fftfreq(5, 0.1),
    "fftfreq int32": lambda np: np.fft.fftfreq(5, 0.1, dtype="int32"),
    "fftfreq float16": lambda np: np.fft.fftfreq(5, np.array([0.5]), dtype="float16"),
    "fftfreq -3": lambda np: np.fft.fftfreq(-3),
    "fftfreq 3.0": lambda np: np.fft.fftfreq(3.0),
    "rfftfreq": lambda np: np.fft.rfftfreq(6),
    "fftshift": lambda np: np.fft.fftshift(np.arange(10).reshape(2, 5)),
    "ifftshift": lambda np: np.fft.ifftshift(np.arange(10).reshape(2, 5), axes=1),
}

MATRICES: dict[str, Call] = {
    "eye": lambda np: np.eye(3),
    "eye k": lambda np: np.eye(2, 4, k=1, dtype="int8"),
    "identity": lambda np: np.identity(2),
    "tri": lambda np: np.tri(3, 4, -1),
    "tril": lambda np: np.tril(np.arange(12).reshape(3, 4), 1),
    "triu": lambda np: np.triu(np.arange(24).reshape(2, 3, 4), -1),
    "tril bool": lambda np: np.tril(np.ones((3, 3), dtype=bool)),
    "diag": lambda np: np.diag(np.arange(3) + 1, 1),
    "diag of matrix": lambda np: np.diag(np.arange(12).reshape(3, 4), -1),
    "diagflat": lambda np: np.diagflat(np.arange(4).reshape(2, 2)),
    "diagonal": lambda np: np.diagonal(np.arange(24).reshape(2, 3, 4), 1, 2, 1),
    "trace": lambda np: np.trace(np.arange(24).reshape(2, 3, 4), 1),
    "trace axes": lambda np: np.trace(np.ones((2, 3, 4)), axis1=0, axis2=2),
    "trace int8": lambda np: np.trace(np.ones((3, 3), "int8")),
    "fill_diagonal": lambda np: np.fill_diagonal(np.zeros((3, 4)), 5, inplace=False),
    "fill_diagonal values": lambda np: np.fill_diagonal(
        np.zeros((4, 3)), np.array([1, 2]), inplace=False
    ),
    "fill_diagonal cube": lambda np: np.fill_diagonal(np.zeros((2, 2, 2)), 5, inplace=False),
    "diag_indices": lambda np: np.diag_indices(3),
    "diag_indices_from": lambda np: np.diag_indices_from(np.zeros((2, 2, 2))),
    "tril_indices": lambda np: np.tril_indices(3, 1, 4),
    "triu_indices": lambda np: np.triu_indices(3, -1),
    "tril_indices_from": lambda np: np.tril_indices_from(np.zeros((2, 3))),
    "triu_indices_from": lambda np: np.triu_indices_from(np.zeros((2, 3)), 1),
    "vander": lambda np: np.vander(np.arange(3)),
    "vander increasing": lambda np: np.vander(np.arange(3.0), 4, increasing=True),
}


@pytest.mark.parametrize("table", [VALUES, RANGES, MATRICES], ids=["values", "ranges", "matrices"])
def test_creation_functions_agree_with_jax(table: dict[str, Call]) -> None:
    check([row(name, call, rtol=1e-5, atol=1e-6) for name, call in table.items()])


EAGER = ["int", "float", "bool", "list", "list of array and scalar", "zeros", "full", "full array"]


def test_eager_creation_agrees_with_jax() -> None:
    check([row(name, VALUES[name]) for name in EAGER], jit=False)
    names = ["arange", "linspace", "logspace", "mgrid", "r_ slices"]
    check([row(name, RANGES[name], rtol=1e-5) for name in names], jit=False)
    matrices = {
        "mask_indices": lambda np: np.mask_indices(3, np.triu),
        "kaiser": lambda np: np.kaiser(np.asarray(4.0), 2),
    }
    check([row(name, call) for name, call in matrices.items()], jit=False, jit_oracle=False)


def test_traced_values_in_lists() -> None:
    x = np.float32(2.5)
    check(
        [
            row("vector", lambda np, x: np.array([x, 1, 2.0]), x),
            row("matrix", lambda np, x: np.array([[x, 1], [x + 1, 0]]), x),
            row("rows", lambda np, x: np.stack([np.arange(2), np.array([x, x])]), x),
            row("copy", lambda np, x: np.array(x, copy=True), x),
            row("asarray", lambda np, x: np.asarray(x, dtype="int32"), x),
        ]
    )


def test_arrays_of_other_libraries_are_converted() -> None:
    host = np.arange(6, dtype=">i4").reshape(2, 3)
    np.testing.assert_array_equal(jnp.asarray(host), host)
    assert jnp.asarray(np.float64(2)).dtype == np.float32
    assert jnp.asarray(memoryview(b"ab")).dtype == np.uint8
    np.testing.assert_array_equal(jnp.from_dlpack(np.arange(3)), np.arange(3))
    mutable = np.zeros(3, np.float32)
    array = jnp.asarray(mutable)
    mutable[0] = 1
    np.testing.assert_array_equal(array, np.zeros(3))


def test_a_copy_is_a_new_array() -> None:
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x
    assert jnp.asarray(x, dtype="int32", copy=False) is x
    np.testing.assert_array_equal(jnp.asarray([1.0], copy=False), [1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.zeros(2, np.float64),
        lambda: jnp.arange(2, dtype="int64"),
        lambda: jnp.asarray([1], jnp.complex128),
        lambda: jnp.float64(2),
        lambda: jnp.ones(2).astype("float64"),
        lambda: jnp.sum(np.float32([1, 2]), dtype="float64"),
        lambda: jnp.cumsum(np.float32([1, 2]), dtype="float64"),
        lambda: jnp.dot(jnp.ones(2), jnp.ones(2), preferred_element_type="float64"),
        lambda: ox.nn.one_hot(np.int32([0]), 2, dtype="float64"),
        lambda: ox.nn.initializers.ones(ox.random.key(0), (2,), "float64"),
        lambda: ox.random.rademacher(ox.random.key(0), (2,), "int64"),
        lambda: ox.lax.convert_element_type(1, "float64"),
        lambda: ox.lax.full((2,), 1, "int64"),
        lambda: ox.lax.iota("int64", 2),
    ],
)
def test_a_64_bit_dtype_is_a_warning(call: Call) -> None:
    with pytest.warns(UserWarning, match="64-bit dtypes are off") as caught:
        assert call().dtype.itemsize in (4, 8)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("value", [1j, float("nan"), float("inf"), 1.5])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32", "bool"])
@pytest.mark.parametrize(
    "call",
    [
        lambda n, v, d: n.numpy.asarray(v, d),
        lambda n, v, d: n.numpy.asarray([v], d),
        lambda n, v, d: n.numpy.full(2, v, d),
        lambda n, v, d: n.lax.convert_element_type(v, d),
        lambda n, v, d: n.numpy.zeros(1, d).at[0].set(v),
        lambda n, v, d: n.numpy.asarray(v).astype(d),
        lambda n, v, d: n.lax.convert_element_type(n.numpy.asarray(v), d),
    ],
    ids=["asarray", "list", "full", "convert", "set", "astype", "convert array"],
)
def test_numbers_that_a_dtype_lacks_as_in_jax(call: Call, value: complex, dtype: str) -> None:
    def outcome(package: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = np.asarray(call(package, value, dtype)).tolist()
            except (TypeError, ValueError, OverflowError) as e:
                return e
        return result, {w.category for w in caught} - {np.exceptions.ComplexWarning}

    ours, theirs = outcome(ox), outcome(jax)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs))
    else:
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]


def test_python_types_mean_the_default_dtypes() -> None:
    assert jnp.zeros(2, float).dtype == np.float32
    assert jnp.zeros(2, int).dtype == np.int32
    with ox.enable_x64():
        assert jnp.zeros(2).dtype == np.float64
        assert jnp.arange(2).dtype == np.int64
        assert jnp.bincount(np.arange(2)).dtype == np.int64
        assert jnp.asarray(np.arange(2.0)).dtype == np.float64


ERRORS: list[tuple[Call, type[Exception], str]] = [
    (lambda: jnp.array(None), DTypeError, "None is not the value"),
    (lambda: jnp.array("text"), DTypeError, "is not a valid JAX array type"),
    (lambda: jnp.array([1, None]), DTypeError, "None is not the value"),
    (lambda: jnp.array([[1], [2, 3]]), ShapeError, "one length at each depth"),
    (lambda: jnp.asarray(2**40), OverflowError, "out of bounds"),
    (lambda: jnp.array([2**40]), OverflowError, "out of bounds"),
    (lambda: jnp.zeros((2, -1)), ShapeError, "negative"),
    (lambda: jnp.full(3, [1, 2, 3]), DTypeError, "full requires ndarray or scalar arguments"),
    (lambda: jnp.full((2,), jnp.arange(3)), ShapeError, "broadcast"),
    (lambda: jnp.linspace(0, 1, -1), ValueError, ">= 0"),
    (lambda: jnp.arange(0, 1, 0), ZeroDivisionError, "zero"),
    (lambda: ox.jit(lambda n: jnp.arange(n))(3), ConcretizationTypeError, "the argument 'n'"),
    (lambda: jnp.eye(-1), ShapeError, ">= 0"),
    (lambda: jnp.tril(jnp.ones(3)), ShapeError, "two or more dimensions"),
    (lambda: jnp.diag(jnp.ones((2, 2, 2))), ShapeError, "vector or a matrix"),
    (lambda: jnp.fill_diagonal(jnp.ones((2, 2)), 0), ValueError, "inplace=False"),
    (lambda: jnp.meshgrid(jnp.ones(2), indexing="ji"), ValueError, "'xy' or 'ij'"),
    (lambda: jnp.hanning(-1), ValueError, ">= 0"),
    (lambda: jnp.float32(None), DTypeError, "None is not the value"),
    (lambda: jnp.array(1, order="F"), ValueError, "memory order"),
]


DTYPE_CALLS: dict[str, Call] = {
    "result_type": lambda np: np.result_type(np.int8, 2.0),
    "result_type scalars": lambda np: np.result_type(2, 3.0),
    "result_type python": lambda np: np.result_type(float, "int8"),
    "result_type array": lambda np: np.result_type(np.ones(2, "int8"), np.float16),
    "promote_types": lambda np: np.promote_types("int8", "uint8"),
    "promote_types weak": lambda np: np.promote_types(float, "bfloat16"),
    "promote_types wide": lambda np: np.promote_types("int32", "int64"),
    "promote_types wider than both": lambda np: np.promote_types("int32", "uint32"),
    "promote_types weak and wide": lambda np: np.promote_types(int, "float64"),
    "promote_types two weak": lambda np: np.promote_types(int, float),
    "can_cast": lambda np: np.can_cast("int8", "int16"),
    "isdtype": lambda np: np.isdtype("int8", ("real floating", np.int8)),
    "isdtype kind": lambda np: np.isdtype("complex64", "numeric"),
    "issubdtype": lambda np: np.issubdtype(np.bfloat16, np.floating),
    "issubdtype category": lambda np: np.issubdtype(np.floating, np.inexact),
    "issubdtype not": lambda np: np.issubdtype(np.ones(2).dtype, np.integer),
    "finfo": lambda np: float(np.finfo(np.bfloat16).eps),
    "finfo max": lambda np: float(np.finfo(np.ones(2).dtype).max),
    "iinfo": lambda np: np.iinfo(np.int32).max,
    "iinfo of a number": lambda np: str(np.iinfo(5)),
    "dtype": lambda np: np.dtype("bfloat16"),
    "dtype of scalar type": lambda np: np.dtype(np.float32),
    "equal": lambda np: (np.ones(2).dtype == np.float32, np.float32 == np.zeros(2).dtype),
    "constants": lambda np: (np.pi, np.e, np.inf, np.euler_gamma, np.newaxis),
    "isscalar": lambda np: (np.isscalar(3), np.isscalar(np.asarray(3)), np.isscalar(np.ones(1))),
    "iterable": lambda np: (np.iterable(3), np.iterable(np.ones(3)), np.iterable(np.ones(()))),
    "ndim": lambda np: (np.ndim(3), np.ndim(np.ones((2, 3)))),
    "shape": lambda np: np.shape(np.ones((2, 3))),
    "size": lambda np: (np.size(np.ones((2, 3))), np.size(np.ones((2, 3)), 1)),
    "iscomplexobj": lambda np: (np.iscomplexobj(1j), np.iscomplexobj(np.ones(2)), np.isrealobj(2)),
    "ndarray": lambda np: isinstance(np.ones(2), np.ndarray),
    "s_": lambda np: np.s_[1:2, None],
}


@pytest.mark.parametrize("name", DTYPE_CALLS)
def test_dtype_functions(name: str) -> None:
    import jax.numpy

    assert DTYPE_CALLS[name](jnp) == DTYPE_CALLS[name](jax.numpy)


def test_scalar_types_are_dtypes_everywhere() -> None:
    assert jnp.float32 == np.float32 and jnp.bfloat16 == ml_dtypes.bfloat16
    assert hash(jnp.float32) == hash(np.float32)
    assert np.zeros(2, jnp.float16).dtype == np.float16
    assert jnp.zeros(2, jnp.bool_).dtype == np.bool_
    assert isinstance(np.float32(1), jnp.float32)
    assert jnp.float32 != jnp.float16 and jnp.float32 != "text"
    assert repr(jnp.int8) == "<class 'olympus.numpy.int8'>" and isinstance(jnp.int8, type)
    assert pickle.loads(pickle.dumps(jnp.bool_)) is jnp.bool_
    assert jnp.issubdtype(jnp.bool_, "bool") and not issubclass(jnp.float32, np.generic)
    with pytest.raises(ValueError, match="at least one"):
        jnp.result_type()
    with pytest.raises(ValueError, match="not a kind of dtype"):
        jnp.isdtype("int8", "integers")


def test_buffers_and_iterables() -> None:
    check([
        row("doubles", lambda n: n.frombuffer(np.arange(3.0).tobytes())),
        row("bytes", lambda n: n.frombuffer(b"abcd", dtype="uint8", count=2, offset=1)),
        row("bytearray", lambda n: n.frombuffer(bytearray(8), dtype="int16")),
    ], jit=False)  # fmt: skip
    # JAX refuses it
    np.testing.assert_array_equal(jnp.fromiter(iter(range(4)), "float32", count=3), [0, 1, 2])


def test_buffers_that_cannot_be_read() -> None:
    with pytest.raises(ArgumentError, match="cannot read the buffer"):
        jnp.frombuffer(b"abc", dtype="int32")
    with pytest.raises(ArgumentError, match="cannot read the elements"):
        jnp.fromiter(["a"], "int32")


@pytest.mark.parametrize("dtype", ["bool", "int32", "bfloat16", "float16", "complex64"])
def test_saved_arrays_are_loaded(tmp_path, dtype):
    x = ox.numpy.asarray([[0, 1, 2]]).astype(dtype)
    ox.numpy.save(tmp_path / "x.npy", x)
    for read in (jax.numpy.load, ox.numpy.load):
        loaded = read(tmp_path / "x.npy")
        assert loaded.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(loaded), np.asarray(x))
    assert isinstance(loaded, ox.Array)


def test_several_arrays_are_saved_by_name(tmp_path):
    ox.numpy.savez(tmp_path / "x.npz", ox.numpy.ones(2), scale=2)
    with ox.numpy.load(tmp_path / "x.npz") as loaded:
        assert sorted(loaded) == ["arr_0", "scale"]
        np.testing.assert_array_equal(loaded["arr_0"], np.ones(2))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    assert isinstance(ox.numpy.load(tmp_path / "text.npy"), np.ndarray)


def test_text_and_scalar_types_as_in_jax():
    check(
        [
            row("fromstring", lambda n: n.fromstring("1 2 3", sep=" ")),
            row("fromstring of ints", lambda n: n.fromstring("1,2,3", int, 2, sep=",")),
            row("int2", lambda n: n.asarray([1, -2], n.int2).astype(int)),
            row("uint2", lambda n: n.uint2(3).astype(int)),
        ]
    )
    for name in ("character", "flexible", "object_", "ComplexWarning"):
        assert getattr(ox.numpy, name) is getattr(jax.numpy, name)
    with pytest.raises(ValueError, match="fromstring"):
        ox.numpy.fromstring("1 x", sep=" ")
    with pytest.raises(NotImplementedError, match="fromfile"):
        ox.numpy.fromfile("x")
