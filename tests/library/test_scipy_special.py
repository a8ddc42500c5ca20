"""Integrals of olympus.scipy.special: errors in ulps against SciPy, and derivatives against JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import jax.scipy.special
import numpy as np
import pytest
import scipy.special

import olympus as ox
import olympus.scipy.special
from olympus.errors import ArgumentError
from tests.library.oracle import Row, check, row

SCIPY = {ox.numpy: olympus.scipy.special, jax.numpy: jax.scipy.special}
INF, NAN = np.inf, np.nan
#: by function: where it is computed, and the greatest errors in ulps of float64 and float32; expi
#: only where SciPy itself is exact to some ulps, and at zeros of the functions only near them
GRIDS: dict[str, tuple[Any, float, float]] = {
    "erfcx": (np.r_[-5:30:500j, 1e3, 1e20, INF, NAN], 8, 16),
    "dawsn": (np.r_[-30:30:601j, 0, 1e-8, 1e10, NAN], 16, 16),
    "exp1": (np.r_[1e-6:30:700j, 0, -1, 80, INF, NAN], 16, 16),
    "expi": (np.r_[-30:-1e-3:300j, 1e-6:0.2:50j, 0.6:12:300j, 0, INF, NAN], 24, 24),
    "spence": (np.r_[0:0.9:300j, 1.1:10:300j, 1, 1e5, 1e-8, -1, NAN], 32, 32),
    "sici": (np.r_[1e-3:0.5:100j, 0.7:3:200j, 3.8:6:100j, 0, -3, NAN], 32, 32),
    "fresnel": (np.r_[-9:9:801j, 0, 1e-3, -INF, INF, NAN], 16, 16),
}


def ulps(actual: Any, expected: Any, dtype: Any) -> Any:
    """Return the errors in units of the dtype's relative precision; equal values have none."""
    a, b = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    info = np.finfo(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b) / np.maximum(np.abs(b), info.tiny) / info.eps
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, error)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", GRIDS)
def test_errors_in_ulps(name: str, dtype: Any) -> None:
    grid, *bounds = GRIDS[name]
    x = grid.astype(dtype)
    with ox.enable_x64(dtype is np.float64):
        results = ox.jit(getattr(olympus.scipy.special, name))(x)
    expected = getattr(scipy.special, name)(x.astype(np.float64))
    pairs = (
        zip(results, expected, strict=True) if isinstance(results, tuple) else [(results, expected)]
    )
    for result, reference in pairs:
        assert result.dtype == dtype
        with np.errstate(over="ignore"):
            errors = ulps(result, np.asarray(reference).astype(dtype), dtype)
        worst = int(np.argmax(errors))
        assert errors[worst] <= bounds[dtype is np.float32], (x[worst], errors[worst])


def test_exponential_integrals_of_integer_order() -> None:
    n = np.arange(12)[:, None]
    x = np.r_[0, 1e-6:1:40j, 1.0001:50:60j, 600, INF]
    with ox.enable_x64(True):
        result = ox.jit(olympus.scipy.special.expn)(n, x)
    errors = ulps(result, scipy.special.expn(n, x), np.float64)
    assert errors.max() < 64, np.argwhere(errors == errors.max())
    with ox.enable_x64(True):
        outside = olympus.scipy.special.expn(np.array([1, -1]), np.array([-1.0, 1]))
    assert np.isnan(outside).all()


def test_bernoulli_numbers() -> None:
    for n in (0, 1, 2, 7, 60):
        with ox.enable_x64(True):
            result = olympus.scipy.special.bernoulli(n)
        np.testing.assert_allclose(result, scipy.special.bernoulli(max(n, 2))[: n + 1], rtol=1e-11,
                                   atol=1e-11)  # fmt: skip
    assert np.isinf(olympus.scipy.special.bernoulli(300)[-1])
    with pytest.raises(ValueError, match="n >= 0"):
        olympus.scipy.special.bernoulli(-1)


POINTS = np.asarray([0.3, 0.8, 1.7, 2.5, 4.5])


def slopes(name: str, *first: Any) -> Row:
    """Return a row of the derivatives of all results."""

    def call(m: Any, x: Any) -> Any:
        package = ox if m is ox.numpy else jax

        def total(x: Any) -> Any:
            values = getattr(SCIPY[m], name)(*first, x)
            values = values if isinstance(values, tuple) else (values,)
            return sum(((i + 1) * v).sum() for i, v in enumerate(values))

        return package.grad(total)(x)

    return row(f"slopes of {name}", call, POINTS, rtol=1e-6, atol=1e-8)


def test_derivatives() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check([*[slopes(name) for name in GRIDS if name != "spence"], slopes("expn", 3)])
        for name in GRIDS:
            function = getattr(olympus.scipy.special, name)
            ox.test_util.check_grads(function, (POINTS,), 2, rtol=1e-5, atol=1e-5)


def test_types_and_errors() -> None:
    one = np.asarray([1], np.int32)
    check(
        [
            *[row(f"ints {n}", lambda m, x, n=n: getattr(SCIPY[m], n)(x), one, rtol=1e-5)
              for n in GRIDS if n != "spence"],
            *[row(f"half {n}", lambda m, x, n=n: getattr(SCIPY[m], n)(x), one.astype("float16"))
              for n in ("dawsn", "fresnel")],
        ]
    )  # fmt: skip
    for name in GRIDS:
        function = getattr(olympus.scipy.special, name)
        assert ox.numpy.asarray(function(ox.numpy.bfloat16(1.5))).dtype == "bfloat16"
        if name != "erfcx":
            with pytest.raises(ArgumentError, match=f"{name} does not support complex"):
                function(1j)


