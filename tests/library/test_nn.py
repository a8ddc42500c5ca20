"""olympus.nn against jax.nn: values, dtypes, axes and masks, compiled and eager."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import Row, check, row

PACKAGE = {ox.numpy: ox, jax.numpy: jax}
RNG = np.random.default_rng(0)
GRID = np.asarray([-100, -5, -2.9, -1, -0.3, 0, 0.2, 1, 2.5, 3.1, 7, 100], np.float32)
X = RNG.normal(size=(3, 4, 6)).astype(np.float32) * 3
MASK = RNG.random((3, 4, 6)) > 0.3
HALVES = (np.dtype("float16"), np.dtype(ml_dtypes.bfloat16))


def nn(name: str, *args: Any, label: str = "", **options: Any) -> Row:
    """A row that calls a function of `nn` on the arrays among `args`, the others being static."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    where = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]

    def call(jnp: Any, *given: Any) -> Any:
        full = list(args)
        for i, value in zip(where, given, strict=True):
            full[i] = value
        return getattr(PACKAGE[jnp].nn, name)(*full, **options)

    dtypes = ",".join(str(a.dtype) for a in arrays)
    return row(f"{name}({dtypes}){label}{sorted(options)}", call, *arrays)


UNARY = [
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "soft_sign",
    "silu",
    "swish",
    "log_sigmoid",
    "elu",
    "leaky_relu",
    "hard_tanh",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "celu",
    "selu",
    "gelu",
    "squareplus",
    "mish",
    "sparse_plus",
    "sparse_sigmoid",
    "tanh",
    "identity",
]
ON_INTEGERS = [
    "relu",
    "relu6",
    "softplus",
    "soft_sign",
    "elu",
    "leaky_relu",
    "hard_tanh",
    "hard_sigmoid",
    "celu",
    "selu",
    "gelu",
    "squareplus",
    "mish",
    "sparse_plus",
    "sparse_sigmoid",
    "identity",
]
ACTIVATIONS = [
    *[nn(name, GRID.astype(d)) for name in UNARY for d in (np.dtype("float32"), *HALVES)],
    *[nn(name, np.arange(-4, 9)) for name in ON_INTEGERS],
    nn("gelu", GRID, approximate=False),
    nn("gelu", GRID.astype("float16"), approximate=False),
    nn("elu", GRID, alpha=2.0),
    nn("celu", GRID, alpha=2.0),
    nn("leaky_relu", GRID, negative_slope=0.2),
    nn("squareplus", GRID, 1),
    nn("log1mexp", np.asarray([0.01, 0.5, 1, 5, 50], np.float32)),
    nn("glu", X),
    nn("glu", X, axis=1),
]


def test_activations() -> None:
    check(ACTIVATIONS)


def test_activations_eagerly() -> None:
    check([nn(name, GRID) for name in UNARY], jit=False)


def test_activations_of_what_is_not_finite() -> None:
    special = np.asarray([np.inf, -np.inf, np.nan], np.float32)
    names = (
        "relu",
        "relu6",
        "sigmoid",
        "softplus",
        "log_sigmoid",
        "elu",
        "leaky_relu",
        "hard_tanh",
        "gelu",
        "tanh",
    )
    check([nn(name, special) for name in names])


EDGES = np.array([0, -0.0, 1, -3, 3, 6, 100, -100, np.inf, -np.inf, np.nan, 0.3], np.float32)


@pytest.mark.parametrize(
    "name", ["softplus", "log_sigmoid", "mish", "relu6", "hard_sigmoid", "hard_silu", "log1mexp"]
)
def test_slopes_of_activations_at_their_kinks_and_infinities(name: str) -> None:
    def slope(jnp: Any, x: Any) -> Any:
        package = PACKAGE[jnp]
        return package.vmap(package.grad(getattr(package.nn, name)))(x)

    def second(jnp: Any, x: Any) -> Any:
        package = PACKAGE[jnp]
        return package.vmap(package.grad(package.grad(getattr(package.nn, name))))(x)

    def at_a_scalar(jnp: Any) -> Any:
        return PACKAGE[jnp].grad(getattr(PACKAGE[jnp].nn, name))(0.0)

    check([row("slope", slope, EDGES), row("second", second, EDGES), row("0", at_a_scalar)])


