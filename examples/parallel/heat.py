"""The heat equation on several devices: each has some rows, and its neighbours' nearest ones.

OLYMPUS_NUM_CPU_DEVICES=8 python examples/parallel/heat.py
"""

import olympus as ox

jnp, lax, P = ox.numpy, ox.lax, ox.sharding.PartitionSpec


def step(above, rows, below, rate=0.2):
    """A step of `rows`, float32[n, width], between a row above and one below, float32[1, width].

    The five-point stencil in space, Euler's method in time, and zero to the left and the right.
    """
    tall = jnp.concatenate([above, rows, below])
    wide = jnp.pad(rows, ((0, 0), (1, 1)))
    around = tall[:-2] + tall[2:] + wide[:, :-2] + wide[:, 2:]
    return rows + rate * (around - 4 * rows)


def alone(rows, steps):
    """The grid after some steps on one device; zero above it and below it."""
    edge = jnp.zeros_like(rows[:1])
    return lax.fori_loop(0, steps, lambda _, x: step(edge, x, edge), rows)


def together(rows, steps, mesh):
    """The same grid, cut along the axis "rows" of a mesh, which divides its height."""

    def move(_, x):
        """A step on one device: it sends its last row down and its first row up.

        The first device gets nothing from above, which `ppermute` makes zeros, as the edge is.
        """
        n = lax.axis_size("rows")
        above = lax.ppermute(x[-1:], "rows", [(i, i + 1) for i in range(n - 1)])
        below = lax.ppermute(x[:1], "rows", [(i + 1, i) for i in range(n - 1)])
        return step(above, x, below)

    run = ox.shard_map(
        lambda x: lax.fori_loop(0, steps, move, x),
        mesh=mesh,
        in_specs=P("rows", None),
        out_specs=P("rows", None),
    )
    return ox.jit(run)(rows)


if __name__ == "__main__":
    start = jnp.zeros((64, 64)).at[20:30, 30:50].set(1.0)
    mesh = ox.make_mesh((len(ox.devices()),), ("rows",), (ox.sharding.AxisType.Auto,))
    found = together(start, 100, mesh)
    print(found.sharding, float(found.sum()))
    print("largest difference:", float(abs(found - alone(start, 100)).max()))
