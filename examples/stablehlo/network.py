"""A gradient step of a residual network in JAX; `python network.py` writes its StableHLO."""

from pathlib import Path

import jax
import jax.numpy as jnp

LAYERS, WIDTH, BATCH = 4, 64, 32


def init(key):
    keys = jax.random.split(key, LAYERS)
    return [{"w": jax.random.normal(k, (WIDTH, WIDTH)) / 8, "b": jnp.zeros(WIDTH)} for k in keys]


def forward(params, x):
    for layer in params:
        x = x + jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def loss(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


def step(params, x, y):
    error, grads = jax.value_and_grad(loss)(params, x, y)
    return error, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


if __name__ == "__main__":
    batch = jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.float32)
    params = jax.eval_shape(init, jax.random.key(0))
    lowered = jax.jit(step, donate_argnums=0).lower(params, batch, batch)
    folder = Path(__file__).resolve().parent
    text = lowered.as_text(debug_info=True).replace(f"{folder}/", "")  # the same in any checkout
    (folder / "network.mlir").write_text(text)