def test_complex_softplus() -> None:
    x = np.array([0, 1, 1j, -3 + 2j, 4 - 1j], np.complex64)
    check([nn("softplus", x), nn("log_sigmoid", x)])


def test_glu_needs_an_even_axis() -> None:
    with pytest.raises(ox.errors.ShapeError, match="even"):
        ox.nn.glu(X[..., :5])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str) -> None:
    rows = [
        nn(name, X.astype(d), axis=axis, label=str(axis))
        for d in (np.dtype("float32"), *HALVES)
        for axis in (-1, 0, (0, 2), None)
    ]
    rows += [
        nn(name, X, -1, MASK),
        nn(name, X, (0, 1), MASK[0]),
        nn(name, X, 1, np.zeros_like(MASK), label="nothing left"),
        nn(name, np.zeros((0, 3), np.float32), label="no rows"),
        nn(name, np.zeros((3, 0), np.float32), label="no columns"),
        nn(name, np.asarray([1e30, -np.inf, 1], np.float32), label="extremes"),
    ]
    check(rows)
    check(rows[:1] + rows[-6:-4], jit=False)


def test_softmax_of_integers_is_that_of_floats() -> None:
    integers = np.arange(6).reshape(2, 3)
    for f in (ox.nn.softmax, ox.nn.log_softmax):
        np.testing.assert_array_equal(f(integers), f(integers.astype(np.float32)))


def test_softmax_refuses_an_axis_that_does_not_exist() -> None:
    with pytest.raises(ox.errors.ShapeError, match="array of dimension 3"):
        ox.nn.softmax(X, axis=3)


def test_logsumexp() -> None:
    z = (X[0] + 1j * X[1]).astype(np.complex64)
    rows = [
        nn(name, X.astype(d), axis=axis, keepdims=keep, label=f"{axis}{keep}")
        for name in ("logsumexp", "logmeanexp")
        for d in (np.dtype("float32"), *HALVES)
        for axis in (None, -1, (0, 2))
        for keep in (False, True)
    ]
    rows += [
        row("mask", lambda jnp, x, w: PACKAGE[jnp].nn.logsumexp(x, axis=1, where=w), X, MASK),
        row("mean", lambda jnp, x, w: PACKAGE[jnp].nn.logmeanexp(x, axis=1, where=w), X, MASK),
        row("all", lambda jnp, x: PACKAGE[jnp].nn.logmeanexp(x, where=True), X),
        nn("logsumexp", X, 1, X / 2, label="b"),
        nn("logsumexp", X, None, X, return_sign=True, label="b"),
        nn("logsumexp", X, return_sign=True),
        nn("logsumexp", X[0], None, X, label="b broadcasts"),
        nn("logsumexp", np.zeros(2, np.float32), None, np.zeros(2, np.float32), label="b is 0"),
        nn("logsumexp", z),
        nn("logsumexp", z, return_sign=True),
        nn("logsumexp", np.arange(4)),
        *[
            nn("logsumexp", np.asarray(v, np.float32), label=str(v))
            for v in ([-np.inf] * 2, [np.inf, 1.0], [np.nan, 1.0], [1e4, 1e4])
        ],
    ]
    check(rows)
    check(rows[:2], jit=False)


def test_the_number_of_classes_may_be_a_concrete_array() -> None:
    for package in (ox, jax):
        count = package.numpy.asarray(3)
        assert package.nn.one_hot(np.asarray([0, 2]), count).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_one_hot_and_standardize() -> None:
    rows = [
        nn("one_hot", np.asarray([0, 2, 5, -1]), 4),
        nn("one_hot", np.asarray([[0, 2], [1, 1]]), 4, axis=0),
        nn("one_hot", np.asarray([[0, 2], [1, 1]]), 4, axis=1, dtype="int32"),
        nn("one_hot", np.asarray(2), 4),
        nn("one_hot", np.asarray([3, 4], np.uint8), 5, dtype=bool),
        nn("one_hot", np.zeros((0,), np.int32), 3, dtype="bfloat16"),
        nn("standardize", X),
        nn("standardize", X, axis=(0, 1)),
        nn("standardize", X, algorithm="stable"),
        nn("standardize", X, -1, np.asarray(0.1, np.float32), np.asarray(2, np.float32)),
        nn("standardize", X.astype(np.float16)),
        row("mask", lambda jnp, x, w: PACKAGE[jnp].nn.standardize(x, where=w), X, MASK),
    ]
    check(rows)
    check(rows[:1] + rows[6:7], jit=False)
    assert np.array_equal(ox.nn.standardize(X, [0, 1]), ox.nn.standardize(X, (0, 1)))
    with pytest.raises(ValueError, match="stable"):
        ox.nn.standardize(X, algorithm="slow")


