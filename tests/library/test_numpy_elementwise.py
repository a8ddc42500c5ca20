"""The elementwise functions of olympus.numpy against jax.numpy: values, dtypes and weakness."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from tests.day import diagonals
from tests.library.oracle import Row, check, check_types, row

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32", "complex64"]
SCALARS: list[Any] = [True, 2, 2.5, 1 + 2j]


def values(dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return six elements of a dtype; with seed 1 they are also valid exponents and divisors."""
    base = np.array([1, 2, 2, 1, 3, 2]) if seed else np.array([0, 1, 2, 3, 5, 7])
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if kind == np.bool_:
        return base % 2 == seed
    if kind.kind == "u":
        return base.astype(kind)
    if kind.kind == "i":
        return (base * (-1) ** np.arange(6)).astype(kind)
    reals = base * 0.5 - 0.75
    return (reals + 0.25j * np.arange(6) if kind.kind == "c" else reals).astype(kind)


def named(name: str, *args: Any, id: str = "", **tolerance: float) -> Row:
    """Return a row that calls the function of a name."""
    label = id or " ".join(str(getattr(a, "dtype", a)) for a in args)
    scalars = {i: a for i, a in enumerate(args) if not isinstance(a, np.ndarray)}
    arrays = [a for a in args if isinstance(a, np.ndarray)]

    def call(np_like: Any, *given: Any) -> Any:
        left = iter(given)
        operands = [scalars[i] if i in scalars else next(left) for i in range(len(args))]
        return getattr(np_like, name)(*operands)

    return row(f"{name} {label}", call, *arrays, **tolerance)


def pairs(name: str, dtypes: list[str], scalars: list[Any]) -> list[Row]:
    """Return rows of all pairs of dtypes, of dtypes with scalars on both sides, and of scalars."""
    rows = [named(name, values(a), values(b, 1)) for a, b in itertools.product(dtypes, repeat=2)]
    for d, s in itertools.product(dtypes, scalars):
        rows += [named(name, values(d), s), named(name, s, values(d, 1))]
    return rows + [named(name, a, b) for a, b in itertools.product(scalars, repeat=2)]


def check_pairs(name: str, dtypes: list[str], scalars: list[Any]) -> None:
    """Check the types of all pairs, and the values of pairs of one dtype or with a scalar."""
    check_types(pairs(name, dtypes, scalars))
    rows = [named(name, values(d), values(d, 1), rtol=1e-5, atol=1e-5) for d in dtypes]
    check(rows + [named(name, values(d), scalars[i % len(scalars)]) for i, d in enumerate(dtypes)])


NUMBERS = [d for d in DTYPES if d != "bool"]
REALS = [d for d in NUMBERS if d != "complex64"]
INTS = ["int8", "uint8", "int32", "uint32"]


@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "equal", "not_equal", "logical_and", "float_power"]
)
def test_promotion_of_all_pairs(name: str) -> None:
    check_pairs(name, DTYPES, SCALARS)


def test_promotion_of_where() -> None:
    condition = np.array([True, False, True, True, False, False])
    rows = []
    for a, b in itertools.product([*DTYPES, *SCALARS], repeat=2):
        x, y = (values(v) if isinstance(v, str) else v for v in (a, b))
        rows.append(named("where", condition, x, y, id=f"{a} {b}"))
    check_types(rows)
    check(rows[::7])


def test_promotion_of_power() -> None:
    rows = []
    for a, b in itertools.product([*DTYPES, *SCALARS], repeat=2):
        x, y = (values(v, 1) if isinstance(v, str) else v for v in (a, b))
        if isinstance(y, np.ndarray) and y.dtype.kind == "i":
            y = abs(y)
        rows.append(named("power", x, y, id=f"{a} {b}", rtol=1e-4, atol=1e-4))
    check_types(rows)
    check(rows[::5])


REAL_BINARY = [
    "maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal",
    "logical_or", "logical_xor",
]  # fmt: skip
NUMBER_BINARY = ["subtract"]
SIGNED_BINARY = ["floor_divide", "remainder", "fmod"]
INT_BINARY = ["bitwise_and", "bitwise_or", "bitwise_xor"]
FLOAT_BINARY = ["arctan2", "logaddexp", "copysign", "nextafter"]


