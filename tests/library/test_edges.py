"""Edges: empty arrays, negative axes, extreme values, narrow dtypes and scalars, against JAX."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus import errors
from olympus_core.primitives.elementwise.arithmetic import pow_p
from tests.library.edge_cases import DELIBERATE, case, lax_case, random_case
from tests.library.oracle import Row, check, disagreements, row

xp = ox.numpy
F32, I32 = np.float32, np.int32


def calls(*functions: Callable[..., Any], id: str) -> list[Row]:
    """A row for each function of a namespace like numpy's."""
    return [row(f"{id} {i}", function) for i, function in enumerate(functions)]


def test_rollaxis_with_a_negative_start() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    rows = [
        row(f"{axis} {start}", lambda n, x, a=axis, s=start: n.rollaxis(x, a, s), x)
        for axis, start in itertools.product(range(-3, 3), range(-3, 4))
    ]
    check(rows)
    for start in (-4, 4):
        with pytest.raises(ValueError, match=r"axis -?4 is out of bounds .*in start"):
            xp.rollaxis(x, 0, start)


def test_ldexp_near_the_overflow() -> None:
    float32 = np.array([1, 1, 1, 3e38, 0, np.inf, np.nan, 1.5, -1, 3e-38], F32)
    exponents = np.array([127, 128, -126, -270, 500, -500, 3, -1000, 126, 250], I32)
    check([
        row("scalar", lambda n: n.ldexp(F32(1), 127)),
        row("vector", lambda n, x, e: n.ldexp(x, e), float32, exponents),
        row("extremes", lambda n, e: n.ldexp(F32(1), e), np.array([2**31 - 1, -(2**31)], I32)),
        row("half", lambda n, x, e: n.ldexp(x, e), np.float16([1, 1.5, 1]), np.int8([15, -9, 16])),
        row("unsigned", lambda n, e: n.ldexp(F32(1), e), np.array([4000000000], np.uint32)),
        row("bool", lambda n: n.ldexp(F32(3), True)),
    ])  # fmt: skip
    assert float(xp.ldexp(F32(1), 127)) == 2.0**127
    with ox.enable_x64():
        assert float(xp.ldexp(np.float64(1), 1023)) == 2.0**1023


def test_cov_of_nothing_and_with_boolean_weights() -> None:
    x = np.arange(6, dtype=F32).reshape(2, 3)
    mask = np.array([True, False, True])
    check([
        row("no observations", lambda n: n.cov(np.zeros((0,), F32))),
        row("two variables", lambda n: n.cov(np.zeros((2, 0), F32))),
        row("no variables", lambda n: n.cov(np.zeros((0, 3), F32))),
        row("complex", lambda n: n.cov(np.zeros((2, 0), np.complex64))),
        row("corrcoef", lambda n: n.corrcoef(np.zeros((2, 0), F32))),
        row("boolean weights", lambda n, x, m: n.cov(x, aweights=m), x, mask),
        row("dtypes", lambda n, x: n.cov(x.astype("int8"), x.astype("bfloat16")), x, rtol=1e-2),
    ])  # fmt: skip
    with pytest.raises(TypeError, match="fweights"):
        xp.cov(x, fweights=mask)


def test_dtypes_of_mixed_integers_in_x64_mode() -> None:
    x = np.arange(6).reshape(2, 3)
    with ox.enable_x64(True), jax.enable_x64(True):
        for call in (
            lambda n: n.cov(x.astype("int8"), x),
            lambda n: n.corrcoef(x.astype("uint32"), x.astype("int32")),
            lambda n: n.argpartition(x, 1),
        ):
            assert call(xp).dtype == call(jax.numpy).dtype


def test_grids_of_nothing() -> None:
    check(calls(
        lambda n: n.mgrid[()], lambda n: n.ogrid[()], lambda n: n.ogrid[0:3],
        lambda n: n.ogrid[0:3, 0:2], lambda n: n.ogrid[0:3,], lambda n: n.ogrid[0:3:4j, 0:2],
        lambda n: n.mgrid[0:3:4j, 0:2], lambda n: n.mgrid[0:3:0.5], lambda n: n.mgrid[0:0],
        id="grid",
    ))  # fmt: skip
    assert type(xp.ogrid[0:3, 0:2]) is list


