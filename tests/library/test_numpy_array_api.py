"""The array API standard of December 2025 in olympus.numpy: names, signatures, devices, values."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from olympus import errors

xp = ox.numpy

#: Functions by signature.  `_` is a positional argument, `*` any number of them; after the bar are
#: the keywords.  From https://data-apis.org/array-api/2025.12/API_specification
FUNCTIONS = {
    "": "__array_namespace_info__",
    "_": """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 finfo
        floor iinfo imag isfinite isinf isnan log log10 log1p log2 logical_not matrix_transpose
        negative nonzero positive real reciprocal round sign signbit sin sinh sqrt square tan tanh
        trunc unique_all unique_counts unique_inverse unique_values linalg.det linalg.eig
        linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_transpose
        linalg.slogdet linalg.svdvals""",
    "_ _": """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
        can_cast copysign divide equal floor_divide greater greater_equal hypot less less_equal
        logaddexp logical_and logical_or logical_xor matmul maximum minimum multiply nextafter
        not_equal pow remainder subtract tile linalg.matmul linalg.matrix_power linalg.outer
        linalg.solve""",
    "_ _ _": "moveaxis where",
    "*": "broadcast_arrays broadcast_shapes result_type",
    "* | indexing": "meshgrid",
    "_ stop step | dtype device": "arange",
    "_ | dtype device copy": "asarray",
    "_ _ | copy device": "astype",
    "_ | device copy": "from_dlpack",
    "shape | dtype device": "empty ones zeros",
    "_ | dtype device": "empty_like ones_like zeros_like",
    "_ _ | k dtype device": "eye",
    "shape fill_value | dtype device": "full",
    "_ fill_value | dtype device": "full_like",
    "_ _ num | dtype device endpoint": "linspace",
    "_ | k": "tril triu",
    "dtype kind": "isdtype",
    "_ | axis keepdims": "all any argmax argmin count_nonzero max mean min",
    "_ | axis dtype keepdims": "prod sum",
    "_ | axis correction keepdims": "std var",
    "_ | axis dtype include_initial": "cumulative_prod cumulative_sum",
    "_ | axis n prepend append": "diff",
    "_ | axis descending stable": "argsort sort",
    "_ _ | invert": "isin",
    "_ _ | side sorter": "searchsorted",
    "_ shape": "broadcast_to",
    "_ shape | copy": "reshape",
    "_ min max": "clip",
    "_ axis": "expand_dims squeeze",
    "_ axes": "permute_dims",
    "_ shift | axis": "roll",
    "_ | axis": "concat flip stack unstack",
    "_ _ | axis": "repeat take take_along_axis vecdot linalg.cross linalg.vecdot",
    "_ _ | axes": "tensordot linalg.tensordot",
    "_ | upper": "linalg.cholesky",
    "_ | offset": "linalg.diagonal",
    "_ | offset dtype": "linalg.trace",
    "_ | keepdims ord": "linalg.matrix_norm",
    "_ | axis keepdims ord": "linalg.vector_norm",
    "_ | rtol": "linalg.matrix_rank linalg.pinv",
    "_ | mode": "linalg.qr",
    "_ | full_matrices": "linalg.svd",
    "_ | d dtype device": "fft.fftfreq fft.rfftfreq",
    "_ | n axis norm": "fft.fft fft.hfft fft.ifft fft.ihfft fft.irfft fft.rfft",
    "_ | s axes norm": "fft.fftn fft.ifftn fft.irfftn fft.rfftn",
    "_ | axes": "fft.fftshift fft.ifftshift",
}  # fmt: skip
NAMES = [(name, row) for row, names in FUNCTIONS.items() for name in names.split()]


def named(path: str) -> Any:
    value: Any = xp
    for part in path.split("."):
        value = getattr(value, part)
    return value


def test_every_function_has_its_signature() -> None:
    wrong = []
    for name, row in NAMES:
        positional, _, keywords = row.partition("|")
        filled = [None] * len(positional.replace("*", "_ _").split())
        try:
            inspect.signature(named(name)).bind(*filled, **dict.fromkeys(keywords.split()))
            for keyword in (p for p in positional.split() if p not in "_*"):
                i = positional.split().index(keyword)
                inspect.signature(named(name)).bind(*filled[:i], **{keyword: None})
        except TypeError as e:
            if "missing a required argument" not in str(e):
                wrong.append(f"{name}: {e}")
    assert not wrong, "\n".join(wrong)


def test_constants_and_dtypes() -> None:
    assert (xp.e, xp.inf, xp.pi, xp.newaxis) == (np.e, np.inf, np.pi, None)
    assert np.isnan(xp.nan)
    for name in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32"):
        assert xp.zeros(1, dtype=getattr(xp, name)).dtype == getattr(xp, name) == np.dtype(name)


METHODS = """__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__
    __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__
    __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__
    __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ __radd__ __rsub__ __rmul__
    __rtruediv__ __rfloordiv__ __rpow__ __rmod__ __rmatmul__ __rand__ __ror__ __rxor__ __rlshift__
    __rrshift__ to_device T mT device dtype ndim shape size"""


def test_arrays_have_every_method() -> None:
    x = xp.zeros((2, 2))
    assert not [name for name in METHODS.split() if not hasattr(x, name)]
    y = x
    y += 1  # arrays are immutable: the name gets a new one
    assert float(x[0, 0]) == 0
    assert float(y[0, 0]) == 1


def test_the_namespace_of_an_array() -> None:
    x = xp.zeros(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version=xp.__array_api_version__) is xp
    assert ox.jit(lambda x: x.__array_namespace__().sin(x))(x).shape == (2,)
    with pytest.raises(ValueError, match=r"2019.12.*the versions are 2021.12"):
        x.__array_namespace__(api_version="2019.12")


def test_inspection() -> None:
    info, theirs = xp.__array_namespace_info__(), jax.numpy.__array_namespace_info__()
    assert info.capabilities() == theirs.capabilities()
    assert info.default_device() in info.devices() == tuple(ox.devices())
    assert info.default_dtypes(device=info.default_device()) == theirs.default_dtypes()
    kinds: list[Any] = [None, "bool", "signed integer", "unsigned integer", "integral"]
    kinds += ["real floating", "complex floating", "numeric", ("bool", "integral")]
    for kind in kinds:
        assert info.dtypes(kind=kind) == theirs.dtypes(kind=kind)
    with ox.enable_x64():
        assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
        assert info.default_dtypes()["integral"] == np.dtype("int64")
    for wrong in ({"kind": "rational"}, {"kind": ("bool", 3)}, {"device": "cpu"}):
        with pytest.raises(errors.ArgumentError):
            info.dtypes(**wrong)


def _arrays_on(device: Any) -> list[Any]:
    x = xp.ones((2, 2))
    return [
        xp.arange(3, device=device),
        xp.array([1], device=device),
        xp.asarray([1], device=device),
        xp.asarray(x, device=device),
        xp.astype(x, "int32", device=device),
        xp.empty(2, device=device),
        xp.empty_like(x, device=device),
        xp.eye(2, device=device),
        xp.from_dlpack(np.ones(2), device=device),
        xp.full(2, 1.0, device=device),
        xp.full(2, np.ones(2), device=device),
        xp.full_like(x, 1.0, device=device),
        xp.linspace(0, 1, 3, device=device),
        xp.ones(2, device=device),
        xp.ones_like(x, device=device),
        xp.zeros(2, device=device),
        xp.zeros_like(x, device=device),
        xp.fft.fftfreq(4, device=device),
        xp.fft.rfftfreq(4, device=device),
        x.to_device(device),
    ]


def test_the_keyword_device() -> None:
    device = ox.devices()[0]
    for with_device, without in zip(_arrays_on(device), _arrays_on(None), strict=True):
        assert with_device.device == device
        np.testing.assert_array_equal(with_device, without)
    for call in (xp.zeros, xp.arange, xp.eye, xp.asarray, xp.zeros_like, ox.device_put):
        with pytest.raises(ValueError, match="`device` of other functions takes the same"):
            call(3, device="gpu")
    with pytest.raises(NotImplementedError, match=r"stream argument of array\.to_device"):
        xp.ones(2).to_device(device, stream=1)
    numbers, step = xp.linspace(0, 1, 3, retstep=True, device=device)
    assert numbers.device == step.device == device


def test_devices_of_traced_arrays() -> None:
    def f(x: Any) -> Any:
        return xp.ones(3, device=x.device) + x.to_device(x.device) + xp.asarray(x, device=None)

    np.testing.assert_array_equal(ox.jit(f)(xp.ones(3)), 3 * np.ones(3))
    assert "cpu" not in str(ox.make_jaxpr(f)(xp.ones(3)))
    placed = ox.jit(lambda x: xp.astype(x, "int32", device=ox.devices()[0]))(xp.ones(3))
    assert placed.dtype == np.dtype("int32")


def test_the_keyword_copy() -> None:
    x = xp.ones(3)
    for function in (xp.asarray, xp.from_dlpack):
        assert function(x) is function(x, copy=False) is x
        copied = function(x, copy=True)
        assert copied is not x
        x_copy = xp.ones(3)
        function(x_copy, copy=True)
        x_copy.delete()
        np.testing.assert_array_equal(copied, np.ones(3))
    assert xp.asarray(x, dtype="float32", copy=False) is x
    assert xp.astype(x, "float32", copy=False) is x
    assert xp.astype(x, "float32", copy=True) is not x
    np.testing.assert_array_equal(xp.reshape(x, (3, 1), copy=True), np.ones((3, 1)))
    for value in ([1.0], np.ones(3), 1.0):  # as JAX does on the CPU
        np.testing.assert_array_equal(xp.asarray(value, copy=False), value)
    assert xp.asarray(x, dtype="int32", copy=False).dtype == "int32"
    with pytest.raises(BufferError, match="without a copy"):
        xp.from_dlpack(np.ones(3), copy=False)


def test_results_that_are_tuples() -> None:
    x, matrix = xp.asarray([3, 1, 3]), xp.eye(2)
    for result in (
        xp.broadcast_arrays(x, x),
        xp.meshgrid(x, x),
        xp.nonzero(x),
        xp.unstack(x),
        xp.broadcast_shapes((1,), (2,)),
        xp.__array_namespace_info__().devices(),
        x.shape,
    ):
        assert type(result) is tuple
    fields = [
        (xp.unique_all(x), ("values", "indices", "inverse_indices", "counts")),
        (xp.unique_counts(x), ("values", "counts")),
        (xp.unique_inverse(x), ("values", "inverse_indices")),
        (xp.linalg.eig(matrix), ("eigenvalues", "eigenvectors")),
        (xp.linalg.eigh(matrix), ("eigenvalues", "eigenvectors")),
        (xp.linalg.qr(matrix), ("Q", "R")),
        (xp.linalg.slogdet(matrix), ("sign", "logabsdet")),
        (xp.linalg.svd(matrix), ("U", "S", "Vh")),
    ]
    for result, names in fields:
        assert isinstance(result, tuple)
        assert result._fields == names


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
def test_limits_are_numbers_of_the_dtype(dtype: str) -> None:
    limits, expected = xp.finfo(dtype), jax.numpy.finfo(dtype)
    for name in ("eps", "max", "min", "smallest_normal", "tiny", "epsneg", "smallest_subnormal"):
        assert getattr(limits, name).dtype == getattr(expected, name).dtype
        assert getattr(limits, name) == getattr(expected, name)
    assert type(limits.bits) is int
    assert (limits.bits, limits.nmant, limits.dtype) == (
        expected.bits,
        expected.nmant,
        expected.dtype,
    )
    assert str(limits) == str(expected)
    assert repr(limits) == repr(expected)


def test_limits_of_arrays_and_complex_dtypes() -> None:
    assert xp.finfo(xp.zeros(2, "complex64")).dtype == np.dtype("float32")
    assert xp.finfo(np.zeros(2)).dtype == np.dtype("float32")
    assert (xp.zeros(2, "bfloat16") + xp.finfo("bfloat16").max).dtype == ml_dtypes.bfloat16
    assert xp.iinfo(xp.zeros(2, "int8")).max == 127
    assert type(xp.iinfo("uint32").max) is int
    for call, wrong in ((xp.finfo, "int32"), (xp.iinfo, "float32"), (xp.finfo, "bool")):
        with pytest.raises(errors.ArgumentError, match=r"not inexact|Invalid integer data type"):
            call(wrong)


def test_dlpack_of_read_only_arrays() -> None:
    read_only = np.arange(6, dtype=np.int16).reshape(2, 3)
    read_only.flags.writeable = False
    np.testing.assert_array_equal(xp.from_dlpack(read_only), read_only)
    own = np.arange(4.0, dtype=np.float32)
    imported = xp.from_dlpack(own)
    own[:] = 7  # the imported array does not change with it
    np.testing.assert_array_equal(imported, np.arange(4))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float32", "complex64"])
def test_dlpack_exports_and_imports_arrays(dtype: str) -> None:
    x = xp.asarray(np.array([[0, 1], [2, 3]]).astype(dtype))
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, np.asarray(x))
    assert not out.flags.writeable
    assert np.from_dlpack(x, copy=True).flags.writeable
    np.testing.assert_array_equal(np.asarray(x)[0], np.array([0, 1]).astype(dtype))
    np.testing.assert_array_equal(np.asarray(jax.numpy.from_dlpack(x)), np.asarray(x))
    np.testing.assert_array_equal(xp.from_dlpack(jax.numpy.asarray(np.asarray(x))), np.asarray(x))


def test_dlpack_of_dtypes_that_numpy_does_not_have() -> None:
    x = xp.asarray([1.5, -2.0], "bfloat16")
    theirs = jax.numpy.from_dlpack(x)
    assert theirs.dtype == ml_dtypes.bfloat16
    back = xp.from_dlpack(theirs)
    assert back.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(np.asarray(back), np.asarray(x))


def test_dlpack_keywords() -> None:
    x = xp.ones(3)
    place = x.__dlpack_device__()
    assert place == (1, 0)
    legacy = x.__dlpack__(stream=None, dl_device=place, copy=True)
    assert '"dltensor"' in repr(legacy)
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8), copy=False))
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**wrong)
    with pytest.raises(TypeError, match="needs an object with __dlpack__, and got int"):
        xp.from_dlpack(3)


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, np.inf, -np.inf, np.nan]
#: The functions whose sign C99 does not specify if this part of the argument is not finite.
SIGN_OPEN = {
    **dict.fromkeys(("exp", "exp2", "expm1", "cosh", "sinh", "tanh"), "imag"),
    **dict.fromkeys(("cos", "sin", "tan", "atan"), "real"),
}
CLOSED = ("log", "log1p", "log2", "log10", "sqrt", "acos", "acosh", "asin", "asinh", "atanh")


def _expected(name: str, z: Any) -> Any:
    """Return NumPy's values, which are those of C99, except for expm1 of (inf, 0) and (nan, 0)."""
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
        if name == "expm1":
            expected.imag = np.where(z.imag == 0, z.imag, expected.imag)
    return expected


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*SIGN_OPEN, *CLOSED])
def test_special_values_of_complex_functions(name: str, dtype: str) -> None:
    pairs = list(itertools.product(PARTS, PARTS))
    z = np.empty(len(pairs), np.complex128)
    z.real, z.imag = np.transpose(pairs)
    expected = _expected(name, z)
    tolerance = 2e-6 if dtype == "complex64" else 1e-13
    with ox.enable_x64(dtype == "complex128"):
        x = z.astype(dtype)
        results = [getattr(xp, name)(x), ox.jit(getattr(xp, name))(x)]
    for result in map(np.asarray, results):
        assert result.dtype == np.dtype(dtype)
        for a, b in ((result.real, expected.real), (result.imag, expected.imag)):
            np.testing.assert_allclose(np.abs(a), np.abs(b), rtol=tolerance, atol=tolerance)
            # the sign of a rounded 0 is not compared
            signed = ~np.isnan(b) & ((np.abs(b) > 1e-9) | (b == 0))
            if name in SIGN_OPEN:
                signed &= np.isfinite(getattr(z, SIGN_OPEN[name]))
            if name == "expm1":
                signed &= b != 0
            wrong = signed & (np.signbit(a) != np.signbit(b))
            assert not wrong.any(), [(z[i], result[i], expected[i]) for i in np.flatnonzero(wrong)]


def test_magnitude_beside_nan() -> None:
    z = np.array([complex(np.inf, np.nan), complex(np.nan, -np.inf), complex(np.nan, 1), 3 + 4j])
    expected = [np.inf, np.inf, np.nan, 5]
    x = z.astype(np.complex64)
    for result in (xp.abs(x), ox.jit(xp.abs)(x)):
        np.testing.assert_array_equal(np.asarray(result), expected)