@pytest.mark.parametrize("name", REAL_BINARY)
def test_ordered(name: str) -> None:
    check_pairs(name, ["bool", *REALS], SCALARS[:3])


@pytest.mark.parametrize("name", NUMBER_BINARY)
def test_numbers(name: str) -> None:
    check_pairs(name, NUMBERS, SCALARS[1:])


@pytest.mark.parametrize("name", SIGNED_BINARY)
def test_quotients(name: str) -> None:
    check_pairs(name, REALS, SCALARS[1:3])


@pytest.mark.parametrize("name", INT_BINARY)
def test_bits(name: str) -> None:
    check_pairs(name, ["bool", *INTS], SCALARS[:2])


@pytest.mark.parametrize("name", ["left_shift", "right_shift", "gcd", "lcm"])
def test_integers(name: str) -> None:
    check_pairs(name, INTS, [2])


@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_divisors_of_the_least_integer_are_numpys(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    some = [limits.min, limits.min + 1, 0, 1, 4, 6, 12, limits.max - 1, limits.max]
    x, y = np.meshgrid(np.array(some, dtype), np.array(some, dtype))
    with ox.enable_x64(dtype == "int64"):
        for run in (getattr(ox.numpy, name), ox.jit(getattr(ox.numpy, name))):
            result = run(ox.numpy.asarray(x), ox.numpy.asarray(y))
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, getattr(np, name)(x, y))
    assert ox.numpy.gcd(np.int8(-128), np.int8(6)) == 2


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_floats(name: str) -> None:
    check_pairs(name, ["int8", "int32", "float16", "float32"], SCALARS[1:3])


@pytest.mark.parametrize("name", ["hypot", "logaddexp2", "heaviside"])
def test_floats_of_any_weakness(name: str) -> None:  # JAX's are strong through a constant
    dtypes = ["int8", "int32", "float16", "float32"]
    check_types(pairs(name, dtypes, SCALARS[1:3]), weak=False)
    check([named(name, values(d), values(d, 1)) for d in dtypes])


UNARY = {
    "abs": DTYPES, "absolute": DTYPES, "negative": NUMBERS, "positive": DTYPES, "sign": NUMBERS,
    "square": DTYPES, "fabs": REALS, "reciprocal": NUMBERS, "sqrt": DTYPES, "cbrt": REALS,
    "exp": DTYPES, "exp2": NUMBERS, "expm1": NUMBERS, "log": NUMBERS, "log1p": NUMBERS,
    "sin": DTYPES, "cos": DTYPES, "tan": NUMBERS, "arcsin": NUMBERS, "arccos": NUMBERS,
    "arctan": NUMBERS, "sinh": NUMBERS, "cosh": NUMBERS, "tanh": DTYPES, "arcsinh": NUMBERS,
    "arccosh": NUMBERS, "arctanh": NUMBERS, "sinc": NUMBERS, "deg2rad": REALS, "rad2deg": REALS,
    "radians": REALS, "degrees": REALS, "floor": ["bool", *REALS], "ceil": ["bool", *REALS],
    "trunc": ["bool", *REALS], "round": NUMBERS, "around": REALS, "real": DTYPES,
    "imag": DTYPES, "conj": DTYPES, "conjugate": DTYPES, "isnan": DTYPES, "isfinite": DTYPES,
    "isinf": DTYPES, "isposinf": ["bool", *REALS], "isneginf": ["bool", *REALS],
    "iscomplex": DTYPES, "isreal": DTYPES, "logical_not": DTYPES, "bitwise_not": ["bool", *INTS],
    "invert": INTS, "bitwise_count": INTS, "signbit": ["bool", *REALS], "modf": REALS,
    "nan_to_num": DTYPES,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    rows = [named(name, values(d), rtol=1e-5, atol=1e-5) for d in UNARY[name]]
    kinds = {np.dtype(getattr(ml_dtypes, d, d)).kind for d in UNARY[name]}
    scalars = [s for s in SCALARS if np.dtype(type(s)).kind in kinds]
    check(rows + [named(name, s, rtol=1e-5, atol=1e-5) for s in scalars])


@pytest.mark.parametrize("name", ["log2", "log10", "rint", "spacing", "angle"])
def test_unary_of_weak_types(name: str) -> None:
    rows = [named(name, values(d)) for d in ("int32", "float16", "float32")]
    check([*rows, named(name, 2), named(name, 2.5)])


@pytest.mark.parametrize("name", ["rint", "angle"])
def test_integers_become_floats_of_the_default_dtype(name: str) -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check([named(name, values(d)) for d in ("int8", "uint32", "float16")] + [named(name, 2)])


@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne"])
def test_comparisons_of_weak_values_are_weak(name: str) -> None:
    for package in (ox, jax):
        compare = getattr(package.lax, name)
        found = [compare(2.5, 3.5), compare(1, 2), compare(2.5, np.float32(1)), compare(True, True)]
        assert [x.weak_type for x in found] == [True, True, False, False]
        assert package.lax.is_finite(2.5).weak_type


def test_frexp_of_any_weakness() -> None:
    check([named("frexp", values("float16")), named("frexp", 2), named("frexp", 2.5)], weak=False)


SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 1e38, 0.5, 2.5], "float32"
)
SPECIAL_NAMES = [
    "abs", "sign", "sqrt", "exp", "log", "log1p", "sin", "tanh", "floor", "ceil", "trunc", "rint",
    "round", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "sinc", "signbit",
    "spacing", "reciprocal", "square", "positive", "cbrt", "arctan",
]  # fmt: skip
SPECIAL_PAIRS = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "hypot",
    "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside", "floor_divide", "remainder",
    "fmod", "power", "arctan2", "isclose", "less", "equal",
]  # fmt: skip