def test_diff_at_its_edges() -> None:
    flags, x = np.array([True, False, True]), np.arange(6, dtype=I32).reshape(2, 3)
    check([
        row("bool and int", lambda n, x: n.diff(x, append=1), flags),
        row("bool and bool", lambda n, x: n.diff(x, prepend=False), flags),
        row("bools twice", lambda n, x: n.diff(x, n=2), flags),
        row("no times", lambda n, x: n.diff(x, 0, prepend=1), x),
        row("more often than there are", lambda n, x: n.diff(x, 5), x),
        row("a float before ints", lambda n, x: n.diff(x, prepend=1.5), x),
        row("a row before", lambda n, x: n.diff(x, axis=-2, prepend=np.zeros((1, 3), F32)), x),
        row("empty", lambda n: n.diff(np.zeros((2, 0), F32), n=3)),
        row("unsigned", lambda n: n.diff(np.array([2, 1, 0], np.uint8))),
    ])  # fmt: skip
    for wrong in (lambda: xp.diff(5), lambda: xp.diff(x, -1), lambda: xp.diff(x, axis=2)):
        with pytest.raises(ValueError, match=r"diff|axis"):
            wrong()


def test_pad_with_a_function() -> None:
    def edge(vector: Any, width: Any, axis: int, options: Any) -> Any:
        vector = vector.at[: width[0]].set(axis + 5)
        return vector.at[vector.shape[0] - width[1] :].set(options.get("last", 7))

    x = np.arange(6, dtype=F32).reshape(2, 3)
    check([
        row("vector", lambda n, x: n.pad(x, 2, edge, last=3), np.arange(3, dtype=F32)),
        row("matrix", lambda n, x: n.pad(x, ((1, 1), (2, 0)), edge), x),
        row("empty", lambda n: n.pad(np.zeros((0, 2), F32), 1, edge)),
        row("scalar", lambda n: n.pad(F32(3), 2)),
        row("nothing", lambda n: n.pad(np.zeros((0,), F32), 2)),
    ])  # fmt: skip


def test_places_of_elements() -> None:
    i, j = np.array([3, -1], I32), np.array([1, 5], I32)
    rows = [
        row(mode, lambda n, i, j, mode=mode: n.ravel_multi_index((i, j), (3, 4), mode=mode), i, j)
        for mode in ("clip", "wrap")
    ]
    rows += calls(
        lambda n: n.unravel_index(np.array([-1, -13, 12, 100], I32), (3, 4)),
        lambda n: n.unravel_index(0, ()), lambda n: n.unravel_index(4, 7),
        lambda n: n.unravel_index(np.array([], I32), (3, 4)), id="places",
    )  # fmt: skip
    check(rows)
    assert int(xp.ravel_multi_index((1, 2), (3, 4), order="F")) == 7
    small = np.uint8([200]), np.uint8([2])
    assert int(xp.ravel_multi_index(small, (300, 300), mode="wrap")[0]) == 60002
    for wrong in (((3, 1), "raise"), ((1, 1), "nearest"), ((1.0, 2), "clip")):
        with pytest.raises((ValueError, TypeError)):
            xp.ravel_multi_index(wrong[0], (3, 4), mode=wrong[1])


