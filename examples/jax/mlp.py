"""The training step of a multilayer perceptron in JAX."""

import jax
import jax.numpy as jnp

WIDTH = 64


def init(layers):
    keys = jax.random.split(jax.random.key(0), layers)
    return [{"w": jax.random.normal(k, (WIDTH, WIDTH)) / 8, "b": jnp.zeros(WIDTH)} for k in keys]


def loss(params, x, y):
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean((x - y) ** 2)


@jax.jit
def step(params, x, y):
    error, grads = jax.value_and_grad(loss)(params, x, y)
    return error, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