def test_special_values() -> None:
    rows = [named(n, SPECIAL, id="special", rtol=1e-5) for n in SPECIAL_NAMES]
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    rows += [named(n, x, y, id="special", rtol=1e-5) for n in SPECIAL_PAIRS]
    check(rows)


def test_frexp_of_special_values() -> None:
    """The subnormal number is excluded: by its flags, XLA may flush it to 0."""
    check([named("frexp", np.array([x for x in SPECIAL if x != SPECIAL[7]]), id="special")])


def test_division_of_integers_by_zero() -> None:
    x, y = np.array([5, -5, 0], "int32"), np.zeros(3, "int32")
    check([named(n, x, y) for n in ("remainder", "floor_divide", "fmod", "gcd", "lcm")])


def test_modf_of_infinities_is_numpys() -> None:
    values = SPECIAL[:7]  # the CPU flushes subnormal numbers to 0
    fraction, integral = ox.numpy.modf(values)
    expected = np.modf(values)
    np.testing.assert_array_equal(fraction, expected[0])
    np.testing.assert_array_equal(integral, expected[1])


def test_calls_with_options_agree_with_jax() -> None:
    x = np.array([[-1.5, 0.25], [2.75, 3.0]], "float32")
    n = np.array([1, -2, 127], "int8")
    check(
        [
            row("round 1", lambda np: np.round(12.345, 1)),
            row("round -1", lambda np, x: np.round(x * 10, -1), x),
            row("round int", lambda np, n: np.round(n, 2), n),
            row("clip", lambda np, x: np.clip(x, 0, 1), x),
            row("clip min", lambda np, x: np.clip(x, min=0), x),
            row("clip max array", lambda np, x: np.clip(x, max=x[0]), x),
            row("clip int8 float", lambda np, n: np.clip(n, 0.5), n),
            row("clip nothing", lambda np, n: np.clip(n), n),
            row("isclose", lambda np, x: np.isclose(x, x + 1e-6), x),
            row("isclose nan", lambda np: np.isclose(np.nan, np.nan, equal_nan=True)),
            row("isclose int", lambda np, n: np.isclose(n, n + 1), n),
            row("allclose", lambda np, x: np.allclose(x, x + 1e-6), x),
            row("array_equal", lambda np, x: np.array_equal(x, x), x),
            row("array_equal shape", lambda np, x: np.array_equal(x, x[0]), x),
            row("array_equiv", lambda np, x: np.array_equiv(x[0], np.stack([x[0], x[0]])), x),
            row("angle deg", lambda np: np.angle(1j, deg=True)),
            row("nan_to_num", lambda np, x: np.nan_to_num(x / 0, posinf=1.0, neginf=2.0), x),
            row("ldexp", lambda np, x, n: np.ldexp(x[0, 0], n), x, n),
            row("divmod", lambda np, x: np.divmod(x, 2), x),
            row("divmod ints", lambda np, n: np.divmod(n, -2), n),
            row("packbits", lambda np, n: np.packbits(n), n),
            row("packbits axis", lambda np, x: np.packbits(x > 0, axis=0, bitorder="little"), x),
            row("unpackbits", lambda np, n: np.unpackbits(n.astype("uint8")), n),
            row("unpackbits count", lambda np, n: np.unpackbits(n.astype("uint8"), count=-3), n),
            row("power int traced", lambda np, n: np.power(n.astype("int32"), abs(n) // 50), n),
        ]
    )


def test_broadcasting() -> None:
    shapes = [(), (1,), (4,), (3, 1), (3, 4), (2, 1, 4), (2, 3, 1)]
    rows = []
    for a, b in itertools.product(shapes, repeat=2):
        x = np.arange(np.prod(a, dtype=int), dtype="float32").reshape(a)
        y = np.arange(np.prod(b, dtype=int), dtype="float32").reshape(b)
        rows.append(named("add", x, y, id=f"{a} {b}"))
        rows.append(named("where", np.array([[True], [False], [True]]), x, y, id=f"{a} {b}"))
        rows.append(named("where", y > 0, x, 0.0, id=f"{a} {b} scalar"))
    rows.append(named("where", np.ones((3, 1), bool), 1.0, 0, id="scalars"))
    check_types(rows)
    check(rows[::9])


def test_eager() -> None:
    rows = [
        named("add", values("float32"), 2),
        named("multiply", 2.5, values("int32")),
        named("power", values("float32"), 3),
        named("remainder", values("int32"), 2),
        named("floor_divide", -7, 2),
        named("where", values("bool"), values("bfloat16"), 0.5),
        named("hypot", 3, 4),
        named("sqrt", 2),
        named("isclose", 1.0, 1.0),
    ]
    check(rows, jit=False)


PACKAGE = {ox.numpy: ox, jax.numpy: jax}


def slopes(name: str, *args: Any, argnum: int = 0, order: int = 1) -> Row:
    """Return a row of elementwise derivatives of the first result of the function of a name."""

    def call(np_like: Any, *given: Any) -> Any:
        package = PACKAGE[np_like]

        def function(*xs: Any) -> Any:
            result = getattr(np_like, name)(*xs)
            return result[0] if isinstance(result, tuple) else result

        for _ in range(order):
            function = package.grad(function, argnum)
        return package.vmap(function)(*given)

    return row(f"{name} d{argnum}**{order}", call, *args, rtol=1e-5, atol=1e-5)


def test_slopes_of_unary_functions_at_special_values() -> None:
    x = np.append(SPECIAL[:7], SPECIAL[9:])
    rows = [slopes(n, x, order=k) for n in ("sinc", "cbrt") for k in (1, 2)]
    check([*rows, slopes("frexp", x), slopes("sinc", x[:2], order=4)])


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_slopes_of_logaddexp(name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(np.append(SPECIAL[:7], [100, 0.3]), SPECIAL[:7]))
    x, y = x.astype("float32"), y.astype("float32")
    rows = [slopes(name, x, y, argnum=i, order=k) for i in (0, 1) for k in (1, 2)]

    def of_a_scalar(np_like: Any, y: Any) -> Any:
        function = getattr(np_like, name)
        return PACKAGE[np_like].grad(lambda x, y: function(x, y).sum(), (0, 1))(1.0, y)

    def with_a_constant(np_like: Any, y: Any) -> Any:
        return PACKAGE[np_like].grad(lambda y: getattr(np_like, name)(y, 1).sum())(y)

    ones = np.ones((2, 3), "float32")
    check([*rows, row("scalar", of_a_scalar, ones), row("constant", with_a_constant, ones)])


def test_slopes_of_complex_logaddexp() -> None:
    z = np.array([0, 1, 1j, 1 + 2j, -3j, 2], "complex64")

    def slope(np_like: Any, x: Any, y: Any) -> Any:
        package = PACKAGE[np_like]
        return package.vmap(package.grad(lambda x, y: np_like.logaddexp(x, y).real))(x, y)

    check([row("slope", slope, z, z[::-1].copy())])


def test_slope_of_a_remainder_in_a_divisor_of_zero() -> None:
    y = np.array([0.0, -0.0, 1, 2.25, -0.3, 7], "float32")
    check([slopes(n, np.full_like(y, 2.5), y, argnum=1) for n in ("remainder", "fmod")])


COMPLEX = np.array([0, 1, 1j, 1 + 2j, -3j, 2, -1], "complex64")


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "arctan2"])
def test_complex_pairs(name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(COMPLEX, COMPLEX))
    if name == "arctan2":  # without 0 and infinities, where XLA chooses the branches
        return check([named(name, values("complex64"), values("complex64", 1))])
    check([named(name, x, y)])