def test_counts_and_bounds_of_ranges() -> None:
    for function in (xp.linspace, xp.logspace, xp.geomspace):
        assert function(1, 2, xp.asarray(3)).shape == function(1, 2, np.array(3)).shape == (3,)
        for wrong in (np.array([3]), xp.asarray([3]), 3.0, -1):
            with pytest.raises(TypeError, match=r"number of samples"):
                function(1, 2, wrong)
        with pytest.raises(errors.ConcretizationTypeError):
            ox.jit(lambda n, function=function: function(1, 2, n))(3)
    for arguments in ((3j,), (0, 3, 1j), (np.complex64(3),)):
        with pytest.raises(TypeError, match="got complex numbers"):
            xp.arange(*arguments)
    with pytest.raises(ValueError, match="arange needs scalars"):
        xp.arange(np.array([3]))
    check(calls(
        lambda n: n.arange(3, dtype=complex), lambda n: n.arange(5, 0, -2),
        lambda n: n.arange(-2), lambda n: n.arange(300, dtype=np.uint8), lambda n: n.arange(0),
        lambda n: n.linspace(0, 1, 1, retstep=True), lambda n: n.linspace(0, 1, 0),
        lambda n: n.linspace(-10, -1, 5, dtype=int), lambda n: n.linspace(0, 1j, 3),
        id="range",
    ))  # fmt: skip


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
POWERS = [*range(9), 31, 33, 62, 63, 64, 65, 100, 127, 128, 200, 255, 256, 1000, *range(-4, 0)]


def _exact_power(base: int, power: int, dtype: np.dtype[Any]) -> int:
    """Return base ** power modulo two to the width; a negative power is rounded towards zero."""
    if power < 0:
        return base ** (power & 1) if base in (1, -1) else 0
    modulus = 1 << (8 * dtype.itemsize)
    least = pow(base, power, modulus)
    return least - modulus if dtype.kind == "i" and least >= modulus // 2 else least


@pytest.mark.parametrize(
    ("of_base", "of_power"),
    [(d, d) for d in INTEGERS] + [("int8", "int64"), ("uint32", "int8"), ("int32", "uint64")],
)
def test_integer_powers_are_exact_modulo_the_width(of_base: str, of_power: str) -> None:
    dtype, info, limits = np.dtype(of_base), np.iinfo(of_base), np.iinfo(of_power)
    bases = [0, 1, 2, 3, 6, 10, 127, info.max, info.max - 1, info.min, info.min + 1]
    bases += [-1, -2, -3, -128] if dtype.kind == "i" else []
    powers = [*POWERS, limits.max, limits.max - 1, limits.min, limits.min + 1]
    powers = [e for e in powers if limits.min <= e <= limits.max]
    pairs = list(itertools.product(bases, powers))
    expected = np.array([_exact_power(b, e, dtype) for b, e in pairs], dtype)
    with ox.enable_x64():
        x, y = np.array([b for b, _ in pairs], dtype), np.array([e for _, e in pairs], of_power)
        result = np.asarray((xp.power if of_base == of_power else pow_p.bind)(x, y))
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)


def test_integer_powers_to_python_numbers() -> None:
    bases, powers = [3, 7, 0, 1, 100, 127], (0, 1, 2, 7, 33, 64, 200, 2**40 + 1)
    for dtype in map(np.dtype, ("int8", "uint8", "int32", "uint32")):
        x = np.array(bases, dtype)
        results = ox.jit(lambda x: [x**power for power in powers])(xp.asarray(x))
        for result, power in zip(results, powers, strict=True):
            exact = [_exact_power(b, power, dtype) for b in bases]
            np.testing.assert_array_equal(result, np.array(exact, dtype))
        assert int(xp.power(x[:1], xp.asarray(x[-1:]))[0]) == _exact_power(3, 127, dtype)


def arrays_of_scalars() -> list[tuple[ox.Array, Any]]:
    to = ox.lax.convert_element_type
    return [
        (to(1, "float32"), F32(1)),
        (to(1.5, float), F32(1.5)),
        (to(F32(2), int), np.int32(2)),
        (ox.lax.integer_pow(3.0, 1), 3.0),
        (ox.lax.fft(1.5, "FFT", ()), np.complex64(1.5)),
        (to(np.ones(2, F32), "float32"), np.ones(2, F32)),
        (ox.lax.fori_loop(0, 0, lambda i, v: v, 1.5), 1.5),
    ]