def _operands(dtype: Any, keys: int = 4) -> tuple[Any, Any, Any]:
    shapes = ((2, 5, 4, 8), (2, 7, keys, 8), (2, 7, keys, 8))
    query, key, value = (RNG.normal(size=s).astype(dtype) for s in shapes)
    return query, key, value


def _attention(*operands: Any, label: str = "", **options: Any) -> Row:
    static = {k: v for k, v in options.items() if not isinstance(v, np.ndarray)}
    arrays = {k: v for k, v in options.items() if isinstance(v, np.ndarray)}

    def call(jnp: Any, *given: Any) -> Any:
        keywords = dict(zip(arrays, given[3:], strict=True))
        return PACKAGE[jnp].nn.dot_product_attention(*given[:3], **keywords, **static)

    return row(f"attention {sorted(options)}{label}", call, *operands, *arrays.values())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_attention(dtype: str) -> None:
    dt = np.dtype(getattr(ml_dtypes, dtype, dtype))
    q, k, v = _operands(dt)
    grouped = _operands(dt, keys=2)
    lengths = np.asarray([3, 5], np.int32), np.asarray([7, 2], np.int32)
    bias, mask = RNG.normal(size=(1, 4, 5, 7)).astype(dt), RNG.random((2, 1, 5, 7)) > 0.3
    rows = [
        _attention(q, k, v),
        _attention(q[0], k[0], v[0], label="rank 3"),
        _attention(q, k, v, is_causal=True),
        _attention(*grouped, is_causal=True, return_residual=True, label="grouped"),
        _attention(q, k, v, scale=0.3, local_window_size=2),
        _attention(q, k, v, local_window_size=[1, 0]),
        _attention(q, k, v, query_seq_lengths=lengths[0], key_value_seq_lengths=lengths[1]),
        _attention(q, k, v, bias=bias, mask=mask),
    ]
    compiled = dtype != "float16"  # the compiled attention of JAX does not take it
    check(rows, jit=compiled, jit_oracle=compiled)
    check(rows[:1], jit=False, jit_oracle=compiled)


def test_attention_refuses_operands_that_do_not_fit() -> None:
    q, k, v = _operands(np.float32)
    attend = ox.nn.dot_product_attention
    with pytest.raises(ox.errors.ShapeError, match="one shape"):
        attend(q, k, v[:, 1:])
    with pytest.raises(ox.errors.ShapeError, match="multiple"):
        attend(q[:, :, :3], k[:, :, :2], v[:, :, :2])
    with pytest.raises(ox.errors.DTypeError, match="one dtype"):
        attend(q, k.astype(np.float16), v)
    with pytest.raises(ValueError, match="cudnn"):
        attend(q, k, v, implementation="cudnn")
    with pytest.raises(ox.errors.ShapeError, match=r"int32\[2\]"):
        attend(q, k, v, query_seq_lengths=np.zeros(3, np.int32))


def _init(name: str, *options: Any, shape: Any = (4, 6), dtype: Any = None) -> Row:
    def call(jnp: Any, key: Any) -> Any:
        maker = getattr(PACKAGE[jnp].nn.initializers, name)
        if name in ("zeros", "ones"):
            return maker(key, shape, dtype or "float32")
        return maker(*options)(key, shape, dtype or "float32")

    return row(f"{name}{options}{dtype}", call, np.asarray([1, 2], np.uint32))


NAMED = [
    f"{family}_{distribution}"
    for family in ("glorot", "xavier", "lecun", "he", "kaiming")
    for distribution in ("normal", "uniform")
]