def test_complex_extrema_are_lexicographic_everywhere() -> None:
    def put(method: str) -> Any:
        return lambda np_like, x: getattr(np_like.zeros(2, x.dtype).at[1], method)(x[2])

    def sorted_places(np_like: Any, x: Any) -> Any:
        sides = ("left", "right")
        return [np_like.searchsorted(np_like.sort(x), x, side=side) for side in sides]

    check(
        [
            row("max", put("max"), COMPLEX),
            row("min", put("min"), -COMPLEX),
            row("relu", lambda np_like, x: PACKAGE[np_like].nn.relu(x), COMPLEX),
            row("searchsorted", sorted_places, COMPLEX),
            *(named(n, COMPLEX) for n in ("log2", "log10", "deg2rad", "rad2deg")),
        ]
    )


def test_bits_of_bools() -> None:
    check([named("bitwise_count", values("bool"))])


def test_a_call_converts_and_computes_in_one_program() -> None:
    """A bool times an infinity is 0 for False there, as under jit."""
    mask, inf = np.array([1, 0], np.int32), float("inf")
    rows = [
        lambda np_like, m: (m == 0) * -inf,
        lambda np_like, m: -inf * (m == 0),
        lambda np_like, m: np_like.multiply(m == 0, np.float32(-inf)),
        lambda np_like, m: (m == 0) * np_like.full(2, inf),
        lambda np_like, m: np_like.asarray(inf) * (m == 0),
        lambda np_like, m: (m == 0) * np_like.full((2, 2), -inf),
        lambda np_like, m: np_like.where(m == 0, 1.5, 0) * (m == 0),
        lambda np_like, m: np_like.exp(m == 0),
        lambda np_like, m: np_like.power(m == 0, 2.5),
        lambda np_like, m: (m == 0) + np_like.ones((3, 2), np_like.float16),
    ]  # fmt: skip
    cases: list[Row] = []
    for i, call in enumerate(rows):

        def converted(np_like: Any, m: Any, call: Any = call) -> Any:
            return call(np_like, np_like.asarray(m))

        cases.append(row(str(i), converted, mask))
    check(cases, jit=False, jit_oracle=False)
    check(cases)
    assert not np.isnan(np.asarray((ox.numpy.asarray(mask) == 0) * -inf)).any()