def test_functions_of_lax_make_arrays_of_scalars() -> None:
    def make() -> list[ox.Array]:
        arrays = arrays_of_scalars()
        for array, scalar in arrays:
            assert isinstance(array, ox.Array)
            assert array.weak_type == (type(scalar) in (int, float))
        return [array for array, _ in arrays]

    program = ox.make_olympuspr(make)()
    assert [str(eqn.primitive) for eqn in program.eqns] == ["integer_pow"]
    for results in (make(), ox.jit(make)()):
        for array, (_, scalar) in zip(results, arrays_of_scalars(), strict=True):
            np.testing.assert_array_equal(array, scalar)


def test_collectives_make_arrays_of_scalars() -> None:
    def make(_: Any) -> Any:
        for known in (1, 2.0, F32(3), np.ones(2)):
            for function in (ox.lax.pmax, ox.lax.pmin, ox.lax.all_gather):
                assert isinstance(function(known, "i"), ox.Array)
            assert isinstance(ox.lax.ppermute(known, "i", [(0, 1), (1, 0)]), ox.Array)
        assert type(ox.lax.psum(1, "i")) is int
        assert type(ox.lax.pmean(1, "i")) is float
        return ox.lax.pmax(2, "i")

    np.testing.assert_array_equal(ox.vmap(make, axis_name="i")(np.ones(2)), [2, 2])


@pytest.mark.parametrize("function", [ox.lax.while_loop, ox.lax.scan])
def test_loops_that_python_runs_make_arrays_of_scalars(function: Any) -> None:
    with ox.disable_jit():
        if function is ox.lax.scan:
            end = function(lambda c, _: (c, None), 1.5, length=2)[0]
        else:
            end = function(lambda v: v < 1.0, lambda v: v, 1.5)
    assert isinstance(end, ox.Array)
    assert float(end) == 1.5


def test_the_class_of_arrays_has_the_methods_of_arrays_on_a_device() -> None:
    for side in (ox, jax):
        assert callable(side.Array.item)
        assert {"item", "sharding", "astype"} <= {*dir(side.Array)}


def test_traced_arrays_can_be_copied() -> None:
    for function in (copy.copy, copy.deepcopy, xp.copy, lambda x: xp.array(x, copy=True)):
        np.testing.assert_array_equal(
            ox.jit(lambda x, f=function: f(2 * x) + x)(np.ones(3, F32)), 3
        )
        gradient = ox.grad(lambda x, f=function: (f(x) ** 2).sum())(np.ones(3, F32))
        np.testing.assert_array_equal(gradient, [2, 2, 2])
        np.testing.assert_array_equal(ox.vmap(function)(np.ones((2, 3), F32)), np.ones((2, 3)))
    nested = ox.jit(lambda tree: copy.deepcopy(tree)["a"][0] + tree["a"][0])({"a": [F32(1)]})
    assert float(nested) == 2


