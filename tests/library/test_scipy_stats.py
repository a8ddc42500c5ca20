"""The distributions and statistics of olympus.scipy.stats against JAX."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import jax.scipy.stats
import numpy as np
import pytest

import olympus as ox
import olympus.scipy.stats
from olympus.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from tests.day import by_day
from tests.library.oracle import Row, check, row

STATS = {ox.numpy: olympus.scipy.stats, jax.numpy: jax.scipy.stats}
rng = np.random.default_rng(0)
X = np.concatenate([3 * rng.normal(size=20), [0.0, 1, 2, 5, -1, np.nan]]).astype(np.float32)
COUNTS = np.array([-1, 0, 1, 2, 3, 5, 8], np.int32)
SHARES = np.array([-0.1, 0, 0.1, 0.5, 0.75, 1, 1.1, np.nan], np.float32)
P = np.array([0.2, 0.7], np.float32)[:, None]
POSITIVE = np.array([0.5, 2.5], np.float32)[:, None]
#: the arguments after the first, without loc and scale
SHAPES: dict[str, tuple[Any, ...]] = {
    "bernoulli": (P,),
    "beta": (POSITIVE, 1.5),
    "betabinom": (5, POSITIVE, 1.5),
    "binom": (5, P),
    "chi2": (POSITIVE,),
    "gamma": (POSITIVE,),
    "gennorm": (POSITIVE,),
    "geom": (P,),
    "nbinom": (3, P),
    "pareto": (POSITIVE,),
    "poisson": (POSITIVE,),
    "t": (POSITIVE,),
    "truncnorm": (-0.5, POSITIVE),
    "vonmises": (POSITIVE,),
    "wrapcauchy": (P,),
}
LOCATED = ["cauchy", "expon", "gumbel_l", "gumbel_r", "laplace", "logistic", "norm", "uniform"]
FIRST = {"k": COUNTS, "q": SHARES, "p": SHARES}


def functions(name: str) -> list[str]:
    module = importlib.import_module(f"jax.scipy.stats.{name}")
    return [f for f in dir(module) if not f.startswith("_")]


def of(path: str, *args: Any, rtol: float = 2e-5, atol: float = 2e-6, **options: Any) -> Row:
    def call(numpy: Any, *given: Any) -> Any:
        function: Any = STATS[numpy]
        for part in path.split("."):
            function = getattr(function, part)
        return function(*given, **options)

    return row(
        f"{path} {[getattr(a, 'shape', a) for a in args]}", call, *args, rtol=rtol, atol=atol
    )


def rows(name: str) -> list[Row]:
    """Calls of each function: with shape parameters, with loc and scale, in bfloat16."""
    found = []
    for function in functions(name):
        if function == "entropy":
            continue
        parameters = list(inspect.signature(_theirs(name, function)).parameters)
        first = FIRST.get(parameters[0], X)
        if name == "logistic" and function in ("ppf", "isf"):
            first = SHARES
        shapes = SHAPES.get(name, ())
        location = [(0.5, 2.0)[i] for i, p in enumerate(("loc", "scale")) if p in parameters]
        path = f"{name}.{function}"
        found.append(of(path, first, *shapes))
        if location and first is not COUNTS:
            found.append(of(path, first, *shapes, *location))
        elif location:
            found.append(of(path, first, *shapes, np.int32(1)))
    return found


def _theirs(name: str, function: str) -> Callable[..., Any]:
    theirs: Callable[..., Any] = getattr(getattr(jax.scipy.stats, name), function)
    return theirs


EVERY = [*SHAPES, *LOCATED]
#: the distributions with the longest compile times
SLOW = {"truncnorm", "beta", "betabinom", "chi2"}


@pytest.mark.parametrize("name", by_day(EVERY, set(EVERY) - SLOW))
def test_distributions(name: str) -> None:
    check(rows(name), weak=False)
    ours, theirs = (
        {f for f in dir(getattr(package, name)) if not f.startswith("_")}
        for package in STATS.values()
    )
    assert ours == theirs


@pytest.mark.parametrize("name", by_day(EVERY, {"cauchy", "norm", "poisson"}))
def test_scalars_are_weak_where_they_are_in_jax(name: str) -> None:
    check([of(f"{name}.{f}", 0.5, *(0.4,) * len(SHAPES.get(name, ()))) for f in functions(name)])


@pytest.mark.parametrize("name", ["cauchy", "gumbel_r"])
def test_eager_calls(name: str) -> None:
    check(rows(name)[:4], jit=False, weak=False)


def test_the_truncated_normal_distribution() -> None:
    check([of("truncnorm.logcdf", X, -0.5, 2.5), of("truncnorm.pdf", X, -3.0, -1.0)], weak=False)


#: JAX has no derivative of its -1 log(scale)
DIFFERENTIABLE = set(EVERY) - {"gumbel_l", "gumbel_r"}


@pytest.mark.parametrize("name", by_day(sorted(DIFFERENTIABLE), {"binom", "cauchy", "norm", "t"}))
def test_derivatives(name: str) -> None:
    """The gradient in each argument of floats, with finite values inside of the support."""
    shapes = [np.float32(np.ravel(p)[0]) for p in SHAPES.get(name, ())]
    start = {"pareto": 1.7, "bernoulli": 1.0, "wrapcauchy": 0.4}.get(name, 0.3)
    if {"k"} <= set(inspect.signature(_theirs(name, functions(name)[0])).parameters):
        start = 1.0

    def slopes(numpy: Any, *args: Any) -> Any:
        package = ox if numpy is ox.numpy else jax
        results = []
        for function in functions(name):
            if function == "entropy":
                continue
            f = getattr(getattr(STATS[numpy], name), function)
            # JAX has no derivative of betainc in the others
            count = 1 if name == "beta" else len(args)
            results.append(package.grad(f, argnums=tuple(range(count)))(*args))
        return results

    check([row(name, slopes, np.float32(start), *shapes, rtol=1e-4, atol=1e-5)], weak=False)


POINTS, WEIGHTS = rng.normal(size=(2, 9)), rng.uniform(1, 2, 9).astype(np.float32)
POINTS = POINTS.astype(np.float32)
A = rng.normal(size=(3, 3)).astype(np.float32)
COVARIANCE = A @ A.T + np.eye(3, dtype=np.float32)
SIMPLEX = np.array([[0.2, 0.5], [0.8, 0.6]], np.float32)
INTS = rng.integers(0, 4, (5, 6)).astype(np.int32)

VECTORS = [
    of("dirichlet.logpdf", SIMPLEX, [2.0, 3.0]),
    of("dirichlet.pdf", SIMPLEX[:1], [2.0, 3.0]),
    of("dirichlet.pdf", SIMPLEX[:, 0], np.array([2, 3])),
    of("multinomial.logpmf", np.array([1, 3]), 4, [0.5, 0.5]),
    of("multinomial.pmf", np.array([1, 3]), 5, [0.5, 0.5]),
    of("multivariate_normal.logpdf", A, np.zeros(3, np.float32), COVARIANCE, rtol=1e-4),
    of("multivariate_normal.pdf", A[0], 0.5, 2.0),
    of("multivariate_normal.logpdf", A, np.zeros(3, np.float32), 2.0),
    of("multivariate_normal.logpdf", A, A, np.stack([COVARIANCE] * 3), rtol=1e-4),
    of("poisson.entropy", np.array([[0, 0.5, 3], [12, 70, 300]]), 1, rtol=1e-4),
]

SAMPLES = [
    *[of("mode", INTS, axis=a, keepdims=k) for a in (0, 1, None) for k in (False, True)],
    of("mode", np.zeros((0, 2), np.float32)),
    of("mode", np.zeros((0, 2), np.float32), axis=1),
    *[
        of("rankdata", INTS, method=m, axis=a)
        for m in ("average", "min", "max", "dense", "ordinal")
        for a in (None, 0, 1)
    ],
    of("rankdata", X),
    *[of("sem", A, axis=a, keepdims=k) for a in (0, 1, None) for k in (False, True)],
    of("sem", np.where(A > 1, np.nan, A), nan_policy="omit"),
    of("sem", INTS, ddof=0),
]


def test_vectors_and_samples() -> None:
    check(VECTORS, weak=False)
    check(SAMPLES, weak=False)


def test_estimates_of_densities() -> None:
    def calls(numpy: Any, points: Any, weights: Any) -> Any:
        make = STATS[numpy].gaussian_kde
        results = []
        for options in ({"weights": weights}, {"bw_method": "silverman"}):
            estimate = make(points, **options)
            results += [estimate.neff, estimate.covariance, estimate.inv_cov]
            results += [estimate.evaluate(points[:, :4]), estimate.logpdf(points[:, 0])]
            results += [estimate.integrate_gaussian(points[:, 1], np.eye(2, dtype=np.float32))]
            results += [estimate.integrate_kde(make(points[:, :5]))]
            line = make(points[0], **options)
            results += [make(points[0]).neff, make(points[0], 0.5)(points[0])]
            results += [line(points[0]), line.pdf(points[1]), line.integrate_box_1d(-1.0, 0.5)]
        package = ox if numpy is ox.numpy else jax
        leaves, tree = package.tree.flatten(estimate)
        return [*results, *leaves, package.tree.unflatten(tree, leaves).evaluate(points[:, 1])]

    check([row("kde", calls, POINTS, WEIGHTS, rtol=1e-4, atol=1e-5)], weak=False)
    estimate, key = olympus.scipy.stats.gaussian_kde(POINTS), ox.random.key(0)
    theirs = jax.scipy.stats.gaussian_kde(POINTS).resample(jax.random.key(0), (7,))
    np.testing.assert_allclose(estimate.resample(key, (7,)), theirs, rtol=1e-4, atol=1e-5)
    assert (estimate.d, estimate.n) == (2, 9)


def test_errors() -> None:
    s = olympus.scipy.stats
    estimate = s.gaussian_kde(POINTS)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: s.norm.pdf([1.0]), DTypeError, "norm"),
        (lambda: s.beta.pdf(X, A, A), ShapeError, "beta.logpdf"),
        (lambda: s.beta.cdf("a", 1.0, 1.0), DTypeError, "beta.cdf"),
        (lambda: s.dirichlet.pdf(X, A), ShapeError, "vector alpha"),
        (lambda: s.dirichlet.pdf(X, np.ones(3)), ShapeError, "as many entries"),
        (lambda: s.multinomial.pmf(X, 1, X), ArgumentError, "needs integers"),
        (lambda: s.multivariate_normal.pdf(X, np.ones(3), A[:2]), ShapeError, "covariances"),
        (lambda: s.multivariate_normal.logpdf(A, A, A, True), UnsupportedError, "allow_singular"),
        (lambda: s.mode(X, nan_policy="odd"), ArgumentError, "illegal nan_policy"),
        (lambda: s.mode(X, nan_policy="omit"), NotImplementedError, "nan_policy"),
        (lambda: s.rankdata(X, "odd"), ArgumentError, "unknown method"),
        (lambda: s.sem(X, nan_policy="odd"), ValueError, "nan_policy"),
        (lambda: s.sem(X, axis=1), ShapeError, "out of bounds"),
        (lambda: s.gaussian_kde(X[:1]), ArgumentError, "multiple elements"),
        (lambda: s.gaussian_kde(1j * X), UnsupportedError, "complex"),
        (lambda: s.gaussian_kde(POINTS, "odd"), ArgumentError, "bw_method"),
        (lambda: s.gaussian_kde(POINTS, weights=X), ShapeError, "weights of length 9"),
        (lambda: estimate(A), ShapeError, "dataset has dimension 2"),
        (lambda: estimate.integrate_box_1d(0, 1), ShapeError, "one dimension"),
        (lambda: estimate.integrate_box(0, 1), UnsupportedError, "1D box"),
        (lambda: estimate.set_bandwidth(1), UnsupportedError, "bandwidth"),
        (lambda: estimate.integrate_kde(s.gaussian_kde(X)), ShapeError, "dimensions 2 and 1"),
        (lambda: estimate.integrate_gaussian(X, A), ShapeError, "mean"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    with pytest.raises(AttributeError, match="cannot assign"):
        estimate.dataset = POINTS
