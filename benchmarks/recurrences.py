"""Programs of JAX that are loops over small arrays.

The rule for loops was not derived from them, but for the Kalman filter, the Viterbi path and the
position in space.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def kalman(observed: Any, motion: Any, noise: Any) -> Any:
    """Return the filtered states of a linear system of four states, two of them observed."""
    seen = jnp.eye(2, 4)

    def step(state: Any, z: Any) -> Any:
        mean, cov = state
        mean, cov = motion @ mean, motion @ cov @ motion.T + noise
        s = seen @ cov @ seen.T + jnp.eye(2)
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]]) / det
        gain = cov @ seen.T @ inverse
        mean = mean + gain @ (z - seen @ mean)
        return (mean, (jnp.eye(4) - gain @ seen) @ cov), mean

    return jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), observed)[1]


def forward_algorithm(transitions: Any, scores: Any) -> Any:
    """Return the log likelihood of a hidden Markov model of 12 states, and its gradient."""
    steps = jax.nn.log_softmax(transitions)

    def likelihood(scores: Any) -> Any:
        def step(alpha: Any, score: Any) -> Any:
            return jax.nn.logsumexp(alpha[:, None] + steps, 0) + score, None

        return jax.nn.logsumexp(jax.lax.scan(step, scores[0], scores[1:])[0])

    return jax.value_and_grad(likelihood)(scores)


def viterbi(transitions: Any, scores: Any) -> Any:
    """Return the most likely path through 12 states."""

    def step(best: Any, score: Any) -> Any:
        through = best[:, None] + transitions
        return through.max(0) + score, through.argmax(0)

    best, back = jax.lax.scan(step, scores[0], scores[1:])

    def follow(state: Any, row: Any) -> Any:
        return row[state], state

    return jax.lax.scan(follow, jnp.argmax(best), back, reverse=True)[1]


def cell(x: Any, w: Any, u: Any) -> Any:
    """Return the states of a gated recurrent cell of 32 units over one sequence."""
    w, u = 0.1 * w, 0.1 * u

    def step(h: Any, row: Any) -> Any:
        gate = jax.nn.sigmoid(w @ row + u @ h)
        h = gate * h + (1 - gate) * jnp.tanh(row + u @ (gate * h))
        return h, h

    return jax.lax.scan(step, jnp.zeros(len(w)), x)[1]


def attractor(start: Any) -> Any:
    """Return the paths of 32 particles in Lorenz's system, by Runge and Kutta's method."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s: Any, _: Any) -> Any:
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        s = s + 0.01 / 6 * (a + 2 * b + 2 * c + slope(s + 0.01 * c))
        return s, s

    return jax.lax.scan(step, start, None, length=500)[1]


def tridiagonal(lower: Any, main: Any, upper: Any, right: Any) -> Any:
    """Return the solutions of 16 tridiagonal systems, by elimination."""

    def eliminate(before: Any, row: Any) -> Any:
        a, b, c, d = row
        scale = b - a * before[0]
        new = c / scale, (d - a * before[1]) / scale
        return new, new

    zeros = jnp.zeros(main.shape[1])
    rows = lower, 4 + jnp.abs(main), upper, right
    _, (c, d) = jax.lax.scan(eliminate, (zeros, zeros), rows)

    def substitute(x: Any, row: Any) -> Any:
        x = row[1] - row[0] * x
        return x, x

    return jax.lax.scan(substitute, zeros, (c, d), reverse=True)[1]