class ArrayLike:
    """An object that converts itself to an array."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __jax_array__(self) -> Any:
        return self.x


@pytest.mark.parametrize("transform", [lambda f: f, ox.jit])
def test_objects_that_convert_themselves_are_arguments(transform: Any) -> None:
    def f(x: Any) -> list[Any]:
        s = ArrayLike(x)
        return [
            xp.sin(s), xp.add(s, 1), xp.ones(3) + s, s.x + xp.ones(3), xp.asarray(s), xp.sum(s),
            xp.concatenate([s, xp.ones(2)]), xp.stack([s]), xp.where(s, 1, 2), xp.zeros_like(s),
            xp.full(3, ArrayLike(x[0])), xp.arange(3)[ArrayLike(xp.array([1, 2]))], xp.dot(s, s),
            xp.array([ArrayLike(x[0]), 2.0]), xp.reshape(s, (1, 3)), xp.clip(s, 0, s),
            xp.ones(3).at[ArrayLike(xp.array(1))].set(ArrayLike(x[0])), xp.einsum("i->", s),
        ]  # fmt: skip

    x = xp.asarray([1.0, 2.0, 3.0])
    expected_results = [
        np.sin([1, 2, 3]), [2, 3, 4], [2, 3, 4], [2, 3, 4], [1, 2, 3], 6,
        [1, 2, 3, 1, 1], [[1, 2, 3]], [1, 1, 1], [0, 0, 0],
        [1, 1, 1], [1, 2], 14,
        [1, 2], [[1, 2, 3]], [1, 2, 3],
        [1, 1, 1], 6,
    ]  # fmt: skip
    for result, expected in zip(transform(f)(x), expected_results, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert xp.shape(ArrayLike(x)) == (3,)
    assert xp.ndim(ArrayLike(x)) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda s: ox.jit(lambda x: x)(s),
        lambda s: ox.jit(lambda: s)(),
        lambda s: ox.grad(xp.sum)(s),
        lambda s: ox.vmap(xp.sin)(s),
        lambda s: ox.jvp(xp.sin, (s,), (s,)),
        lambda s: ox.eval_shape(xp.sin, s),
        lambda s: ox.lax.cond(True, xp.sin, xp.cos, s),
        lambda s: ox.lax.scan(lambda c, x: (c, x), 0.0, s),
        lambda s: ox.device_put(s),
        lambda s: ox.typeof(s),
    ],
)
def test_transformations_refuse_objects_that_convert_themselves(call: Any) -> None:
    with pytest.raises(ValueError, match=r"Triggering __jax_array__\(\) during abstractification"):
        call(ArrayLike(xp.ones(2)))


@pytest.mark.parametrize(
    "of",
    [
        lambda p: p.lax.nextafter,
        lambda p: p.lax.polygamma,
        lambda p: p.lax.zeta,
        lambda p: p.numpy.issubdtype,
        lambda p: p.numpy.percentile,
        lambda p: p.dlpack.from_dlpack,
        lambda p: p.scipy.linalg.polar,
        lambda p: p.random.multinomial,
    ],
)
def test_parameters_have_the_names_and_defaults_of_jax(of: Any) -> None:
    own, expected = (inspect.signature(of(p)).parameters.values() for p in (ox, jax))
    assert [(p.name, p.kind, p.default) for p in own] == [
        (p.name, p.kind, p.default) for p in expected
    ]


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for function in (
        xp.asarray, xp.array, xp.sin, xp.sum, ox.jit(xp.sin), ox.device_put,
        lambda m: xp.ones(2) + m, lambda m: xp.array([m]), lambda m: xp.ones(2).at[:].set(m),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="numpy masked arrays are not supported") as caught:
            function(masked)
        assert "filled" in str(getattr(caught.value, "hint", ""))
    np.testing.assert_array_equal(xp.asarray(masked.filled(0)), [1, 0])


def test_an_empty_vector_picks_nothing_out() -> None:
    check(calls(lambda n: n.ix_(np.zeros((0,), F32), np.arange(2)), id="ix_"))


def test_positions_of_complex_extremes() -> None:
    """Complex values are in lexicographic order, and the first nan is the extreme."""
    z = np.array([[1 + 2j, 1 + 3j, 0], [-1 - 1j, -1 - 2j, -1 - 2j]], np.complex64)
    nan = np.array([1, complex(0, np.nan), np.nan, 9], np.complex64)
    names = ("argmax", "argmin", "nanargmax", "nanargmin")
    for name in names:
        for x, axis in [*itertools.product([z], (None, 0, -1)), (nan, None)]:
            positions = np.asarray(getattr(xp, name)(x, axis=axis))
            np.testing.assert_array_equal(positions, getattr(np, name)(x, axis=axis))
            traced = ox.jit(lambda x, name=name, axis=axis: getattr(xp, name)(x, axis=axis))(x)
            np.testing.assert_array_equal(traced, positions)


def _unexpected_differences(rows: list[Row], *, of_values: bool) -> list[str]:
    return [
        f"{entry.id}: {text}"
        for entry, text in disagreements(rows, values=of_values)
        if not any(
            applies(entry.id, text) for applies, _ in DELIBERATE.get(entry.id.split()[2], ())
        )
    ]


def test_walk_of_types() -> None:
    rows = [case(seed) for seed in range(600)]
    rows += [lax_case(seed) for seed in range(20_000, 20_500)]
    rows += [random_case(seed) for seed in range(30_000, 30_200)]
    differences = _unexpected_differences(rows, of_values=False)
    assert not differences, "\n".join(differences)


def test_walk_of_values() -> None:
    rows = [case(seed) for seed in range(10_000, 10_200)]
    rows += [lax_case(seed) for seed in range(40_000, 40_150)]
    rows += [random_case(seed) for seed in range(50_000, 50_006)]
    differences = _unexpected_differences(rows, of_values=True)
    assert not differences, "\n".join(differences)


def test_edges_of_linear_algebra_and_of_special_functions() -> None:
    """Parameters with SciPy's names, large terms that cancel, and empty matrices."""
    large = np.array([255, 9, 1, 0.5, 40], F32), np.array([2.0**31, 1e4, 4e9, 20, 40], F32)
    sp = {xp: ox.scipy.special, jax.numpy: jax.scipy.special}
    norm = {xp: ox.scipy.stats.norm, jax.numpy: jax.scipy.stats.norm}
    check([
        row("betaln", lambda n, x, y: sp[n].betaln(a=x, b=y), *large, rtol=1e-5),
        row("xlogy", lambda n, x, y: sp[n].xlogy(y=y, x=x), *large),
        row("boxcox", lambda n, x: sp[n].boxcox(x, lmbda=0.5), large[0]),
        row("bessel", lambda n, x: [sp[n].i0e(x), sp[n].i1(x=x / 9), sp[n].i1e(x)], large[0] - 9),
        row("multigammaln", lambda n: sp[n].multigammaln(5, 2)),
        row("cdf of no width", lambda n: norm[n].cdf(2, 1, 0)),
        row("rank of nothing", lambda n: n.linalg.lstsq(np.zeros((0, 0), F32), np.zeros(0, F32))),
    ])  # fmt: skip
    # a permutation, so that a[:, order] is Q R; the peer has zeros
    order = ox.lax.linalg.qr(np.zeros((0, 3), F32), pivoting=True)[2]
    np.testing.assert_array_equal(order, np.arange(3))


