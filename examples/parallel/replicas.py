"""`pmap`, as older programs use it: a function on each device, compiled ahead of time or eager.

OLYMPUS_NUM_CPU_DEVICES=8 python examples/parallel/replicas.py
"""

import olympus as ox

jnp, lax = ox.numpy, ox.lax


def f(x, y):
    return 2 * x + y


def compiled(x, y):
    """`f` on each device, compiled for the shapes and dtypes of x and y."""
    shapes = [ox.ShapeDtypeStruct(a.shape, a.dtype) for a in (x, y)]
    return ox.pmap(f).lower(*shapes).compile()


def share(x):
    """Each device's part of the sum over all of them."""
    return x / lax.psum(x, "i")


def descend(w, x, y, rate=0.1):
    """A step of least squares: all devices have the same w, and their own rows x and y."""

    def error(w):
        return jnp.mean((x @ w - y) ** 2)

    return w - rate * lax.pmean(ox.grad(error)(w), "i")


def fit(w, x, y, steps):
    """The w after some steps; x is float32[devices, rows, n], y float32[devices, rows]."""
    step = ox.pmap(descend, axis_name="i", in_axes=(None, 0, 0), out_axes=None)
    for _ in range(steps):
        w = step(w, x, y)
    return w


if __name__ == "__main__":
    n = len(ox.devices())
    x = jnp.arange(1.0, n + 1)
    print(compiled(x, 10 * x)(x, 10 * x))
    print(ox.pmap(share, axis_name="i")(x))
    rows = ox.random.normal(ox.random.key(0), (n, 16, 3))
    print(fit(jnp.zeros(3), rows, rows @ jnp.array([1.0, -2.0, 3.0]), 100))
