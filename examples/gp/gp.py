"""Gaussian process regression: the evidence for hyperparameters, its exact derivatives, Newton.

The hyperparameters `theta`, float32[3], are logarithms: of the amplitude, length scale and noise.
"""

import math

import olympus as ox

jnp = ox.numpy


def kernel(theta, x, z):
    """Covariances of a smooth function's values at x, float32[n], and z, float32[m]."""
    amplitude, length, _ = jnp.exp(theta)
    return amplitude**2 * jnp.exp(-0.5 * ((x[:, None] - z) / length) ** 2)


def factor(theta, x):
    """The Cholesky factor of the covariances of noisy observations at x."""
    noise = jnp.exp(2 * theta[2]) * jnp.eye(len(x), dtype=x.dtype)
    return ox.lax.linalg.cholesky(kernel(theta, x, x) + noise)


def solve(lower, b):
    return ox.lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)


def log_evidence(theta, x, y):
    """The log marginal likelihood of y, float32[n] (Rasmussen and Williams, 2006, eq. 2.30)."""
    lower = factor(theta, x)
    white = solve(lower, y[:, None])
    half_log_det = jnp.sum(jnp.log(jnp.diag(lower)))
    return -0.5 * jnp.sum(white**2) - half_log_det - 0.5 * len(x) * math.log(2 * math.pi)


def hessian(theta, x, y):
    """The exact second derivatives of the evidence, float32[3, 3], through the factorization."""
    return ox.hessian(log_evidence)(theta, x, y)


def newton(theta, x, y):
    """One step uphill: better hyperparameters, and the evidence of those given.

    Each principal direction is divided by the size of its curvature, so that a saddle repels, and
    no step is longer than one, a factor of e.
    """
    value, gradient = ox.value_and_grad(log_evidence)(theta, x, y)
    axes, curvature = ox.lax.linalg.eigh(hessian(theta, x, y))
    step = axes @ (axes.T @ gradient / jnp.abs(curvature))
    return theta + step / jnp.maximum(1.0, jnp.sqrt(jnp.sum(step**2))), value


def predict(theta, x, y, new):
    """Mean and standard deviation of the function at the points `new`, each float32[m]."""
    lower = factor(theta, x)
    white = solve(lower, kernel(theta, x, new))
    mean = white.T @ solve(lower, y[:, None])[:, 0]
    return mean, jnp.sqrt(jnp.exp(2 * theta[0]) - jnp.sum(white**2, axis=0))