def test_edges_of_sets_and_sequences() -> None:
    empty, z = np.zeros((0, 3), F32), np.array([1 + 2j, 1 - 2j, -1], np.complex64)
    check([
        row("quantile", lambda n: n.quantile(np.zeros((0,), F32), np.zeros((0,), F32))),
        row("percentile", lambda n: n.percentile(empty, np.zeros((0,), F32), axis=0)),
        row("unravel_index", lambda n: n.unravel_index(0, (0, 3))),
        row("unique", lambda n: n.unique(empty, axis=1, size=2, fill_value=1)),
        row("sort_complex", lambda n, z: [n.sort_complex(z), n.sort_complex(np.arange(3))], z),
        row("twice", lambda n: n.fft.fftshift(np.arange(5), (0, 0))),
    ])  # fmt: skip
    x = np.ones((2, 2), F32)
    for wrong, error in (
        (lambda n: n.poly(np.zeros((0, 0), F32)), ValueError),
        (lambda n: n.polyval(F32(1), 2), IndexError),
        (lambda n: n.polymul(x, x), ValueError),
        (lambda n: n.linalg.vecdot(np.ones(3), np.ones(1)), ValueError),
        (lambda n: n.linalg.multi_dot([[[1.0]], [[1.0]]]), TypeError),
        (lambda n: n.linalg.cross(1, None), TypeError),
        (lambda n: n.searchsorted(x[0], 1, side="bad"), ValueError),
        (lambda n: n.histogram(x, bins=[0, 1]), TypeError),
        (lambda n: n.unique(x, size=1.5), TypeError),
        (lambda n: n.fft.rfft(z), ValueError),
    ):
        for n in (xp, jax.numpy):
            with pytest.raises((error, ValueError) if error is IndexError else error):
                wrong(n)
