"""Programs of JAX on which the rule of `raising/gains.py` was not chosen."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def highway(x: Any, weights: Any) -> Any:
    """Return the gradient of a highway network of ten layers."""

    def loss(weights: Any) -> Any:
        hidden = x
        for w in weights:
            gate = jax.nn.sigmoid(hidden @ w[0])
            hidden = gate * jnp.tanh(hidden @ w[1]) + (1 - gate) * hidden
        return jnp.mean(hidden**2)

    return jax.value_and_grad(loss)(weights)


def mixer(tokens: Any, mixing: Any, features: Any) -> Any:
    """Return a step of Adam on an MLP-Mixer of six layers."""

    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6)

    def loss(parameters: Any) -> Any:
        x = tokens
        for a, b in zip(*parameters, strict=True):
            x = x + jnp.einsum("btc,ts->bsc", jax.nn.gelu(norm(x)), a)
            x = x + jax.nn.gelu(norm(x) @ b) @ b.T
        return jnp.mean(x**2)

    parameters = mixing, features
    gradients = jax.grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - 1e-3 * g / (jnp.abs(g) + 1e-8), parameters, gradients)


def recurrent(x: Any, w: Any, u: Any) -> Any:
    """Return the gradient of a gated recurrent network over a sequence."""

    def loss(w: Any, u: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            gates = jax.nn.sigmoid(row @ w + h @ u)
            h = gates * h + (1 - gates) * jnp.tanh(row)
            return h, h

        _, states = jax.lax.scan(step, jnp.zeros_like(x[0]), x)
        return jnp.mean(states**2)

    return jax.grad(loss, (0, 1))(w, u)


def separable(images: Any, depthwise: Any, pointwise: Any) -> Any:
    """Return the features of depthwise separable convolutions."""
    for spatial, mix in zip(depthwise, pointwise, strict=True):
        images = jax.lax.conv_general_dilated(
            images,
            spatial,
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=images.shape[-1],
        )
        images = jax.nn.relu(images @ mix)
    return images


def power(a: Any) -> Any:
    """Return the largest eigenvalue of a matrix by power iteration, and a least-squares fit."""

    def step(v: Any) -> Any:
        v = a @ v
        return v / jnp.linalg.norm(v)

    _, v = jax.lax.while_loop(
        lambda s: s[0] < 200, lambda s: (s[0] + 1, step(s[1])), (0, jnp.ones(len(a)))
    )
    return v @ a @ v, jnp.linalg.lstsq(a[:, :16], a[:, 17])[0]


def bfgs(x: Any, targets: Any) -> Any:
    """Return parameters of a fit after 30 steps of BFGS."""

    def loss(p: Any) -> Any:
        return jnp.sum((jnp.tanh(x @ p) - targets) ** 2) + 1e-3 * p @ p

    def step(_: Any, state: Any) -> Any:
        p, h, g = state
        d = -h @ g
        q = p + 0.1 * d
        new = jax.grad(loss)(q)
        s, y = q - p, new - g
        r = 1 / jnp.maximum(s @ y, 1e-8)
        left = jnp.eye(len(p)) - r * jnp.outer(s, y)
        return q, left @ h @ left.T + r * jnp.outer(s, s), new

    p = jnp.zeros(x.shape[1])
    return jax.lax.fori_loop(0, 30, step, (p, jnp.eye(len(p)), jax.grad(loss)(p)))[0]


def search(priors: Any, values: Any) -> Any:
    """Return visit counts of a tree search of 64 simulations, for a batch of states."""

    def simulate(_: Any, state: Any) -> Any:
        visits, total = state
        bonus = priors * jnp.sqrt(visits.sum(-1, keepdims=True) + 1) / (1 + visits)
        chosen = jnp.argmax(total / jnp.maximum(visits, 1) + bonus, -1)
        rows = jnp.arange(len(chosen))
        visits = visits.at[rows, chosen].add(1.0)
        return visits, total.at[rows, chosen].add(values[rows, chosen])

    zeros = jnp.zeros_like(priors)
    return jax.lax.fori_loop(0, 64, simulate, (zeros, zeros))[0]


def nearest(points: Any, queries: Any) -> Any:
    """Return the means of the 16 nearest neighbours, and the points in the order of distance."""
    distances = jnp.sum((queries[:, None] - points) ** 2, -1)
    _, index = jax.lax.top_k(-distances, 16)
    return points[index].mean(1), points[jnp.argsort(distances[0])]


def histogram(x: Any) -> Any:
    """Return quantiles, counts and unique runs of numbers."""
    ordered = jnp.sort(x)
    edges = jnp.linspace(-3.0, 3.0, 65)
    counts = jnp.zeros(66).at[jnp.searchsorted(edges, x)].add(1.0)
    return ordered[:: len(x) // 16], counts, jnp.cumsum(jnp.diff(ordered) > 1e-4)


def sparse(values: Any, x: Any) -> Any:
    """Return a sparse matrix in coordinates times vectors, and a gradient of it."""
    n = len(x)
    rows = jnp.arange(len(values)) * 7919 % n
    columns = jnp.arange(len(values)) * 104729 % n

    def apply(values: Any, x: Any) -> Any:
        return jnp.zeros_like(x).at[rows].add(values[:, None] * x[columns])

    return jax.grad(lambda v, x: jnp.sum(jnp.tanh(apply(v, apply(v, x)))), (0, 1))(values, x)


def vision(images: Any, kernels: Any, dense: Any) -> Any:
    """Return the gradient of a convolutional network with pooling."""

    def loss(kernels: Any, dense: Any) -> Any:
        x = images
        for k in kernels:
            x = jax.lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(len(x), -1) @ dense
        return -jnp.mean(jax.nn.log_softmax(logits)[:, 0])

    return jax.grad(loss, (0, 1))(kernels, dense)


def waves(grid: Any) -> Any:
    """Return a wave after 20 steps in the space of frequencies."""
    k = jnp.fft.fftfreq(grid.shape[0]) * 6.28
    k2 = k[:, None] ** 2 + k[None, :] ** 2

    def step(state: Any, _: Any) -> Any:
        u, v = state
        force = jnp.fft.ifft2(-k2 * jnp.fft.fft2(u)).real - u**3
        v = v + 0.01 * force
        return (u + 0.01 * v, v), jnp.sum(v**2)

    return jax.lax.scan(step, (grid, jnp.zeros_like(grid)), None, length=20)


def dropout(x: Any, weights: Any) -> Any:
    """Return the gradient of a perceptron of six layers with dropout."""

    def loss(weights: Any) -> Any:
        hidden = x
        for key, w in zip(jax.random.split(jax.random.key(0), len(weights)), weights, strict=True):
            hidden = jax.nn.relu(hidden @ w)
            hidden = jnp.where(jax.random.bernoulli(key, 0.9, hidden.shape), hidden / 0.9, 0.0)
        return jnp.mean(hidden**2)

    return jax.grad(loss)(weights)


def metropolis(starts: Any) -> Any:
    """Return the ends of Markov chains of 200 steps whose density is a ring."""

    def density(x: Any) -> Any:
        return -jnp.square(jnp.linalg.norm(x, axis=-1) - 2.0) / 0.1

    def step(x: Any, key: Any) -> Any:
        move, accept = jax.random.split(key)
        other = x + 0.3 * jax.random.normal(move, x.shape)
        ratio = density(other) - density(x)
        is_accepted = jnp.log(jax.random.uniform(accept, ratio.shape)) < ratio
        return jnp.where(is_accepted[:, None], other, x), None

    return jax.lax.scan(step, starts, jax.random.split(jax.random.key(1), 200))[0]