def life(board: Any) -> Any:
    """Return a board of the game of life after 200 steps."""

    def step(_: Any, x: Any) -> Any:
        around = sum(
            jnp.roll(jnp.roll(x, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        return jnp.where((around == 3) | ((around == 2) & (x > 0)), 1.0, 0.0)

    return jax.lax.fori_loop(0, 200, step, jnp.where(board > 0, 1.0, 0.0))


def rollout(state: Any, gains: Any) -> Any:
    """Return the cost of 200 steps of a controlled pendulum, and its gradient."""

    def cost(gains: Any) -> Any:
        def step(s: Any, _: Any) -> Any:
            angle, speed, total = s
            force = jnp.clip(gains[0] * angle + gains[1] * speed, -2.0, 2.0)
            speed = speed + 0.02 * (jnp.sin(angle) - force)
            total = total + angle**2 + 0.1 * speed**2 + 0.01 * force**2
            return (angle + 0.02 * speed, speed, total), None

        zeros = jnp.zeros_like(state)
        return jax.lax.scan(step, (state, zeros, zeros), None, length=200)[0][2].sum()

    return jax.value_and_grad(cost)(gains)


def roots(x: Any) -> Any:
    """Return the roots of Kepler's equation for 128 bodies, to a tolerance."""

    def step(e: Any) -> Any:
        return e - (e - 0.3 * jnp.sin(e) - x) / (1 - 0.3 * jnp.cos(e))

    def differs(e: Any) -> Any:
        return jnp.abs(e - 0.3 * jnp.sin(e) - x).max() > 1e-5

    return jax.lax.while_loop(differs, step, x + 0.3)


def ranking(links: Any) -> Any:
    """Return the ranks of 48 pages, by 100 steps of the power method."""
    weights = jnp.abs(links) / jnp.abs(links).sum(0)

    def step(_: Any, rank: Any) -> Any:
        rank = 0.85 * (weights @ rank) + 0.15 / len(rank)
        return rank / rank.sum()

    return jax.lax.fori_loop(0, 100, step, jnp.full(len(weights), 1 / len(weights)))


def totals(x: Any) -> Any:
    """Return running means, records and the drawdown of 32 series."""
    mean = jnp.cumsum(x, 0) / (1 + jnp.arange(len(x)))[:, None]
    price = jnp.cumprod(1 + 0.01 * jnp.tanh(x), 0)
    return mean, price / jax.lax.cummax(price, 0)


def smoothing(x: Any) -> Any:
    """Return the gradient of the error of Holt's exponential smoothing of 24 series."""

    def error(rates: Any) -> Any:
        a, b = jax.nn.sigmoid(rates)

        def step(s: Any, value: Any) -> Any:
            level, trend = s
            new = a * value + (1 - a) * (level + trend)
            return (new, b * (new - level) + (1 - b) * trend), (value - level - trend) ** 2

        return jax.lax.scan(step, (x[0], jnp.zeros_like(x[0])), x[1:])[1].mean()

    return jax.grad(error)(jnp.zeros(2))


def tracking(distances: Any) -> Any:
    """Return the path of a body in space, from distances to four beacons, by Kalman's filter."""
    beacons = jnp.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]])
    motion = jnp.eye(6) + 0.1 * jnp.eye(6, k=3)

    def measured(state: Any) -> Any:
        return jnp.sqrt(((state[:3] - beacons) ** 2).sum(1) + 1)

    def step(state: Any, z: Any) -> Any:
        mean, cov = motion @ state[0], motion @ state[1] @ motion.T + 0.01 * jnp.eye(6)
        slope = jax.jacfwd(measured)(mean)
        s = slope @ cov @ slope.T + 0.1 * jnp.eye(4)
        gain = jnp.linalg.solve(s, slope @ cov).T
        mean = mean + gain @ (z - measured(mean))
        return (mean, cov - gain @ s @ gain.T), mean[:3]

    return jax.lax.scan(step, (jnp.ones(6), jnp.eye(6)), jnp.abs(distances) + 5)[1]


def regulator(motion: Any, effect: Any) -> Any:
    """Return the gains of a linear regulator of four states, by Riccati's equation."""
    a, b = jnp.eye(4) + 0.1 * motion, 0.1 * effect

    def step(cost: Any, _: Any) -> Any:
        s = jnp.eye(2) + b.T @ cost @ b
        gain = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(s), b.T @ cost @ a)
        return jnp.eye(4) + a.T @ cost @ (a - b @ gain), gain

    return jax.lax.scan(step, jnp.eye(4), None, length=300)[1]


def random_effects(designs: Any, values: Any) -> Any:
    """Return the log likelihood of a mixed model of 100 groups, and its gradient."""

    def likelihood(log_scales: Any) -> Any:
        def step(total: Any, group: Any) -> Any:
            x, y = group
            cov = (x * jnp.exp(log_scales)) @ x.T + jnp.eye(len(y))
            factor = jnp.linalg.cholesky(cov)
            white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
            return total - jnp.log(jnp.diag(factor)).sum() - 0.5 * (white**2).sum(), None

        return jax.lax.scan(step, 0.0, (designs, values))[0]

    return jax.value_and_grad(likelihood)(jnp.zeros(2))


def curve(x: Any, y: Any) -> Any:
    """Return the parameters of a peak through 64 points, by Levenberg and Marquardt's method."""

    def errors(p: Any) -> Any:
        return p[0] * jnp.exp(-((x - p[1]) ** 2) / (1 + p[2] ** 2)) + p[3] - y

    def step(p: Any, _: Any) -> Any:
        slope, rest = jax.jacfwd(errors)(p), errors(p)
        scale = slope.T @ slope + 0.1 * jnp.eye(4)
        return p - jnp.linalg.solve(scale, slope.T @ rest), (rest**2).sum()

    return jax.lax.scan(step, jnp.ones(4), None, length=50)


def rigid_body(spins: Any) -> Any:
    """Return the spins of a body whose inertia changes, by Runge and Kutta's method."""

    def inertia(t: Any) -> Any:
        return jnp.diag(jnp.array([1.0, 2, 3])) + 0.1 * jnp.sin(t) * (1 - jnp.eye(3))

    def slope(t: Any, w: Any) -> Any:
        matrix = inertia(t)
        return jnp.linalg.solve(matrix, -jnp.cross(w, matrix @ w))

    def step(state: Any, _: Any) -> Any:
        t, w = state
        a = slope(t, w)
        b = slope(t + 0.01, w + 0.01 * a)
        c = slope(t + 0.01, w + 0.01 * b)
        w = w + 0.02 / 6 * (a + 2 * b + 2 * c + slope(t + 0.02, w + 0.02 * c))
        return (t + 0.02, w), w

    return jax.lax.scan(step, (0.0, spins), None, length=200)[1]
