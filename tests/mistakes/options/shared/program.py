import ctypes
import types

import olympus.numpy as np

# a substitute for JAX, whose functions refuse arrays of other packages with this message
jax = types.ModuleType("jax")
exec(
    "def sin(x): raise TypeError(f'Argument {x!r} of type {type(x)} is not a valid JAX type.')",
    vars(jax),
)


def uses_jax(x):
    return jax.sin(x * 2)


def adds_none(x):
    return x + None


def traced_shape(x):
    return np.zeros((x, 3))


def text_rate(x, lr="3e-4"):
    return lr * x


def misspelt(x):
    return np.sofmax(x)


def crashes(x):
    y = x * 2
    ctypes.string_at(0)
    return y


def f(x):
    return np.sin(x)


def scaled(params, x):
    return x * params["norm"]
