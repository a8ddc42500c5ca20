"""Programs that inspect the shardings of their arrays by `olympus.debug`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import olympus
from olympus.sharding import PartitionSpec
from tests.devices.meshes import ours, theirs

P = PartitionSpec


#: A function of a package, a function that inspects an array, and an array of 8 x 8.
InspectedProgram = Callable[[Any, Callable[[Any], None], Any], Any]


def constraint(m: Any, show: Any, x: Any) -> Any:
    sharding = (ours if m is olympus else theirs)((2, 4), ("x", "y"), ("y", "x"))
    y = m.lax.with_sharding_constraint(2 * x, sharding)
    show(y)
    return y + 1


def scanned(m: Any, show: Any, x: Any) -> Any:
    def body(c: Any, _: Any) -> Any:
        c = m.numpy.sin(c)
        show(c)
        return c, c.sum()

    return m.lax.scan(body, x, None, length=3)[0]


def looped(m: Any, show: Any, x: Any) -> Any:
    def goes_on(c: Any) -> Any:
        show(c[1].T)
        return c[0] < 3

    def body(c: Any) -> Any:
        show(c[1])
        return c[0] + 1, m.numpy.sin(c[1])

    return m.lax.while_loop(goes_on, body, (0, x))[1]


def chosen(m: Any, show: Any, x: Any) -> Any:
    def if_true(x: Any) -> Any:
        show(x)
        return x + 1

    def if_false(x: Any) -> Any:
        show(x.T)
        return x - 1

    return m.lax.cond(x.sum() > 0, if_true, if_false, x)


def mapped(m: Any, show: Any, x: Any) -> Any:
    def row(r: Any) -> Any:
        show(2 * r)
        show(x)
        return r + 1

    return m.vmap(row, in_axes=1)(x)


def differentiated(m: Any, show: Any, x: Any) -> Any:
    def loss(x: Any) -> Any:
        y = x * x
        show(y)
        return m.numpy.sin(scanned(m, show, y)).sum() + chosen(m, show, x).sum()

    return m.grad(loss)(x)


def forward(m: Any, show: Any, x: Any) -> Any:
    return m.jvp(lambda x: looped(m, show, x), (x,), (x,))


def nested(m: Any, show: Any, x: Any) -> Any:
    @m.jit
    def inner(x: Any) -> Any:
        show(m.numpy.cos(x))
        return x + 1

    return inner(inner(x))


def unread(m: Any, show: Any, x: Any) -> Any:
    show(m.numpy.dot(x, x.T))
    nested(m, show, x)
    scanned(m, show, x.T)
    chosen(m, show, x)
    return x.sum()


def repeated(m: Any, show: Any, x: Any) -> Any:
    show(x * 2)
    show(x * 2)
    return x


def recomputed(m: Any, show: Any, x: Any) -> Any:
    @m.checkpoint
    def layer(x: Any) -> Any:
        y = m.numpy.sin(x)
        show(y)
        return m.numpy.sin(nested(m, show, y))

    return m.grad(lambda x: layer(x).sum())(x)


def named_products(m: Any, show: Any, x: Any) -> Any:
    def layer(x: Any) -> Any:
        return m.numpy.sin(nested(m, show, m.numpy.sin(x) @ x))

    saving_products = m.checkpoint(layer, policy=m.checkpoint_policies.dots_saveable)
    return m.grad(lambda x: saving_products(x).sum())(x)


def with_a_jvp(m: Any, show: Any, x: Any) -> Any:
    @m.custom_jvp
    def f(x: Any) -> Any:
        show(x.T)
        return m.numpy.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        show(tangents[0])
        return f(*primals), tangents[0] * m.numpy.cos(primals[0])

    return f(x), m.jvp(f, (x,), (x,))


def with_a_vjp(m: Any, show: Any, x: Any) -> Any:
    def backward(x: Any, c: Any) -> Any:
        show(c.T)
        return (c * x,)

    def fwd(x: Any) -> Any:
        show(x * 1)
        return m.numpy.sin(x), x

    f = m.custom_vjp(lambda x: m.numpy.sin(x))
    f.defvjp(fwd, backward)
    return m.grad(lambda x: f(x).sum())(x)


def manual(m: Any, show: Any, x: Any) -> Any:
    sharding = (ours if m is olympus else theirs)((2, 4), ("x", "y"), ("x", "y"))

    def part(x: Any) -> Any:
        show(x * 2)
        return x + 1

    return m.shard_map(part, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec)(x)


def manual_in_part(m: Any, show: Any, x: Any) -> Any:
    sharding = (ours if m is olympus else theirs)((2, 4), ("x", "y"), ("x",))

    def part(x: Any) -> Any:
        show(x * 2)
        return x + 1

    options = {"in_specs": sharding.spec, "out_specs": sharding.spec, "axis_names": {"x"}}
    return m.shard_map(part, mesh=sharding.mesh, **options)(x)


def of_all_kinds(m: Any, show: Any, x: Any) -> Any:
    for y in (
        *(x.sum(), x.sum(0), x.reshape(64), x.reshape(2, 4, 8), x[:0], x > 0),
        *(m.numpy.ones((8, 8, 8)) * x, x @ x, np.ones(3), 2.0),
    ):
        show(y)
    return x


def for_a_platform(m: Any, show: Any, x: Any) -> Any:
    def shown(times: int) -> Any:
        def f(x: Any) -> Any:
            for _ in range(times):
                show(x * 2)
            return x + 1

        return f

    return m.lax.platform_dependent(x, cpu=shown(1), cuda=shown(2), default=shown(3))


def without_iterations(m: Any, show: Any, x: Any) -> Any:
    show(x)

    def body(c: Any, _: Any) -> Any:
        show(c)
        return c + 1, None

    return m.lax.scan(body, x, None, length=0)[0]


PROGRAMS: list[InspectedProgram] = [
    *(constraint, scanned, looped, chosen, mapped, differentiated, forward, nested, unread),
    *(repeated, recomputed, named_products, with_a_jvp, with_a_vjp, manual, manual_in_part),
    *(of_all_kinds, for_a_platform, without_iterations),
]


#: The programs for one device, whose nested programs are lowered or removed.
ON_ONE: list[InspectedProgram] = [
    *(scanned, chosen, nested, unread, differentiated, recomputed, for_a_platform),
    without_iterations,
]


def inspected_shardings(m: Any, program: InspectedProgram, x: Any) -> list[Any]:
    """Return the shardings that a compilation reports, at the first of two calls."""
    shardings: list[Any] = []

    def show(v: Any) -> None:  # JAX lowers equal equations with one callback once
        m.debug.inspect_array_sharding(v, callback=lambda sharding: shardings.append(sharding))

    run = m.jit(lambda x: program(m, show, x))
    run(x)
    first = len(shardings)
    run(x)
    assert len(shardings) == first
    return shardings
