"""`olympus.scipy.stats.gaussian_kde`: estimates of densities by Gaussian kernels.

The bandwidths are the rules of Scott and Silverman, as in SciPy's `scipy.stats.gaussian_kde`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.creation.matrices import diag
from olympus_core.library.numpy.elementwise.arithmetic import divide, square
from olympus_core.library.numpy.elementwise.exponential import exp, log, sqrt
from olympus_core.library.numpy.linalg.decompositions import cholesky as la_cholesky
from olympus_core.library.numpy.linalg.equations import inv as la_inv
from olympus_core.library.numpy.linalg.equations import solve as la_solve
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, atleast_2d, squeeze
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.numpy.reductions.covariance import cov
from olympus_core.library.numpy.reductions.sums import prod
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.library.random.key_functions import split
from olympus_core.library.random.keys import KeyLike
from olympus_core.library.random.normal import normal
from olympus_core.library.random.permutation import choice
from olympus_core.library.scipy.special.gamma import ndtr
from olympus_core.library.softmax import logsumexp
from olympus_core.transforms.vmapping import vmap

BandwidthMethod = str | ArrayLike | Callable[["gaussian_kde"], ArrayLike] | None


def _checked_weights(weights: Any, n: int) -> Any:
    """Return the weights of n points with the sum 1; raise ShapeError for another shape."""
    values = atleast_1d(weights)
    if values.shape != (n,):
        raise ShapeError(
            f"gaussian_kde needs a vector of weights of length {n}, and got {values.shape}"
        )
    return values / sum_(values)


def _bandwidth(estimate: gaussian_kde, method: BandwidthMethod) -> Any:
    if method is None or (isinstance(method, str) and method == "scott"):
        return estimate.neff ** (-1.0 / (estimate.d + 4))
    if isinstance(method, str) and method == "silverman":
        return (estimate.neff * (estimate.d + 2) / 4.0) ** (-1.0 / (estimate.d + 4))
    if callable(method):
        return method(estimate)
    if not isinstance(method, str) and not shape_of(method):
        return method
    raise ArgumentError("the bw_method is 'scott', 'silverman', a scalar or a callable")


class gaussian_kde:
    """An estimate of a density: the sum of a Gaussian kernel around each point of `dataset`.

    dataset: real points in the columns, of shape (d, n), or (n,) for d = 1; at least two numbers.
    bw_method: the factor of the kernel's width: "scott" (the default), "silverman", a scalar, or a
    function of the estimate. weights: n weights, by default equal ones.

    The estimate is a tree of the arrays `neff` (the effective number of points), `dataset`,
    `weights`, `covariance` (of the kernel) and `inv_cov`.

    Raises ArgumentError for a wrong method or data, ShapeError for weights of another shape,
    UnsupportedError for complex data.

    >>> gaussian_kde(array([0.0, 1.0, 3.0])).evaluate(array([1.0]))
    Array([0.21489537], dtype=float32)
    """

    __slots__ = ("covariance", "dataset", "inv_cov", "neff", "weights")

    neff: Array
    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: BandwidthMethod = None,
        weights: ArrayLike | None = None,
    ) -> None:
        check_arrays("gaussian_kde", dataset)
        points = atleast_2d(dataset)
        if dtypes.kind(points.dtype) == "c":
            raise UnsupportedError("gaussian_kde does not support complex data")
        if points.size <= 1:
            raise ArgumentError("gaussian_kde needs a dataset of multiple elements")
        n = points.shape[1]
        if weights is None:
            (points,) = promote_inexact(points)
            shares = full(n, 1.0 / n, dtype=points.dtype)
        else:
            check_arrays("gaussian_kde", weights)
            points, shares = promote_inexact(points, weights)
            shares = _checked_weights(shares, n)
        self._assign("dataset", points)
        self._assign("weights", shares)
        self._assign("neff", 1 / sum_(shares**2))
        factor = _bandwidth(self, bw_method)
        spread = atleast_2d(cov(points, rowvar=True, bias=False, aweights=shares))
        self._assign("covariance", spread * factor**2)
        self._assign("inv_cov", la_inv(spread) / factor**2)

    def _assign(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points of the data set."""
        return self.dataset.shape[1]

    def evaluate(self, points: ArrayLike) -> Array:
        """Return the density at `points`, of shape (d, m), or (m,) for d = 1; shape (m,).

        Raises ShapeError for points of another dimension.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).evaluate(array([1.0]))
        Array([0.21489537], dtype=float32)
        """
        check_arrays("gaussian_kde.evaluate", points)
        return _density(self, _reshaped(self, points), in_log=False)

    def __call__(self, points: ArrayLike) -> Array:
        """Return the density at `points`: `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density at `x`: `evaluate`.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).pdf(array([1.0]))
        Array([0.21489537], dtype=float32)
        """
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the logarithm of the density at `x`, without underflow; see `evaluate`.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).logpdf(array([1.0]))
        Array([-1.5376041], dtype=float32)
        """
        check_arrays("gaussian_kde.logpdf", x)
        return _density(self, _reshaped(self, x), in_log=True)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """Return the integral of the density times a normal density, of `mean` and `cov`.

        mean: of shape (d,). cov: of shape (d, d). Raises ShapeError for other shapes.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).integrate_gaussian(0.0, 1.0)
        Array(0.16680169, dtype=float32)
        """
        center, spread = atleast_1d(squeeze(asarray(mean))), atleast_2d(cov)
        if center.shape != (self.d,):
            raise ShapeError(f"the mean does not have dimension {self.d}: {center.shape}")
        if spread.shape != (self.d, self.d):
            raise ShapeError(f"the covariance does not have dimension {self.d}: {spread.shape}")
        return _convolved(self, center, self.covariance + spread)

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the integral of a density in one dimension from `low` to `high`, scalars.

        Raises ShapeError for a density in more dimensions, or limits that are no scalars.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).integrate_box_1d(0.0, 1.0)
        Array(0.2098186, dtype=float32)
        """
        if self.d != 1:
            raise ShapeError("integrate_box_1d() only handles densities in one dimension")
        if shape_of(low) or shape_of(high):
            raise ShapeError("the limits of integration in integrate_box_1d must be scalars")
        sigma = sqrt(self.covariance)[0, 0]
        start, end = ((asarray(x) - self.dataset[0]) / sigma for x in (low, high))
        return sum_(self.weights * (ndtr(end) - ndtr(start)))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Return the integral of the product of two densities of one dimension.

        Raises ShapeError if the dimensions differ.

        >>> estimate = gaussian_kde(array([0.0, 1.0, 3.0]))
        >>> estimate.integrate_kde(estimate)
        Array(0.1577143, dtype=float32)
        """
        if other.d != self.d:
            raise ShapeError(f"the densities have dimensions {self.d} and {other.d}")
        few, many = (self, other) if self.n < other.n else (other, self)
        spread = self.covariance + other.covariance
        parts = vmap(lambda center: _convolved(many, center, spread), in_axes=1)(few.dataset)
        total: Array = sum_(parts * few.weights)
        return total

    def resample(self, key: KeyLike, shape: tuple[int, ...] = ()) -> Array:
        """Return points drawn from the density, of shape (d, *shape), by a random key.

        >>> gaussian_kde(array([0.0, 1.0, 3.0])).resample(key(0), (4,)).shape
        (1, 4)
        """
        index_key, noise_key = split(key)
        index = choice(index_key, self.n, shape=shape, p=self.weights)
        noise = normal(noise_key, (*shape, self.d), self.dataset.dtype)
        noise = matmul(noise, la_cholesky(self.covariance).T)
        points: Array = self.dataset[:, index] + noise.T
        return points

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """Raise UnsupportedError: only boxes in one dimension are supported.

        >>> gaussian_kde(array([0.0, 1.0])).integrate_box_1d(0.0, 1.0).shape
        ()
        """
        raise UnsupportedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: BandwidthMethod = None) -> None:
        """Raise UnsupportedError: an estimate is immutable.

        >>> gaussian_kde(array([0.0, 1.0]), bw_method=0.5).d
        1
        """
        raise UnsupportedError(
            "dynamically changing the bandwidth method is not supported",
            hint="make another estimate with bw_method",
        )


def _reshaped(estimate: gaussian_kde, points: Any) -> Any:
    """Return points in the columns of a matrix with d rows; raise an error for other ones."""
    if dtypes.kind(get_aval(points).dtype) == "c":
        raise UnsupportedError("gaussian_kde does not support complex coordinates")
    columns = atleast_2d(points)
    rows, m = columns.shape
    if rows == estimate.d:
        return columns
    if rows == 1 and m == estimate.d:
        return columns.T
    raise ShapeError(f"points have dimension {rows}, dataset has dimension {estimate.d}")


def _convolved(estimate: gaussian_kde, center: Any, spread: Any) -> Array:
    """Return the weighted sum of the normal density of covariance `spread` around `center`."""
    factor = la_cholesky(spread)
    offsets = la_solve(factor, estimate.dataset - center[:, None])
    norm = math.sqrt(2 * np.pi) ** estimate.d * prod(diag(factor))
    total = sum_(exp(-0.5 * sum_(offsets * offsets, axis=0)) * estimate.weights)
    return divide(total, norm)


@composite(static_argnames=("in_log",))
def _density(estimate: gaussian_kde, points: Any, *, in_log: bool) -> Array:
    """Return the density at the columns of `points`, or its logarithm."""
    data, weights, points, precision = promote_inexact(
        estimate.dataset, estimate.weights, points, estimate.inv_cov
    )
    whitening = la_cholesky(precision)
    data, points = matmul(data.T, whitening), matmul(points.T, whitening)
    d = data.shape[1]
    log_norm = sum_(log(diag(whitening))) - 0.5 * d * math.log(2 * np.pi)

    def at(point: Any) -> Any:
        exponents = log_norm - 0.5 * sum_(square(data - point), axis=1)
        if in_log:
            return logsumexp(log(weights) + exponents)
        return sum_(weights * exp(exponents))

    values: Array = vmap(at)(points)
    return values


def _flatten(estimate: gaussian_kde) -> tuple[tuple[Any, ...], None]:
    names = ("neff", "dataset", "weights", "covariance", "inv_cov")
    return tuple(getattr(estimate, name) for name in names), None


def _unflatten(_: None, children: Sequence[Any]) -> gaussian_kde:
    estimate = object.__new__(gaussian_kde)
    for name, value in zip(
        ("neff", "dataset", "weights", "covariance", "inv_cov"), children, strict=True
    ):
        object.__setattr__(estimate, name, value)
    return estimate


tree.register_node(gaussian_kde, _flatten, _unflatten)