_INF = float("inf")


SELECTIONS = [
    lambda package, s, m: s + (m == 0) * -_INF,
    lambda package, s, m: package.nn.softmax(s + (m == 0) * -_INF),
    lambda package, s, m: s + -_INF * (m == 0),
    lambda package, s, m: s + (s > 1.5) * -_INF,
    lambda package, s, m: (s / 0) * (m == 0),
    lambda package, s, m: package.numpy.log(s * (m != 0)) * (m != 0),
]


@pytest.mark.parametrize(("call", "dtype"), diagonals(SELECTIONS, ["int32", "float32", "bool"], 3))
def test_a_bool_times_an_infinity_is_a_selection_under_eager_transformations(
    call: Callable[..., Any], dtype: str
) -> None:
    def results(package: Any) -> list[Any]:
        s = package.numpy.asarray(np.array([1, 2, 3], np.float32))
        m = package.numpy.asarray(np.array([1, 0, 1], dtype))
        weights = package.numpy.asarray(np.array([1, 2, 5], np.float32))

        def loss(s: Any, m: Any) -> Any:
            return (call(package, s, m) * weights).sum()

        twice, masks = package.numpy.stack([s, s]), package.numpy.stack([m, m])
        return [
            *package.value_and_grad(loss)(s, m),
            package.jvp(lambda s: call(package, s, m), (s,), (weights,)),
            package.vmap(lambda m: call(package, s, m))(masks),
            package.vmap(package.grad(loss))(twice, masks),
            package.hessian(loss)(s, m),
        ]

    ours, theirs = jax.tree.leaves(results(ox)), jax.tree.leaves(results(jax))
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-6)


