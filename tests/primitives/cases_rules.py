"""Rows of the primitives that carry derivative rules, names and recomputation."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

import olympus
from tests.devices.meshes import ours, theirs
from tests.primitives.case import Case, arg

TABLE = np.array([0.5, -1.5, 2.0, 0.25], np.float32)


def of(lax: Any) -> Any:
    """The library that has this `lax`."""
    return jax if lax is jax.lax else olympus


def _checkpoint(lax: Any, x: Any) -> Any:
    return of(lax).checkpoint(lambda v: lax.sin(lax.mul(v, v)))(x)


def _custom_jvp(lax: Any, x: Any) -> Any:
    f = of(lax).custom_jvp(lambda v: lax.sin(v))
    f.defjvp(lambda p, t: (f(*p), lax.mul(t[0], lax.cos(p[0]))))
    return f(x)


def _custom_vjp(lax: Any, x: Any) -> Any:
    f = of(lax).custom_vjp(lambda v: lax.sin(v))
    f.defvjp(lambda v: (f(v), v), lambda v, c: (lax.mul(c, lax.cos(v)),))
    return f(x)


def _linear_solve(lax: Any, a: Any, b: Any) -> Any:
    """A lower triangular system of two equations, which closes over its matrix."""

    def substitute(_: Any, y: Any) -> Any:
        first = y[0] / a[0]
        return of(lax).numpy.stack([first, (y[1] - a[1] * first) / a[2]])

    def substitute_back(_: Any, y: Any) -> Any:
        last = y[1] / a[2]
        return of(lax).numpy.stack([(y[0] - a[1] * last) / a[0], last])

    def product(x: Any) -> Any:
        return of(lax).numpy.stack([a[0] * x[0], a[1] * x[0] + a[2] * x[1]])

    return lax.custom_linear_solve(product, b, substitute, substitute_back)


def _custom_vmap(lax: Any, x: Any) -> Any:
    if lax is jax.lax:  # its own has no reverse derivative
        return lax.mul(lax.sin(x), x)
    f = olympus.custom_batching.custom_vmap(lambda v: lax.mul(lax.sin(v), v))
    f.def_vmap(lambda size, mapped, v: (lax.mul(lax.sin(v), v), mapped[0]))
    return f(x)


def _linear_call(lax: Any, x: Any, r: Any) -> Any:
    if lax is jax.lax:  # its own cannot be mapped
        return lax.mul(x, r)
    by = lax.mul
    return olympus.custom_derivatives.linear_call(by, lambda r, ct: by(ct, r), r, x)


def _composite(lax: Any, x: Any) -> Any:
    if lax is jax.lax:  # its own cannot be mapped
        return lax.mul(lax.sin(x), x)
    return lax.composite(lambda v, **_: lax.mul(lax.sin(v), v), "my.product", 2)(x, axis=1)


def _constant(lax: Any, x: Any) -> Any:
    """A rule that closes over an array leaves it behind in a nested program."""
    ox = of(lax)
    f = ox.custom_jvp(lambda v: v)
    f.defjvp(lambda p, t: (p[0], lax.mul(t[0], lax.convert_element_type(TABLE, p[0].dtype))))
    return ox.jvp(ox.jit(lambda v: f(v)), (x,), (x,))[1]


def _name(lax: Any, x: Any) -> Any:
    named = checkpoint_name if lax is jax.lax else olympus.ad_checkpoint.checkpoint_name
    return lax.sin(named(x, "kept"))


def _platform(lax: Any, x: Any, y: Any) -> Any:
    return lax.platform_dependent(
        x, y, cpu=lambda x, y: lax.mul(lax.sin(x), y), default=lambda x, y: lax.add(x, y)
    )


def _on_two_devices(lax: Any, x: Any) -> Any:
    sharded = ours if lax is olympus.lax else theirs
    return lax.with_sharding_constraint(lax.sin(x), sharded((2,), ("i",), (None, "i")))


def _put_on_two_devices(lax: Any, x: Any) -> Any:
    sharded = ours if lax is olympus.lax else theirs
    return of(lax).device_put(lax.sin(x), sharded((2,), ("i",), (None, "i")))


def _resharded(lax: Any, x: Any) -> Any:
    if lax is jax.lax:  # which needs the mesh in a context around the test
        return lax.sin(x)
    sharding = ours((2,), ("i",), (None, "i"))
    mesh = sharding.mesh.update(axis_types=olympus.sharding.AxisType.Explicit)
    return olympus.sharding.reshard(lax.sin(x), sharding.update(mesh=mesh))


def _inspected(lax: Any, x: Any) -> Any:
    y = lax.sin(x)
    of(lax).debug.inspect_array_sharding(y, callback=_assert_replicated)
    return y


def _assert_replicated(sharding: Any) -> None:
    assert sharding.is_fully_replicated


def _mapped(lax: Any, fun: Any, x: Any) -> Any:
    """`fun` of half of the columns, on each of two devices."""
    sharding = (ours if lax is olympus.lax else theirs)((2,), ("i",), (None, "i"))
    options = {"in_specs": sharding.spec, "out_specs": sharding.spec}
    mapped = of(lax).shard_map(fun, mesh=sharding.mesh, **options)
    # the oracle's own does not take tangents of NumPy
    return jax.jit(mapped)(x) if lax is jax.lax else mapped(x)


def _shard_map(lax: Any, x: Any) -> Any:
    return _mapped(lax, lambda v: lax.sin(v) * lax.psum(v, "i"), x)


def _pvary(lax: Any, x: Any) -> Any:
    return _mapped(lax, lambda v: lax.pcast(lax.psum(v * v, "i"), "i", to="varying"), x)


def _psum_invariant(lax: Any, x: Any) -> Any:
    return _mapped(lax, lambda v: v * lax.psum(lax.sin(v), "i"), x)


def _typed(name: str, out_spec: tuple[Any, ...], fun: Any, plain: Any) -> Case:
    """A program of half of the columns on each of two devices, along an explicit axis.

    The oracle computes `plain` on one device, because its program needs a mesh around the test.
    """

    def call(lax: Any, x: Any) -> Any:
        x = lax.sin(x)
        if lax is jax.lax:
            return plain(jax.numpy, x, x[:, :2] + x[:, 2:])
        sharding = _explicit()
        spec = olympus.P(*out_spec)
        mapped = olympus.shard_map(fun, mesh=sharding.mesh, out_specs=spec)
        return mapped(olympus.sharding.reshard(x, sharding))

    return Case(name, call, (arg(3, 4),))


def _explicit() -> Any:
    sharding = ours((2,), ("i",), (None, "i"))
    mesh = sharding.mesh.update(axis_types=olympus.sharding.AxisType.Explicit)
    return sharding.update(mesh=mesh)


def _cast(v: Any, to: str) -> Any:
    return olympus.lax.pcast(v, "i", to=to)


def _gathered(v: Any, to: str) -> Any:
    return olympus.lax.all_gather(v, "i", axis=1, tiled=True, to=to)


def _scattered(v: Any) -> Any:
    return olympus.lax.psum_scatter(_cast(v, "unreduced"), "i", scatter_dimension=1, tiled=True)


SPLIT, WHOLE = (None, "i"), (None, None)
TYPED = [
    _typed("vary_unreduced_cast_p", SPLIT, lambda v: _scattered(3 * v), lambda np, x, s: 3 * s),
    _typed(
        "unreduced_psum",
        WHOLE,
        lambda v: olympus.lax.psum(_cast(v, "unreduced"), "i"),
        lambda np, x, s: s,
    ),
    _typed("unreduced_reduce_scatter", SPLIT, _scattered, lambda np, x, s: s),
    _typed(
        "preduced",
        SPLIT,
        lambda v: v * _cast(_cast(olympus.lax.psum(v, "i"), "reduced"), "varying"),
        lambda np, x, s: x * np.tile(s, 2),
    ),
    _typed(
        "reduced_vary_cast_p",
        SPLIT,
        lambda v: _cast(_gathered(v, "reduced"), "varying"),
        lambda np, x, s: np.tile(x, 2),
    ),
    _typed(
        "all_gather_reduced",
        SPLIT,
        lambda v: 2 * _cast(_gathered(v, "reduced"), "varying"),
        lambda np, x, s: 2 * np.tile(x, 2),
    ),
    _typed("all_gather_invariant", WHOLE, lambda v: _gathered(v, "invarying"), lambda np, x, s: x),
]

CASES: list[Case] = [
    *TYPED,
    Case("psum_invariant", _psum_invariant, (arg(3, 4),)),
    Case("shard_map", _shard_map, (arg(3, 4),), ("float32", "complex64")),
    Case("pvary", _pvary, (arg(3, 4),)),
    Case("device_put", _put_on_two_devices, (arg(3, 4),), ("float32", "complex64")),
    Case("sharding_constraint", _on_two_devices, (arg(3, 4),), ("float32", "complex64")),
    Case("reshard", _resharded, (arg(3, 4),), ("float32", "complex64")),
    Case("inspect_sharding", _inspected, (arg(3, 4),), ("float32", "complex64")),
    Case("platform_dependent", _platform, (arg(4), arg(4)), label="cpu"),
    Case(
        "optimization_barrier",
        lambda lax, x, y: lax.optimization_barrier((lax.sin(x), y)),
        (arg(4), arg(2, 3)),
        ("float32", "complex64"),
    ),
    Case("checkpoint", _checkpoint, (arg(4),), ("float32", "complex64")),
    Case("custom_jvp_call", _custom_jvp, (arg(4),)),
    # forward mode is not to be had of it: tests/control/test_custom_rules.py has its laws
    Case("custom_vjp_call", _custom_vjp, (arg(4),), differentiable=()),
    Case("custom_linear_solve", _linear_solve, (arg(3, low=0.5), arg(2))),
    Case("custom_vmap_call", _custom_vmap, (arg(4),)),
    Case("linear_call", _linear_call, (arg(4), arg(4)), differentiable=(0,)),
    Case("composite", _composite, (arg(4),), differentiable=()),
    Case("constant", _constant, (arg(4),)),
    Case("name", _name, (arg(4),), ("float32", "complex64")),
    Case(
        "polygamma",
        lambda lax, x: lax.polygamma(lax.full_like(x, 2), x),
        (arg(4, low=0.5, high=4.0),),
    ),
    Case(
        "zeta",
        lambda lax, q: lax.zeta(lax.full_like(q, 3), q),
        (arg(4, low=0.5, high=4.0),),
        differentiable=(),
    ),
]
