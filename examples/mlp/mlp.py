"""A multilayer perceptron that reads 28 x 28 images and scores ten classes."""

import olympus as ox

jnp = ox.numpy


def init(sizes=(784, 512, 256, 10), seed=0):
    """One weight matrix and one bias for each pair of neighbouring sizes."""
    keys = ox.random.split(ox.random.key(seed), len(sizes) - 1)
    return [
        {"w": he_normal(key, n_in, n_out), "b": jnp.zeros(n_out)}
        for key, n_in, n_out in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def he_normal(key, n_in, n_out):
    """Weights of variance 2 / n_in, which keeps a relu layer's activations at scale one."""
    return ox.random.normal(key, (n_in, n_out)) * (2 / n_in) ** 0.5


def forward(params, x):
    """Images, float32[batch, 784], to logits, float32[batch, 10]."""
    *hidden, last = params
    for layer in hidden:
        x = ox.nn.relu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]