def test_initializers() -> None:
    modes = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
    rows = [
        *[_init(name) for name in ("zeros", "ones", "normal", "uniform", "truncated_normal")],
        _init("constant", 3.0, dtype="bfloat16"),
        _init("normal", 0.5, dtype="complex64"),
        *[_init(name) for name in NAMED],
        *[_init("variance_scaling", 1.5, m, "normal") for m in modes],
        _init("variance_scaling", 1.0, modes[0], "truncated_normal", dtype="bfloat16"),
        _init("variance_scaling", 1.0, modes[0], "truncated_normal", dtype="complex64"),
        _init("variance_scaling", 1.0, modes[0], "uniform", dtype="complex64"),
        _init("variance_scaling", 1.0, modes[2], "normal", (0, 1), 2, 3, shape=(2, 3, 4, 5)),
        *[_init("orthogonal", 2.0, axis, shape=(2, 3, 5)) for axis in (-1, 0)],
        _init("orthogonal", shape=(2, 0)),
        *[_init("delta_orthogonal", shape=(*window, 2, 3)) for window in ((3,), (3, 4), (1, 2, 3))],
    ]
    check(rows, jit=False)  # the draws have few shapes, so each is compiled once
    check([_init("glorot_uniform"), _init("truncated_normal", 2.0, "float32", -1.0, 3.0)])


def test_initializers_refuse_unknown_options_with_the_valid_ones() -> None:
    make = ox.nn.initializers.variance_scaling
    with pytest.raises(ValueError, match="fan_avg"):
        make(1.0, "fan", "normal")
    with pytest.raises(ValueError, match="truncated_normal"):
        make(1.0, "fan_in", "cauchy")
    with pytest.raises(ValueError, match="two axes"):
        ox.nn.initializers.lecun_normal()(ox.random.key(0), (3,))


def test_hot_functions_are_few_equations() -> None:
    counts = {"softmax": 8, "log_softmax": 9, "gelu": 8, "relu": 1, "silu": 2, "softplus": 6}
    for name, most in counts.items():
        program = ox.make_olympuspr(getattr(ox.nn, name))(X)
        assert len(program.eqns) <= most, program


def test_weak_types_bools_and_lists_of_axes() -> None:
    flags = np.array([True, False])
    functions = ("relu", "standardize", "softplus", "mish", "soft_sign", "squareplus")
    rows = [nn(name, flags) for name in functions]
    rows += [nn("logmeanexp", (X + 1j * X).astype(np.complex64), axis=1)]
    for name in ("softmax", "log_softmax"):
        rows.append(
            row(name, lambda jnp, n=name: getattr(PACKAGE[jnp].nn, n)(jnp.stack([0.0, 1.0])))
        )
    rows.append(row("list", lambda jnp, x: PACKAGE[jnp].nn.logsumexp(x, axis=[0, 1]), X))
    check(rows)


def test_standardize_takes_arrays_of_real_values() -> None:
    with pytest.raises(TypeError, match=r"got .*list.* at position 0"):
        ox.nn.standardize([1.0, 2.0])
    with pytest.raises(ValueError, match="real values"):
        ox.nn.standardize(X + 1j)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scaled_matmul_is_that_of_scaled_operands(dtype: str) -> None:
    """JAX compiles it for GPUs of one kind only, so the reference is NumPy's."""
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 5, 4) - 7
    a_scales, b_scales = 1 + np.arange(12.0).reshape(2, 3, 2), 2 - np.arange(20.0).reshape(2, 5, 2)
    given = [ox.numpy.asarray(x, "float32") for x in (a, b, a_scales, b_scales)]
    expected = (a * a_scales.repeat(2, 2)) @ (b * b_scales.repeat(2, 2)).transpose(0, 2, 1)
    for function in (ox.nn.scaled_matmul, ox.jit(ox.nn.scaled_matmul, static_argnums=4)):
        result = function(*given, dtype)
        assert result.dtype == dtype
        rtol = 1e-6 if dtype == "float32" else 4e-3
        np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=rtol)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (5, 4), (3, 2), (5, 2)),
        ((2, 3, 4), (3, 5, 4), (2, 3, 2), (3, 5, 2)),
        ((2, 3, 4), (2, 5, 8), (2, 3, 2), (2, 5, 2)),
        ((2, 3, 4), (2, 5, 4), (2, 3, 2), (2, 5, 1)),
        ((2, 3, 4), (2, 5, 4), (2, 3, 2), (2, 4, 2)),
    ],
)
def test_scaled_matmul_refuses_operands_that_do_not_fit(shapes: Any) -> None:
    for package in (ox, jax):
        with pytest.raises(ValueError, match="scaled_matmul requires"):
            package.nn.scaled_matmul(*[np.ones(s, np.float32) for s in shapes])
    with pytest.raises(ValueError, match="4 elements into 3 equal blocks"):
        ox.nn.scaled_matmul(*[np.ones((1, 1, n), np.float32) for n in (4, 4, 3, 3)])


