"""Programs under the transformations of `interpreters`: derivatives, batches and parts."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
import olympus.extend.core.primitives
import olympus.extend.linear_util as lu
import olympus.interpreters.ad as ad
import olympus.interpreters.batching as batching
import olympus.interpreters.partial_eval as pe
from olympus_core.extension.rules import AxisData

X = np.arange(1.0, 4.0, dtype=np.float32)
Y = np.asarray([0.5, -1.0, 2.0], np.float32)
BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])


def f(np_: Any, x: Any, y: Any) -> Any:
    return {"a": np_.sin(x) * y, "b": y}


def test_derivatives_in_a_direction() -> None:
    outs, tangents = ad.jvp(lambda x, y: f(ox.numpy, x, y), (X, Y), (Y, ad.Zero(ox.typeof(Y))))
    want = jax.jvp(lambda x: f(jax.numpy, x, Y), (X,), (Y,))
    np.testing.assert_allclose(outs[0], want[0]["a"], rtol=1e-6)
    np.testing.assert_allclose(tangents[0], want[1]["a"], rtol=1e-6)
    np.testing.assert_array_equal(tangents[1], np.zeros(3))
    _, lazy, more = ad.jvp(
        lambda x: ([x * Y, Y], {"x": x}), (X,), (Y,), has_aux=True, instantiate=[True, False]
    )
    assert type(lazy[1]) is ad.Zero
    np.testing.assert_array_equal(more["x"], X)
    with pytest.raises(ValueError, match="to return a two-element tuple"):
        ad.jvp(lambda x: x, (X,), (Y,), has_aux=True)
    integers, none = ad.jvp(lambda n: n + 1, (3,), (ad.Zero(ox.typeof(3)),))
    assert int(integers[0]) == 4 and none[0].dtype == ox.float0


def test_linear_programs_of_functions() -> None:
    outs, zeros, jaxpr, consts, more = ad.linearize(
        lambda x, y, n: ({"a": ox.numpy.sin(x) * y * n, "b": n + 1}, x), (X, Y, 2), has_aux=True
    )
    assert zeros == [False, True] and len(jaxpr.invars) == 3
    np.testing.assert_allclose(outs[0], np.sin(X) * Y * 2, rtol=1e-6)
    np.testing.assert_array_equal(more, X)
    (tangent,) = ox.core.eval_jaxpr(jaxpr, consts, Y, X, np.zeros((), ox.float0))
    _, want = jax.jvp(lambda x, y: jax.numpy.sin(x) * y * 2, (X, Y), (Y, X))
    np.testing.assert_allclose(tangent, want, rtol=1e-5)
    undefined = [ad.UndefinedPrimal(v.aval) for v in jaxpr.invars]
    x_bar, y_bar, n_bar = ad.backward_pass(jaxpr, False, consts, undefined, [X])
    _, pull = jax.vjp(lambda x, y: jax.numpy.sin(x) * y * 2, X, Y)
    np.testing.assert_allclose(x_bar, pull(X)[0], rtol=1e-5)
    np.testing.assert_allclose(y_bar, pull(X)[1], rtol=1e-5)
    assert type(n_bar) is ad.Zero
    nothing = ad.backward_pass(jaxpr, False, consts, undefined, [ad.Zero(ox.typeof(X))])
    assert all(type(x) is ad.Zero for x in nothing)


def test_programs_of_values_and_tangents() -> None:
    closed = ox.make_jaxpr(lambda x, y: (x * y + ox.numpy.asarray(X), y))(X, Y)
    dual, has_tangent = ad.jvp_jaxpr(closed, [True, False], False)
    assert has_tangent == [True, False] and len(dual.jaxpr.outvars) == 3
    outs = ox.core.jaxpr_as_fun(dual)(X, Y, Y)
    np.testing.assert_allclose(outs[2], Y * Y)
    np.testing.assert_allclose(outs[0], X * Y + X)
    dual, has_tangent = ad.jvp_jaxpr(closed, [True, False], [False, True])
    assert has_tangent == [True, True]
    np.testing.assert_array_equal(ox.core.jaxpr_as_fun(dual)(X, Y, Y)[3], np.zeros(3))


@pytest.mark.parametrize(
    ("in_axes", "destinations", "mapped"),
    [
        ([0, None], [0, "zero"], [True, False]),
        ([1, 0], ["zero", "zero"], [True, True]),
        ([0, None], [1, 0], [True, True]),
        ([None, None], [None, None], [False, False]),
    ],
)
def test_programs_are_batched(in_axes: Any, destinations: Any, mapped: list[bool]) -> None:
    closed = ox.make_jaxpr(lambda x, y: (x * y + ox.numpy.asarray(X), y))(X, Y)
    places = [batching.zero_if_mapped if d == "zero" else d for d in destinations]
    program, is_mapped = batching.batch_jaxpr_axes(closed, AxisData(None, 3), in_axes, places)
    assert is_mapped == mapped
    args = [
        np.stack([v, 2 * v, -v], a) if a is not None else v
        for v, a in zip((X, Y), in_axes, strict=True)
    ]
    outs = ox.core.jaxpr_as_fun(program)(*args)
    axes = [
        0 if d == "zero" and m else None if d == "zero" else d
        for d, m in zip(destinations, mapped, strict=True)
    ]
    want = jax.vmap(lambda x, y: (x * y + X, y), tuple(in_axes), tuple(axes), axis_size=3)(*args)
    for out, expected in zip(outs, want, strict=True):
        np.testing.assert_allclose(out, expected)


def test_a_mapped_result_needs_an_axis() -> None:
    closed = ox.make_jaxpr(lambda x: x)(X)
    with pytest.raises(ValueError, match="out_axes_dest has None"):
        batching.batch_jaxpr_axes(closed, AxisData(None, 3), [0], [None])


def test_flat_functions_are_batched() -> None:
    def total(x: Any, y: Any) -> list[Any]:
        return [x + y, ox.lax.psum(x, "i"), y]

    axis, tag = AxisData("i", 2), ox.extend.core.TraceTag()
    fun, dims = batching.batch_subtrace(lu.wrap_init(total), tag, axis, (1, None))
    outs = fun.call_wrapped(np.stack([X, Y], 1), Y)
    want = jax.vmap(lambda x, y: [x + y, jax.lax.psum(x, "i")], (1, None), axis_name="i")(
        np.stack([X, Y], 1), Y
    )
    np.testing.assert_allclose(np.moveaxis(outs[0], dims()[0], 0), want[0])
    np.testing.assert_allclose(outs[1], want[1][0])
    assert dims()[2] is None
    fun, dims = batching.batch_subtrace(lu.wrap_init(total), tag, axis, lambda: (0, 0))
    assert fun.call_wrapped(np.stack([X, Y]), np.stack([Y, X]))[0].shape == (2, 3)


class Ragged:
    """Two arrays that are mapped over together, each along an axis of its own."""

    def __init__(self, x: Any, y: Any, index: Any = None) -> None:
        self.x, self.y, self.index = x, y, index


class Axes:
    """The axes of a Ragged."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