def test_a_call_of_new_types_compiles_one_program(caplog: pytest.LogCaptureFixture) -> None:
    x, y, z = ox.numpy.ones((2, 5)), ox.numpy.arange(5, dtype="int16"), ox.numpy.arange(1)
    with ox.log_compiles():
        ox.numpy.copysign(x, y)
        ox.numpy.logaddexp2(y, x)
        ox.numpy.add(x, z)
        ox.numpy.expm1(y)
    messages = [r.getMessage() for r in caplog.records if r.name == "olympus"]
    compiled = [m.split()[1] for m in messages if m.startswith("Compiling ")]
    assert compiled == ["jit(copysign)", "jit(logaddexp2)", "jit(add)", "jit(expm1)"]


def test_operands_of_one_dtype_are_broadcast_without_promotion_while_traced() -> None:
    called: set[str] = set()

    def note(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            called.add(frame.f_code.co_name)

    def traced(x: Any, y: Any) -> Any:
        sys.setprofile(note)
        try:
            return ox.numpy.add(x, y)
        finally:
            sys.setprofile(None)

    program = ox.make_olympuspr(traced)(np.ones((4, 8), np.float32), np.ones(8, np.float32))
    assert [eqn.primitive.name for eqn in program.eqns] == ["broadcast_in_dim", "add"]
    assert "align" in called
    assert not called & {"promote_dtypes", "check_arrays", "get_aval"}


def test_the_error_for_a_leaked_array_names_the_function() -> None:
    leaked: list[Any] = []
    ox.jit(lambda x: leaked.append(x) or x)(1.0)
    for add in (lambda: leaked[0] + 1, lambda: leaked[0] + np.ones(3, np.float32)):
        with pytest.raises(
            ox.errors.UnexpectedTracerError, match=r"'add' got an intermediate value"
        ):
            add()


@pytest.mark.parametrize("name", ["hypot", "heaviside", "logaddexp2", "logical_and", "isclose"])
def test_results_of_weakly_typed_arrays(name: str) -> None:
    def weak_types(m: Any) -> list[bool]:
        rows, one = m.numpy.full((4,), 0.5), m.numpy.asarray(0.5)
        pairs = (rows, rows), (rows, 0.5), (m.numpy.ones(4, bool), 0.5), (one, one), (0.5, 1)
        return [getattr(m.numpy, name)(*pair).weak_type for pair in pairs]

    assert weak_types(ox) == weak_types(jax)


OF_ONE = [
    "isnan",
    "isreal",
    "iscomplex",
    "signbit",
    "log2",
    "log10",
    "deg2rad",
    "sinc",
    "logical_not",
]


@pytest.mark.parametrize("name", ["gcd", "lcm", "power", "copysign", *OF_ONE])
def test_weak_types_of_weakly_typed_arrays_and_scalars(name: str) -> None:
    def results(m: Any) -> list[Any]:
        numpy = m.numpy
        numbers = [2, numpy.asarray(2), numpy.full((2,), 2)]
        if name in OF_ONE:
            parts = [] if name == "signbit" else [2j, numpy.full((2,), 1j)]
            calls = [(x,) for x in (*numbers, *parts, 0.5, numpy.full((2,), 0.5))]
        else:
            calls = list(itertools.product([*numbers, True, numpy.array([True, False])], numbers))
        return [getattr(numpy, name)(*call) for call in calls]

    def weak_types(m: Any) -> list[bool]:
        return [result.weak_type for result in m.eval_shape(lambda: results(m))]

    assert weak_types(ox) == weak_types(jax)


def test_an_eager_power_with_an_array_for_its_exponent_has_a_weak_type() -> None:
    for m in (ox, jax):
        result = m.numpy.power(2, m.numpy.asarray(2))
        assert (result, m.typeof(result).weak_type) == (4, True)