def _scaled_matmul_of_jax(
    a: Any, b: Any, a_scales: Any, b_scales: Any, preferred_element_type: Any
) -> Any:
    """The product that JAX has for GPUs alone."""
    jnp = jax.numpy
    a, b, a_scales, b_scales = [x.astype(np.float32) for x in (a, b, a_scales, b_scales)]
    size = a.shape[2] // a_scales.shape[2]
    a, b = a * jnp.repeat(a_scales, size, axis=2), b * jnp.repeat(b_scales, size, axis=2)
    return jnp.einsum("bmk,bnk->bmn", a, b).astype(preferred_element_type)


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
@pytest.mark.parametrize(
    ("shapes", "numbers", "dtype"),
    [
        (((32, 64), (96, 64)), (((1,), (1,)), ((), ())), "float32"),
        (((3, 32, 64), (3, 64, 32)), (((2,), (1,)), ((0,), (0,))), "bfloat16"),
        (((64, 2, 3, 32), (32, 2, 64, 16)), (((0,), (2,)), ((1,), (1,))), "float16"),
    ],
)
def test_scaled_dot_general_quantizes_in_blocks(
    mode: Any, shapes: Any, numbers: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("jax._src.cudnn.scaled_matmul_stablehlo")
    monkeypatch.setattr(module, "scaled_matmul_wrapper", _scaled_matmul_of_jax)
    operands = [RNG.normal(size=s).astype(np.float32) * 40 for s in shapes]
    results = []
    for package in (ox, jax):
        scale = None if mode == "mxfp8" else package.numpy.asarray([0.01], np.float32)
        configs = [package.nn.get_scaled_dot_general_config(mode, scale)] * 3

        def product(a: Any, b: Any, package: Any = package, configs: Any = configs) -> Any:
            return package.nn.scaled_dot_general(a, b, numbers, package.numpy.dtype(dtype), configs)

        given = [package.numpy.asarray(x) for x in operands]
        out, vjp = package.vjp(package.jit(product), *given)
        cotangent = package.numpy.cos(out.astype(np.float32)).astype(out.dtype)
        results.append([out, *vjp(cotangent)])
    assert [x.dtype for x in results[0]] == [dtype, "float32", "float32"]
    for mine, expected in zip(*results, strict=True):
        assert mine.shape == expected.shape
        given = [np.asarray(x.astype(np.float32)) for x in (mine, expected)]
        rtol = 1e-5 if dtype == "float32" else 2e-2
        scale = float(np.abs(given[1]).max())
        np.testing.assert_allclose(*given, rtol=rtol, atol=scale * rtol)


def test_scaled_dot_general_checks_its_formats() -> None:
    config = ox.nn.get_scaled_dot_general_config("mxfp8")
    x, numbers = np.ones((2, 48), np.float32), (((1,), (1,)), ((), ()))
    plain = ox.nn.scaled_dot_general(x, x, numbers)
    np.testing.assert_array_equal(plain, x @ x.T)
    with pytest.raises(ValueError, match="blocks of 32 elements, and got 48"):
        ox.nn.scaled_dot_general(x, x, numbers, configs=[config] * 3)
    with pytest.raises(ValueError, match="got 1"):
        ox.nn.scaled_dot_general(x, x, numbers, configs=[config])
    for package in (ox, jax):
        configs = [package.nn.get_scaled_dot_general_config("mxfp8")] * 3
        with pytest.raises(TypeError, match="preferred_element_type"):
            package.nn.scaled_dot_general(x, x, numbers, np.dtype("int32"), configs)
        with pytest.raises(ValueError, match="Unsupported mode"):
            package.nn.get_scaled_dot_general_config("fp4")
    for mode in ("mxfp8", "nvfp4"):  # a block of zeros has no scale
        zeros = ox.numpy.zeros((2, 32), np.float32)
        configs = [ox.nn.get_scaled_dot_general_config(mode)] * 3
        assert not ox.nn.scaled_dot_general(zeros, zeros + 1, numbers, configs=configs).any()
    with pytest.warns(DeprecationWarning, match="implementation"):
        ox.nn.scaled_dot_general(x, x, numbers, implementation="cudnn")
