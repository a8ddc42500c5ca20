"""Classify the points of two spirals with a small network."""

import olympus as ox
import olympus.numpy as jnp


def init(seed=0, width=64):
    """Parameters of three dense layers: weights of variance 2 / inputs, and biases of zero."""
    sizes = [(2, width), (width, width), (width, 2)]
    keys = ox.random.split(ox.random.key(seed), len(sizes))
    return [
        {"w": ox.random.normal(key, size) * (2 / size[0]) ** 0.5, "b": jnp.zeros(size[1])}
        for key, size in zip(keys, sizes, strict=True)
    ]


def predict(params, points):
    """Logits, float32[batch, 2], of points, float32[batch, 2]."""
    *hidden, last = params
    x = points
    for layer in hidden:
        x = ox.nn.relu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def loss(params, points, labels):
    """The mean cross entropy of labels, int32[batch]."""
    scores = jnp.exp(predict(params, points))
    log_p = jnp.log(scores / scores.sum(axis=1, keepdims=True))
    return -jnp.mean(jnp.sum(log_p * ox.nn.one_hot(labels, 2), axis=1))


def step(params, points, labels, rate=0.3):
    """One step of gradient descent: the new parameters, and the loss of the old ones."""
    value, slopes = ox.value_and_grad(loss)(params, points, labels)
    return ox.tree.map(lambda p, slope: p - rate * slope, params, slopes), value
