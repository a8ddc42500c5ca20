"""The cases that `test_edges` draws: a function, dtypes, shapes and an axis from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import ml_dtypes
import numpy as np

import olympus as ox
from tests.library.oracle import Row, row

xp = ox.numpy

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64"]
SHAPES: list[tuple[int, ...]] = [(6,), (2, 3), (0,), (2, 0), ()]
UNARY = """abs acos asinh angle argwhere atan bitwise_count cbrt ceil conj cos cosh deg2rad exp exp2
    expm1 fabs floor imag isfinite isinf isnan isneginf log log10 log1p log2 logical_not negative
    nan_to_num positive rad2deg real reciprocal rint round sign signbit sin sinc sinh sqrt square
    tan tanh trunc invert ravel diagflat atleast_1d atleast_2d squeeze transpose iscomplex isreal
    modf frexp spacing zeros_like ones_like"""
BINARY = """add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin power
    float_power logaddexp hypot copysign nextafter equal not_equal less greater_equal logical_and
    logical_xor bitwise_and bitwise_or left_shift right_shift gcd lcm heaviside arctan2 divmod
    where3 isclose outer matmul dot inner kron array_equal append"""
ALONG = """sum prod max min mean std var any all argmax argmin cumsum cumprod sort argsort flip
    median ptp nansum nanprod nanmax nanmin nanmean nanstd nanargmax nanargmin count_nonzero
    nancumsum cumulative_sum expand_dims roll1 repeat2 take0 diff average unstack"""
NN = "relu sigmoid softplus gelu silu elu softmax log_softmax standardize logsumexp"
AXES: list[Any] = [None, -1, 0, -2, 1, (), 2, -3]
SPECIAL = {
    "where3": lambda n: lambda x, y: n.where(x, x, y),
    "roll1": lambda n: lambda x, axis: n.roll(x, -1, axis),
    "repeat2": lambda n: lambda x, axis: n.repeat(x, 2, axis),
    "take0": lambda n: lambda x, axis: n.take(x, np.array([0, -1, 7]), axis),
}  # fmt: skip


def _on(*dtypes: str) -> Callable[[str, str], bool]:
    """Return a predicate that is True if an operand has one of the dtypes."""
    return lambda label, text: any(f" {d}[" in label for d in dtypes)


def _scalar_with_axis(label: str, text: str) -> bool:
    return "[] axis" in label


_BOOLS_COUNT = [(_on("bool"), "bools become numbers here; the peer has an error")]
_SCALARS_ARE_VECTORS = [(_scalar_with_axis, "NumPy takes a scalar for a vector of one element")]
_FLOATS_FIRST = "integers become floats before they are subtracted; the peer's wrap around"
_SOFTMAX = [*_BOOLS_COUNT, (_on("int8", "uint8", "int32", "uint32"), _FLOATS_FIRST)]
#: The deliberate differences, and the reason for each.
DELIBERATE: dict[str, list[tuple[Callable[[str, str], bool], str]]] = {
    "gcd": _BOOLS_COUNT,
    "lcm": _BOOLS_COUNT,
    "kron": _BOOLS_COUNT,
    "softmax": _SOFTMAX,
    "log_softmax": _SOFTMAX,
    "cumsum": _SCALARS_ARE_VECTORS,
    "cumprod": _SCALARS_ARE_VECTORS,
    "nancumsum": _SCALARS_ARE_VECTORS,
    "angle": [(_on("bfloat16"), "it keeps its dtype; the peer's is float32 for scalars alone")],
    "modf": [(_on("bfloat16"), "of an infinity, (0, inf) as in NumPy; the peer has nan")],
    "repeat2": [(_scalar_with_axis, "a scalar is a vector of one element")],
    "softplus": [(_on("bool"), "of a bool a float; the peer's gives way in promotion")],
    "spacing": [(_on("float16"), "of an infinity, nan as in NumPy; the peer has inf")],
    "standardize": [(_on("complex64"), "complex values have a mean and variance too")],
}  # fmt: skip
_HALF_PARTS = [(_on("bfloat16", "float16"), "no complex dtype has parts of 16 bits")]
DELIBERATE["lax.conj"] = DELIBERATE["lax.complex"] = _HALF_PARTS
DELIBERATE["lax.reduce_max"] = [
    (lambda label, text: "inf-infj" in text, "of nothing, the least in lexicographic order")
]
C99 = """exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asinh acos atan abs
    sinc"""
for _name in C99.split():
    DELIBERATE[_name] = [(_on("complex64"), "the values of C99, see test_array_api")]


def values(dtype: str, shape: tuple[int, ...], pick: random.Random) -> np.ndarray[Any, Any]:
    """Return extremes, duplicates, signed zeros and nan, if the dtype has them."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind == np.bool_:
        pool: list[Any] = [True, False]
    elif kind.kind in "iu":
        info = np.iinfo(kind)
        pool = [0, 1, 1, 3, info.max, info.min, info.max - 1]
    elif kind.kind == "c":
        pool = [0, 1 - 2j, 1 - 2j, complex(np.inf, 1), 0.5 + 0.5j, complex(0, np.nan)]
    else:
        pool = [0.0, -0.0, 1.5, 1.5, -2.5, np.inf, -np.inf, np.nan]
    chosen = [pick.choice(pool) for _ in range(int(np.prod(shape)))]
    return np.array(chosen).astype(kind).reshape(shape)