@BOTH
def test_types_of_users_are_mapped(jx: Any) -> None:
    handlers = importlib.import_module(f"{jx.__name__}.interpreters.batching")
    handlers.register_vmappable(
        Ragged,
        Axes,
        int,
        lambda cont, get_idx, r, axes: Ragged(cont(r.x, axes.x), cont(r.y, axes.y), get_idx()),
        lambda cont, n, r, axes: Ragged(cont(n, r.x, axes.x), cont(n, r.y, axes.y)),
        None,
    )
    value = Ragged(jx.numpy.ones((2, 3)), jx.numpy.arange(6.0).reshape(3, 2))
    try:
        out, plain = jx.vmap(
            lambda r, z: (Ragged(r.y * z, r.x + r.index), r.x + z),
            in_axes=(Axes(0, 1), 0),
            out_axes=(Axes(1, 0), 0),
        )(value, jx.numpy.asarray([1.0, 10.0]))
        np.testing.assert_array_equal(out.x, [[0, 10], [2, 30], [4, 50]])
        np.testing.assert_array_equal(out.y, [[1, 1, 1], [2, 2, 2]])
        np.testing.assert_array_equal(plain, [[2, 2, 2], [11, 11, 11]])
        with pytest.raises(ValueError, match="axis_size"):
            jx.vmap(lambda r: r, in_axes=(Axes(0, 1),), out_axes=Axes(0, 1))(value)
    finally:
        handlers.unregister_vmappable(Ragged)
    with pytest.raises((ValueError, TypeError)):
        ox.vmap(lambda r: r)(value)


