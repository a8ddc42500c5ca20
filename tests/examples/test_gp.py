"""The Gaussian process: evidence, exact derivatives and Newton's steps are those under jax."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks.programs import EXAMPLES, load_source

X = np.linspace(0, 20, 60, dtype=np.float32)
Y = np.sin(X) + 0.3 * np.random.default_rng(0).standard_normal(60, dtype=np.float32)
THETA = np.log(np.array([1.0, 1.0, 0.3], np.float32))


def program(framework: str) -> ModuleType:
    return load_source(EXAMPLES / "gp" / "gp.py", framework)


def both(function: str, *args: np.ndarray) -> tuple[Any, Any]:
    """Return the results of the compiled function under olympus and under jax."""
    ours = olympus.jit(getattr(program("olympus"), function))(*args)
    theirs = jax.jit(getattr(program("jax"), function))(*args)
    return jax.tree.map(np.asarray, (ours, theirs))


def log_evidence(theta: np.ndarray) -> float:
    """The same in float64, by NumPy and from the definition: a normal density's logarithm."""
    amplitude, length, noise = np.exp(theta)
    cov = amplitude**2 * np.exp(-0.5 * ((X[:, None].astype(float) - X) / length) ** 2)
    cov += noise**2 * np.eye(len(X))
    _, log_det = np.linalg.slogdet(2 * np.pi * cov)
    return -0.5 * float(Y @ np.linalg.solve(cov, Y) + log_det)


def differences(theta: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """The second derivatives of `log_evidence` by central differences."""
    steps = h * np.eye(3)

    def second(a: np.ndarray, b: np.ndarray) -> float:
        corners = [s * t * log_evidence(theta + s * a + t * b) for s in (1, -1) for t in (1, -1)]
        return sum(corners) / (4 * h * h)

    return np.array([[second(a, b) for b in steps] for a in steps])


def test_the_evidence_is_a_normal_density() -> None:
    ours, theirs = both("log_evidence", THETA, X, Y)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert ours == pytest.approx(log_evidence(THETA.astype(float)), rel=1e-5)


def test_the_hessian_is_exact() -> None:
    ours, theirs = both("hessian", THETA, X, Y)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * scale)
    np.testing.assert_allclose(ours, ours.T, atol=1e-4 * scale)
    np.testing.assert_allclose(ours, differences(THETA.astype(float)), atol=2e-4 * scale)


def climb(ox: Any, steps: int = 8) -> tuple[Any, list[float]]:
    """Hyperparameters after some of Newton's steps, and the evidence before each."""
    step = ox.jit(program(ox.__name__).newton)
    theta, values = THETA, []
    for _ in range(steps):
        theta, value = step(theta, X, Y)
        values.append(float(value))
    return np.asarray(theta), values


def test_newton_climbs_to_the_same_peak() -> None:
    (ours, values), (theirs, _) = climb(olympus), climb(jax)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    gains = np.diff(values)
    assert gains[:4].min() > 0 and abs(gains[-1]) < 1e-3
    gradient = olympus.grad(program("olympus").log_evidence)(ours, X, Y)
    assert np.abs(gradient).max() < 1e-2


def test_predictions_follow_the_function() -> None:
    theta = np.log(np.array([0.93, 1.7, 0.26], np.float32))
    new = np.linspace(1, 19, 7, dtype=np.float32)
    (mean, sd), (their_mean, their_sd) = both("predict", theta, X, Y, new)
    np.testing.assert_allclose(mean, their_mean, atol=1e-4)
    np.testing.assert_allclose(sd, their_sd, atol=1e-4)
    assert np.all(np.abs(mean - np.sin(new)) < 3 * sd)