def case(seed: int) -> Row:
    pick = random.Random(seed)
    family = pick.choice(["unary", "binary", "along", "along", "nn"])
    dtype, shape = pick.choice(DTYPES), pick.choice(SHAPES)
    names = {"unary": UNARY, "binary": BINARY, "along": ALONG, "nn": NN}[family]
    name = pick.choice(names.split())
    if "arg" in name and dtype == "complex64":  # the peer takes them, and cannot lower them
        dtype = "float32"
    x = values(dtype, shape, pick)
    spaces = {xp: ox.nn, jax.numpy: jax.nn} if family == "nn" else {xp: xp, jax.numpy: jax.numpy}

    def function(n: Any) -> Any:
        return SPECIAL[name](n) if name in SPECIAL else getattr(spaces[n], name)

    label = f"seed {seed}: {name} {dtype}{list(shape)}"
    if family == "binary":
        second_dtype = pick.choice([dtype, dtype, pick.choice(DTYPES)])
        y = values(second_dtype, pick.choice([shape, shape, ()]), pick)
        return row(f"{label} {y.dtype}{list(y.shape)}", lambda n, x, y: function(n)(x, y), x, y)
    if family == "along" or name in ("softmax", "log_softmax", "logsumexp", "standardize"):
        axis = pick.choice(AXES)
        return row(f"{label} axis {axis}", lambda n, x: function(n)(x, axis=axis), x)
    return row(label, lambda n, x: function(n)(x), x)


LAX_UNARY = """acos asin asinh atan cbrt ceil clz cosh digamma erf erf_inv erfc exp2 expm1 floor
    is_finite lgamma log1p logistic neg bitwise_not population_count reciprocal round rsqrt sign
    tanh conj"""
LAX_BINARY = """sub div rem max min atan2 nextafter complex bitwise_and bitwise_xor shift_left
    shift_right_logical shift_right_arithmetic eq lt ge igamma igammac"""
