# olympus trace uses_jax_raised_typeerror_while_was_traced.py:uses_jax --shapes 'f32[4]'
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


# exit 3
# error: uses_jax raised TypeError while it was traced: Argument JitTracer(float32[4]) of type <class 'Array'> is not a valid JAX type.
#   uses_jax_raised_typeerror_while_was_traced.py:16
#     return jax.sin(x * 2)
# hint: this line calls JAX, which does not accept arrays of OLYMPUS: import the module of OLYMPUS, such as `import olympus.numpy as jnp` or `import olympus as jax`