def test_programs_without_unused_parts() -> None:
    closed = ox.make_jaxpr(lambda x, y, z: (x + ox.numpy.asarray(X), y * ox.numpy.asarray(Y), z))(
        X, Y, X
    )
    program, consts, inputs = pe.dce_jaxpr_consts(closed.jaxpr, [True, False, True])
    assert consts.count(True) == 1 and inputs == [True, False, True]
    np.testing.assert_array_equal(ox.core.eval_jaxpr(program, program.consts, X, X)[0], 2 * X)
    _, consts, inputs = pe.dce_jaxpr_consts(closed.jaxpr, [False] * 3, True)
    assert all(consts) and all(inputs)
    pruned = pe.prune_closed_jaxpr_outputs(closed, [False, True, False])
    assert len(pruned.jaxpr.invars) == 3 and len(pruned.jaxpr.outvars) == 1
    moved = pe.move_binders_to_back(closed, [True, True])
    assert moved.jaxpr.invars == [closed.jaxpr.invars[2], *closed.jaxpr.invars[:2]]
    with pytest.raises(ValueError, match="3 inputs, and got 4 flags"):
        pe.move_binders_to_back(closed, [True] * 4)
    assert pe.abstract_eval_fun(lambda x, *, n: [x * n], ox.typeof(X), n=2) == [ox.typeof(X)]
    assert pe.Val is Any


@pytest.mark.parametrize("instantiate", [False, [True, False], True])
def test_programs_in_known_and_unknown_parts(instantiate: Any) -> None:
    def g(np_: Any, x: Any, y: Any) -> Any:
        return np_.cos(x), -np_.sin(x) * y

    closed = ox.make_jaxpr(lambda x, y: g(ox.numpy, x, y))(X, Y)
    known, unknown, unknown_outs, residuals = pe.partial_eval_jaxpr_nounits(
        closed, [False, True], instantiate
    )
    forced = [instantiate] * 2 if isinstance(instantiate, bool) else instantiate
    assert unknown_outs == [forced[0], True]
    outs = ox.core.jaxpr_as_fun(known)(X)
    saved = outs[len(outs) - len(residuals) :]
    assert [ox.typeof(x) for x in saved] == residuals
    more = ox.core.jaxpr_as_fun(unknown)(*saved, Y)
    want = g(np, X, Y)
    results = [*more] if forced[0] else [outs[0], *more]
    for x, expected in zip(results, want, strict=True):
        np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert all(e.primitive.name != "sin" for e in unknown.jaxpr.eqns)


def test_rules_of_dead_code() -> None:
    core = ox.extend.core
    both_p = core.Primitive("both")
    both_p.multiple_results = True
    both_p.def_impl(lambda *xs: list(xs))
    both_p.def_abstract_eval(lambda *avals: list(avals))
    olympus.interpreters.mlir.register_lowering(both_p, lambda ctx, *xs: list(xs))
    program = ox.make_jaxpr(lambda x, y: both_p.bind(x, y))(X, Y).jaxpr
    assert pe.dce_jaxpr(program, [True, False])[1] == [True, True]

    def rule(used: list[bool], eqn: Any) -> Any:
        keep = [v for v, u in zip(eqn.invars, used, strict=True) if u]
        outs = [v for v, u in zip(eqn.outvars, used, strict=True) if u]
        return used, core.new_jaxpr_eqn(keep, outs, eqn.primitive, eqn.params)

    pe.dce_rules[both_p] = rule
    assert both_p in pe.dce_rules and pe.dce_rules[both_p] is rule
    pruned, used = pe.dce_jaxpr(program, [True, False])
    assert used == [True, False] and len(pruned.eqns[0].outvars) == 1
    np.testing.assert_array_equal(ox.jit(lambda x, y: both_p.bind(x, y)[1])(X, Y), Y)

    inner = ox.make_jaxpr(ox.jit(lambda x, y: (x + 1, y * 2)))(X, Y).jaxpr
    (call,) = inner.eqns
    for dce in (
        pe.dce_jaxpr_call_rule,
        pe.dce_jaxpr_closed_call_rule,
        pe.dce_rules[call.primitive],
    ):
        used, eqn = dce([False, True], call)
        assert used == [False, True]
        assert [e.primitive.name for e in eqn.params["call_jaxpr"].eqns] == ["mul"]
        assert len(eqn.invars) == len(eqn.outvars) == 1
        assert dce([False, False], call) == ([False, False], None)