LAX_ALONG: dict[str, Callable[[Any, Any, int], Any]] = {
    "sort": lambda n, x, axis: n.sort(x, dimension=axis),
    "sort pairs": lambda n, x, axis: n.sort((x, x), dimension=axis, num_keys=2),
    "top_k": lambda n, x, axis: n.top_k(x, 2, axis=axis),
    "cumsum": lambda n, x, axis: n.cumsum(x, axis=abs(axis), reverse=axis < 0),
    "cummax": lambda n, x, axis: n.cummax(x, axis=abs(axis)),
    "reduce_max": lambda n, x, axis: n.reduce_max(x, (axis,)),
    "reduce_sum": lambda n, x, axis: n.reduce_sum(x, (abs(axis),)),
    "concatenate": lambda n, x, axis: n.concatenate([x, x], abs(axis)),
    "dynamic slice": lambda n, x, axis: n.dynamic_slice_in_dim(x, -9, 1, axis),
    "dynamic index": lambda n, x, axis: n.dynamic_index_in_dim(x, 7, axis, keepdims=False),
    "update": lambda n, x, axis: n.dynamic_update_slice_in_dim(x, x, 3, axis),
    "slice": lambda n, x, axis: n.slice_in_dim(x, -9, None, 2, axis),
    "pad": lambda n, x, axis: n.pad(x, x.dtype.type(1), [(axis, -1, 1)] * x.ndim),
    "expand_dims": lambda n, x, axis: n.expand_dims(x, (axis, 0)),
    "squeeze": lambda n, x, axis: n.squeeze(x, (axis,)),
    "clamp": lambda n, x, axis: n.clamp(x.dtype.type(1), x, x.dtype.type(axis == 0)),
    "reduce_precision": lambda n, x, axis: n.reduce_precision(x, axis + 3, 2),
    "bitcast": lambda n, x, axis: n.bitcast_convert_type(x, (np.int32, np.uint8)[axis % 2]),
    "select_n": lambda n, x, axis: n.select_n(np.full(x.shape, axis, np.int32), x, x[::-1], x),
}  # fmt: skip


def lax_case(seed: int) -> Row:
    pick = random.Random(seed)
    name = pick.choice([*LAX_UNARY.split(), *LAX_BINARY.split(), *LAX_ALONG])
    dtype, shape = pick.choice(DTYPES), pick.choice(SHAPES)
    if name in ("digamma", "lgamma", "igamma", "igammac", "cosh") and dtype == "complex64":
        dtype = "float32"
    x, axis = values(dtype, shape, pick), pick.choice([0, -1, 1, -2])
    lax = {xp: ox.lax, jax.numpy: jax.lax}
    label = f"seed {seed}: lax.{name} {dtype}{list(shape)} axis {axis}"
    if name in LAX_ALONG:
        return row(label, lambda n, x: LAX_ALONG[name](lax[n], x, axis), x)
    operands = (x, values(dtype, shape, pick)) if name in LAX_BINARY.split() else (x,)
    return row(label, lambda n, *operands: getattr(lax[n], name)(*operands), *operands)


#: The distributions by the number of parameters before the shape.
DISTRIBUTIONS = {
    "cauchy exponential gumbel laplace logistic normal uniform rademacher maxwell": 0,
    "gamma loggamma chisquare pareto t rayleigh wald geometric poisson": 1,
    "beta f binomial truncated_normal": 2,
}
PARAMETERS = [0.0, 0.3, 1.0, 2.0, -1.0, 1e-20, 1e30, np.inf, np.nan]


def random_case(seed: int) -> Row:
    """Return a draw of a distribution with parameters up to the extremes."""
    pick = random.Random(seed)
    count, names = pick.choice([(n, names) for names, n in DISTRIBUTIONS.items()])
    name, parameters = pick.choice(names.split()), pick.choices(PARAMETERS, k=count)
    shape = pick.choice([(), (0,), (3, 0), (4,), (2, 3)])
    dtype = pick.choice(["float32", "float32", "float16", "bfloat16", "int32", "complex64"])
    packages = {xp: ox.random, jax.numpy: jax.random}

    def draw(n: Any) -> Any:
        key = packages[n].key(seed)
        return getattr(packages[n], name)(key, *parameters, shape, dtype=dtype)

    label = f"seed {seed}: random.{name} {dtype}{list(shape)} {parameters}"
    return row(label, draw, rtol=1e-4, atol=1e-5)