@pytest.mark.parametrize(("dtype", "bound"), [("complex128", 1e-13), ("complex64", 1e-5)])
def test_the_faddeeva_function(dtype: str, bound: float) -> None:
    random = np.random.default_rng(0)
    z = (random.standard_normal(300) * 5 + 1j * random.standard_normal(300) * 2).astype(dtype)
    with ox.enable_x64(dtype == "complex128"):
        result = ox.jit(olympus.scipy.special.wofz)(z)
    expected = scipy.special.wofz(z)
    near = np.abs(expected) < 1e30
    assert result.dtype == dtype
    error = np.abs(np.asarray(result) - expected)[near] / np.abs(expected[near])
    assert error.max() < bound
    with ox.enable_x64(True):
        ox.test_util.check_grads(olympus.scipy.special.wofz, (z[:4].astype("complex128"),), 2,
                                 rtol=1e-4, atol=1e-4)  # fmt: skip


@pytest.mark.parametrize(("dtype", "bound"), [("complex128", 1e-12), ("complex64", 3e-5)])
@pytest.mark.parametrize("name", ["gamma", "loggamma", "erfcx"])
def test_functions_of_complex_numbers(name: str, dtype: str, bound: float) -> None:
    random = np.random.default_rng(0)
    z = (random.standard_normal(300) * 5 + 1j * random.standard_normal(300) * 5).astype(dtype)
    special = getattr(scipy.special, name)
    z = np.concatenate([z, [-3.5, 0.5, 1, 4]])  # on the branch cut of loggamma, and at its zero
    with ox.enable_x64(dtype == "complex128"):
        result = ox.jit(getattr(olympus.scipy.special, name))(z)
        poles = getattr(olympus.scipy.special, name)(np.array([-1, NAN, INF], dtype))
    expected = special(z)
    near = np.abs(expected) < 1e30
    assert result.dtype == dtype and not result.weak_type
    error = np.abs(np.asarray(result) - expected)[near] / np.maximum(np.abs(expected[near]), 1)
    assert error.max() < bound
    undefined = np.isnan(np.asarray(poles))
    np.testing.assert_array_equal(undefined, [name != "erfcx", True, True])
    with ox.enable_x64(True):
        ox.test_util.check_grads(getattr(olympus.scipy.special, name),
                                 (np.array([0.3 + 1j, -1.2 - 0.5j, 2 + 0.1j, -2.5 + 0.3j]),), 2,
                                 rtol=1e-4, atol=1e-4)  # fmt: skip


def test_owens_function() -> None:
    h = np.r_[-8:8:41j, 0, 30, INF][:, None]
    a = np.r_[-5:5:33j, 0, 1, -1, 100, INF]
    with ox.enable_x64(True):
        result = np.asarray(ox.jit(olympus.scipy.special.owens_t)(h, a))
        assert np.isnan(olympus.scipy.special.owens_t(NAN, 1.0))
        ox.test_util.check_grads(olympus.scipy.special.owens_t, (POINTS, POINTS[::-1]), 2,
                                 rtol=1e-5, atol=1e-5)  # fmt: skip
    np.testing.assert_allclose(result, scipy.special.owens_t(h, a), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_bessel_functions_of_integer_order(dtype: Any, bound: float) -> None:
    x = np.r_[-20:20:81j, 1e-3].astype(dtype)
    with ox.enable_x64(dtype is np.float64):
        result = olympus.scipy.special.bessel_jn(x, v=6)
    expected = scipy.special.jn(np.arange(7)[:, None], x)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, atol=bound, rtol=0)
    with pytest.raises(ValueError, match="v >= 0"):
        olympus.scipy.special.bessel_jn(x, v=-1)
    with pytest.raises(ValueError, match="complex"):
        olympus.scipy.special.bessel_jn(1j, v=1)


def test_spherical_harmonics() -> None:
    degrees = [(n, m) for n in range(13) for m in range(-n, n + 1)] + [(2, 3), (3, -5)]
    n, m = (np.array(x, np.int32)[:, None] for x in zip(*degrees, strict=True))
    theta, phi = np.linspace(0, np.pi, 7), np.linspace(-3, 9, 7)
    with ox.enable_x64(True):
        result = ox.jit(lambda *x: olympus.scipy.special.sph_harm_y(*x, n_max=12))(n, m, theta, phi)
        eager = olympus.scipy.special.sph_harm_y(n, m, theta, phi)
        ox.test_util.check_grads(
            lambda *x: olympus.scipy.special.sph_harm_y(n[:20], m[:20], *x),
            (theta[1:4], phi[1:4]), 1, rtol=1e-5, atol=1e-5,
        )  # fmt: skip
    expected = np.where(abs(m) > n, 0, scipy.special.sph_harm_y(n, m, theta, phi))
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(eager, expected, rtol=1e-12, atol=1e-13)
    single = np.array([3], np.int32)
    for package in (jax, ox):
        special = SCIPY[package.numpy]
        value = special.sph_harm_y(single, single - 1, np.float32([0.5]), np.float32([1.0]))
        assert value.dtype == "complex64" and value.shape == (1,)
        with pytest.raises(TypeError):
            package.jit(lambda n, s=special: s.sph_harm_y(n, n, n * 0.5, n * 0.5))(single)
    with pytest.raises(TypeError, match="integers"):
        olympus.scipy.special.sph_harm_y(1.5, 1, 0.0, 0.0)
    with pytest.raises(NotImplementedError, match="diff_n"):
        olympus.scipy.special.sph_harm_y(1, 1, 0.0, 0.0, 1)
