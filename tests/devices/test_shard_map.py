"""shard_map and pmap give the values, shardings and derivatives of JAX."""

from __future__ import annotations

import types
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import (
    ArgumentError,
    BackendError,
    DTypeError,
    OlympusError,
    ShardingError,
    TransformError,
    UnboundAxisError,
    UnsupportedError,
    UsageError,
)
from olympus.sharding import AbstractMesh, PartitionSpec
from tests.devices.meshes import both, check_same_parts, ours, parts_by_device
from tests.drawn import examples

OURS = types.SimpleNamespace(
    m=olympus, np=jnp, lax=lax, P=PartitionSpec, side=0, mesh=both()[0].mesh
)
ORACLE = types.SimpleNamespace(
    m=jax, np=jax.numpy, lax=jax.lax, P=jax.sharding.PartitionSpec, side=1, mesh=both()[1].mesh
)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 8)).astype(np.float32)
W = RNG.standard_normal((8, 8)).astype(np.float32)


def mapped(p: Any, fun: Any, ins: Any, outs: Any, **options: Any) -> Any:
    """Map `fun(p, *parts)` over the mesh of 2 x 4; specs are tuples of entries."""
    return p.m.shard_map(
        lambda *parts: fun(p, *parts),
        mesh=p.mesh,
        in_specs=tuple(p.P(*spec) for spec in ins),
        out_specs=p.P(*outs),
        **options,
    )


def scanned(p, x, w):
    def step(carry, row):
        return p.np.tanh(carry @ w + row), p.np.sum(carry)

    carry, sums = p.lax.scan(step, x, x)
    return carry * p.np.sum(sums)


def custom(p, x, w):
    @p.m.custom_jvp
    def square(a):
        return a * a

    square.defjvp(lambda primals, tangents: (square(*primals), 3.0 * primals[0] * tangents[0]))
    return square(x) @ w


def backward(p, x, w):
    @p.m.custom_vjp
    def square(a):
        return a * a

    square.defvjp(lambda a: (a * a, a), lambda a, ct: (5.0 * a * ct,))
    return square(x) @ w


def inner_gradient(p, x, w):
    """The gradient by a value that all devices share."""
    return x @ p.m.grad(lambda w: p.np.sum(p.np.sin(x @ w)))(w)


def gathered(p, x, w):
    return p.lax.pmean(x @ p.lax.all_gather(w, "y", axis=0, tiled=True), "y")


def halo(p, x, w):
    """The sum with the edges of the neighbours."""
    n = p.lax.axis_size("x")
    left = p.lax.ppermute(x[-1:], "x", [(i, (i + 1) % n) for i in range(n)])
    return (x + left) @ w


def looped(p, x, w):
    def cond(state):
        return state[0] < 3

    def body(state):
        return state[0] + 1, p.np.sin(state[1]) @ w

    return p.lax.while_loop(cond, body, (0, x))[1]


ROWS, WHOLE = ("x",), ()
#: The body, the specs of its two operands and of its result, which varies only along "x".
BODIES = {
    "matmul": (lambda p, x, w: x @ w, [ROWS, WHOLE], ROWS),
    "psum": (lambda p, x, w: p.lax.psum(x @ w, "y"), [("x", "y"), ("y",)], ROWS),
    "psum-both": (lambda p, x, w: p.lax.psum(p.np.sin(x @ w), ("x", "y")),
                  [("x", "y"), ("y",)], WHOLE),
    "pmean": (lambda p, x, w: x - p.lax.pmean(x * w[:4], "x"), [ROWS, WHOLE], ROWS),
    "pmax": (lambda p, x, w: x - p.lax.pmax(p.lax.stop_gradient(x), "x"), [ROWS, WHOLE], ROWS),
    "gather": (gathered, [ROWS, ("y",)], ROWS),
    "gather-stacked": (lambda p, x, w: p.lax.psum(p.lax.all_gather(x, "y") @ w, "y")[0],
                       [ROWS, WHOLE], ROWS),
    "scatter": (lambda p, x, w: p.lax.psum_scatter(x @ w, "x", tiled=True),
                [(None, "x"), ROWS], ROWS),
    "all-to-all": (lambda p, x, w: p.lax.all_to_all(x, "x", 1, 0, tiled=True) @ w[:4],
                   [ROWS, WHOLE], ROWS),
    "index": (lambda p, x, w: x * p.lax.axis_index("x") + p.lax.axis_index(("x",)) * w[:4],
              [ROWS, WHOLE], ROWS),
    "shuffle": (lambda p, x, w: p.lax.pshuffle(x, "x", [1, 0]) @ w, [ROWS, WHOLE], ROWS),
    "halo": (halo, [ROWS, WHOLE], ROWS),
    "permute-none": (lambda p, x, w: (x + p.lax.ppermute(x, "x", [])) @ w, [ROWS, WHOLE], ROWS),
    "jit": (lambda p, x, w: p.m.jit(lambda a: p.lax.psum(a, "y"))(x @ w),
            [("x", "y"), ("y",)], ROWS),
    "checkpoint": (lambda p, x, w: p.m.checkpoint(lambda a: p.np.sin(p.np.sin(a @ w)))(x),
                   [ROWS, WHOLE], ROWS),
    "scan": (scanned, [ROWS, WHOLE], ROWS),
    "while": (looped, [ROWS, WHOLE], ROWS),
    "cond": (lambda p, x, w: p.lax.cond(p.np.sum(x) > 0, lambda a: a * 2.0, p.np.sin, x) @ w,
             [ROWS, WHOLE], ROWS),
    "custom-jvp": (custom, [ROWS, WHOLE], ROWS),
    "custom-vjp": (backward, [ROWS, WHOLE], ROWS),
    "inner-gradient": (inner_gradient, [ROWS, WHOLE], ROWS),
    "vmap": (lambda p, x, w: p.m.vmap(lambda row: row @ w + p.lax.psum(row, "x"))(x),
             [ROWS, WHOLE], ROWS),
    "scalar-residual": (lambda p, x, w: p.np.exp(p.np.sum(x)) * p.np.sin(w[:4]),
                        [ROWS, WHOLE], ROWS),
}  # fmt: skip
ONE_WAY = ("while",)  # no reverse derivative


def results(name: str, call: Any, **options: Any) -> list[Any]:
    body, ins, outs = BODIES[name]
    return [call(p, mapped(p, body, ins, outs, **options)) for p in (OURS, ORACLE)]


@pytest.mark.parametrize("name", BODIES)
def test_values_and_shardings_are_those_of_jax(name: str) -> None:
    check_same_parts(*results(name, lambda p, fun: p.m.jit(fun)(X, W)))


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", [n for n in BODIES if n not in ONE_WAY])
def test_gradients_outside_are_those_of_jax(name: str, check: bool) -> None:
    def gradients(p, fun):
        loss = lambda x, w: p.np.sum(p.np.cos(fun(x, w)))  # noqa: E731
        return p.m.jit(p.m.grad(loss, (0, 1)))(X, W)

    for mine, oracle in zip(*results(name, gradients, check_vma=check), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["psum", "scan", "cond", "gather", "custom-jvp", "inner-gradient"])
def test_forward_derivatives_and_batches_are_those_of_jax(name: str) -> None:
    def derivatives(p, fun):
        tangents = p.m.jvp(p.m.jit(fun), (X, W), (W, X))[1]
        batch = p.m.jit(p.m.vmap(fun, in_axes=(0, None)))(np.stack([X, W, X]), W)
        rows = p.m.jit(p.m.vmap(fun, in_axes=(None, 1), out_axes=1))(X, np.stack([X, W], axis=1))
        return tangents, batch, rows

    for mine, oracle in zip(*results(name, derivatives), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["scan", "psum", "checkpoint"])
def test_second_derivatives_are_those_of_jax(name: str) -> None:
    def second(p, fun):
        loss = lambda x: p.np.sum(p.np.sin(fun(x, W)))  # noqa: E731
        return p.m.jit(p.m.grad(lambda x: p.np.sum(p.m.grad(loss)(x) ** 2)))(X)

    mine, oracle = results(name, second)
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("check", [True, False])
def test_a_derivative_inside_is_summed_only_in_a_checked_body(check: bool) -> None:
    outs = results("inner-gradient", lambda p, fun: p.m.jit(fun)(X, W), check_vma=check)
    check_same_parts(*outs)
    local, summed = (
        np.asarray(results("inner-gradient", lambda p, f: f(X, W), check_vma=c)[0])
        for c in (False, True)
    )
    assert not np.allclose(local, summed)


SPECS = [(), ("x",), ("y",), (None, "x"), ("x", "y"), (("x", "y"),), (None, ("y", "x"))]


@given(st.sampled_from(SPECS), st.sampled_from(SPECS), st.booleans())
@examples(12)
def test_any_specs_give_the_results_of_jax(first: Any, second: Any, check: bool) -> None:
    """The result is a sum over all devices."""

    def body(p, x, w):
        total = p.np.sum(x) * 2.0 + p.np.sum(w * w)
        return p.lax.psum(p.lax.psum(total, "x"), "y")

    def both_of(p):
        fun = mapped(p, body, [first, second], (), check_vma=check)
        return p.m.jit(p.m.value_and_grad(lambda x, w: fun(x, w), (0, 1)))(X, W)

    for mine, oracle in zip(*(jax.tree.leaves(both_of(p)) for p in (OURS, ORACLE)), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-3, atol=1e-3)


def test_a_partly_manual_shard_map_gives_the_results_of_jax() -> None:
    def body(p, x, w):
        y = x @ w
        return y * (1.0 + p.lax.axis_index("x")) + p.lax.psum(p.np.sin(y), "x")

    outs, grads = [], []
    for p in (OURS, ORACLE):
        fun = mapped(p, body, [ROWS, WHOLE], ROWS, axis_names={"x"})
        where = both("x", "y")[p.side], both(None, "y")[p.side]
        outs.append(p.m.jit(fun, in_shardings=where)(X, W))
        grads.append(p.m.jit(p.m.grad(lambda w, p=p, f=fun: p.np.sum(f(X, w) ** 2)))(W))
    check_same_parts(*outs)
    np.testing.assert_allclose(np.asarray(grads[0]), np.asarray(grads[1]), rtol=1e-3, atol=1e-3)


def test_a_constraint_in_a_body_may_name_only_automatic_axes() -> None:
    free = both(None, "y")[0]
    body = lambda x: lax.with_sharding_constraint(x * 2.0, free)  # noqa: E731
    specs = {"in_specs": OURS.P("x"), "out_specs": OURS.P("x"), "mesh": OURS.mesh}
    result = olympus.jit(olympus.shard_map(body, axis_names={"x"}, **specs))(X)
    np.testing.assert_allclose(np.asarray(result), X * 2.0)
    with pytest.raises(ShardingError, match="maps over the axis 'y' here"):
        olympus.shard_map(body, **specs)(X)


def test_nested_shard_maps_give_the_results_of_jax() -> None:
    def body(p, x, w):
        inner = p.m.shard_map(
            lambda a: a * 2.0 + p.lax.psum(a, "y"),
            in_specs=p.P(None, "y"),
            out_specs=p.P(None, "y"),
            axis_names={"y"},
        )
        return inner(x @ w) + p.lax.psum(x, "x")

    outs = [
        p.m.jit(mapped(p, body, [ROWS, WHOLE], ROWS, axis_names={"x"}))(X, W)
        for p in (OURS, ORACLE)
    ]
    check_same_parts(*outs)


def test_a_function_is_lowered_for_each_mesh() -> None:
    """The function that is lowered for one mesh is not used for the other."""
    total = olympus.jit(lambda x: lax.psum(x, "x"))
    tall, wide = (ours(sizes, ("x", "y"), ()).mesh for sizes in ((4, 2), (2, 4)))

    @olympus.jit
    def fun(x):
        parts = [
            olympus.shard_map(total, mesh=m, in_specs=PartitionSpec("x"), out_specs=PartitionSpec())
            for m in (tall, wide)
        ]
        return parts[0](x), parts[1](x)

    few, many = fun(X)
    np.testing.assert_allclose(np.asarray(few), X.reshape(4, 2, 8).sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(many), X.reshape(2, 4, 8).sum(0), rtol=1e-5, atol=1e-5)


def test_a_body_may_capture_arrays() -> None:
    captured = olympus.device_put(W, both("y")[0])
    fun = olympus.shard_map(
        lambda x: x @ captured + captured[:4],
        mesh=OURS.mesh,
        in_specs=OURS.P("x"),
        out_specs=OURS.P("x"),
    )
    expected = X @ W + np.concatenate([W[:4], W[:4]])
    for call in (fun, olympus.jit(fun)):
        np.testing.assert_allclose(np.asarray(call(X)), expected, rtol=1e-4, atol=1e-4)


def test_the_types_have_the_varying_axes() -> None:
    fun = mapped(OURS, lambda p, x, w: p.lax.psum(x @ w, "y"), [("x", "y"), ("y",)], ROWS)
    text = str(olympus.make_olympuspr(fun)(X, W))
    assert "f32[4,2]{V:(x,y)}" in text
    assert "pvary[axes=(x,)]" in text
    assert "manual_axes=(x, y)" in text or "manual_axes=('x', 'y')" in text
    abstract = AbstractMesh((2, 4), ("x", "y"))
    specs = {"in_specs": OURS.P("x"), "out_specs": OURS.P("x")}
    lowered = olympus.jit(olympus.shard_map(lambda x: x + 1, mesh=abstract, **specs)).lower(X)
    assert "sdy.manual_computation" in lowered.as_text()
    np.testing.assert_allclose(np.asarray(lowered.compile()(X)), X + 1)


def refused() -> dict[str, Any]:
    P, default_spec = PartitionSpec, PartitionSpec("x")

    def call(fun, ins=default_spec, outs=default_spec, x=X, **options):
        options = {"mesh": OURS.mesh} | options
        return olympus.shard_map(fun, in_specs=ins, out_specs=outs, **options)(x)

    same = lambda x: x  # noqa: E731
    return {
        "out-varies": (lambda: call(same, outs=P()), r"and not \{x\}, but it was inferred"),
        "uneven": (lambda: call(same, x=np.zeros((3, 2))), "but 2 does not evenly divide 3"),
        "rank": (lambda: call(same, x=np.zeros(())), "which has length 1, but the passed args"),
        "out-rank": (lambda: call(jnp.sum), "which has length 1, but sum"),
        "no-axis": (lambda: call(same, ins=P("z")), "but: in_specs refers to 'z'"),
        "no-mesh": (lambda: call(same, mesh=None), "needs a mesh, and got None"),
        "not-manual": (lambda: call(same, axis_names={"y"}), "'x' is not an axis that it maps"),
        "no-manual": (lambda: call(same, axis_names={"q"}), r"frozenset\({'q'}\) to be a"),
        "open": (lambda: call(same, ins=P(P.UNCONSTRAINED)), "no dimension can be unconstrained"),
        "unbound": (lambda: call(lambda x: lax.psum(x, "z")), "'z', which is not bound here"),
        "unbound-auto": (
            lambda: call(lambda x: lax.psum(x, "y"), axis_names={"x"}), "'y', which is not bound"
        ),
        "carry": (
            lambda: call(lambda x: lax.scan(lambda c, r: (c + r, r), jnp.zeros(8), x)[1]),
            r"has type float32\[8\] but the corresponding .* has type float32\[8\]{V:x}",
        ),
        "twice": (
            lambda: call(lambda x: olympus.shard_map(same, in_specs=P("x"), out_specs=P("x"),
                                                     axis_names={"x"})(x)),
            "as an enclosing shard_map does",
        ),
        "mapped-twice": (
            lambda: call(lambda x: olympus.shard_map(same, in_specs=P("x"), out_specs=P())(x)),
            "and a shard_map around it maps over 'x'",
        ),
        "mapped-on-a-concrete-mesh": (
            lambda: call(lambda x: olympus.shard_map(same, mesh=OURS.mesh, in_specs=P("x"),
                                                     out_specs=P())(x)),
            r"axis_types=\(Manual, Manual\).* should match the mesh passed to shard_map Mesh",
        ),
        "an-abstract-mesh-and-no-placed-array": (
            lambda: olympus.shard_map(same, mesh=OURS.mesh.abstract_mesh, in_specs=P("x"),
                                      out_specs=P("x"))(X),
            "Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` when passing",
        ),
        "cotangent-that-varies": (
            lambda: call(lambda x: olympus.vjp(lambda v: lax.psum(v, "x"), x)[1](x)[0]),
            r"argument to VJP function: got float32\[.*\{V:x\}, but expected float32\[",
        ),
        "groups": (
            lambda: call(lambda x: lax.psum(x, "x", axis_index_groups=[[0, 1]])), "no axis_index_gr"
        ),
        "elsewhere": (
            lambda: call(
                same, x=olympus.device_put(X, ours((2, 4), ("x", "y"), (), is_reversed=True))
            ),
            "one set of devices, in one order",
        ),
        "prefix": (lambda: call(same, ins=(P("x"), P("x"))), "must be a tree prefix"),
        "to": (lambda: call(lambda x: lax.pcast(x, "x", to="same")), 'Got unexpected `to` value'),
    }  # fmt: skip


@pytest.mark.parametrize("name", refused())
def test_wrong_calls_are_refused(name: str) -> None:
    call, message = refused()[name]
    with pytest.raises(OlympusError, match=message) as error:
        call()
    kinds = ArgumentError | TransformError | UnboundAxisError | UnsupportedError
    assert isinstance(error.value, kinds)


def test_pcast_makes_the_initial_carry_varying() -> None:
    def body(p, x, w):
        first = p.lax.pcast(p.np.zeros(8, "float32"), "x", to="varying")
        return p.lax.scan(lambda c, r: (c + r, c), first, x)[1] @ w

    outs = [p.m.jit(mapped(p, body, [ROWS, WHOLE], ROWS))(X, W) for p in (OURS, ORACLE)]
    check_same_parts(*outs)


PMAPS = {
    "sum": (lambda p, x: x / p.lax.psum(x, "i"), {}),
    "out-axis": (lambda p, x: (x * 2, p.lax.axis_index("i")), {"out_axes": (1, 0)}),
    "in-axis": (lambda p, x: p.np.sin(x), {"in_axes": 1}),
    "none-out": (lambda p, x: p.lax.psum(x, "i"), {"out_axes": None}),
    "grad": (lambda p, x: p.m.grad(lambda a: p.np.sum(a * p.lax.psum(a, "i")))(x), {}),
}


@pytest.mark.parametrize("name", PMAPS)
def test_pmap_gives_the_results_of_jax(name: str) -> None:
    fun, options = PMAPS[name]
    x = X[:4, :4]
    outs = []
    for p in (OURS, ORACLE):
        outs.append(p.m.pmap(lambda a, p=p: fun(p, a), axis_name="i", **options)(x))
    for mine, oracle in zip(*map(jax.tree.leaves, outs), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-4, atol=1e-4)
        assert parts_by_device(mine.sharding, mine.shape) == parts_by_device(
            oracle.sharding, oracle.shape
        )


def test_pmap_has_stages_and_options() -> None:
    fun = olympus.pmap(
        lambda n, x, y=None: x * n + (0 if y is None else y),
        static_broadcasted_argnums=0,
        in_axes=(None, 0),
        donate_argnums=1,
    )
    lowered = fun.lower(3, X)
    assert "sdy.manual_computation" in lowered.as_text()
    np.testing.assert_allclose(np.asarray(lowered.compile()(X)), X * 3)
    np.testing.assert_allclose(np.asarray(fun(2, X)), X * 2)
    assert fun.eval_shape(2, X).shape == (8, 8)
    product = olympus.pmap(lambda x, w: x @ w, in_axes=(0, None))
    np.testing.assert_allclose(np.asarray(product(X, W)), X @ W, rtol=1e-4, atol=1e-4)
    on_last_devices = olympus.pmap(lambda x: x + 1, devices=olympus.devices()[:3:-1])
    assert [s.device.id for s in on_last_devices(X[:4]).addressable_shards] == [7, 6, 5, 4]
    with pytest.raises(ShardingError, match="needs 9 devices, one for each index, and there are 8"):
        olympus.pmap(lambda x: x)(np.zeros(9))
    with pytest.raises(TransformError, match="inconsistent sizes for array axes"):
        olympus.pmap(lambda x, y: x)(np.zeros(2), np.zeros(3))
    with pytest.raises(TransformError, match="axis 1 is out of bounds for array of dimension 1"):
        olympus.pmap(lambda x: x, in_axes=1)(np.zeros(2))


def test_pmap_takes_a_backend() -> None:
    for backend in (None, "cpu"):
        np.testing.assert_array_equal(olympus.pmap(jnp.negative, backend=backend)(X), -X)
    with pytest.raises(UsageError, match="no backend is named 'cup'"):
        olympus.pmap(jnp.negative, backend="cup")
    with pytest.raises(UsageError, match="backend is a name or None, and is 3"):
        olympus.pmap(jnp.negative, backend=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="backend is 'gpu', and devices has"):
        olympus.pmap(jnp.negative, backend="gpu", devices=olympus.devices())
    with pytest.raises(BackendError, match="this machine has no TPU to run on"):
        olympus.pmap(jnp.negative, backend="tpu")(X)


@pytest.mark.parametrize("function", ["pmax", "pmin"])
def test_extrema_of_complex_values_are_refused(function: str) -> None:
    x, reduced = X * 1j, getattr(lax, function)
    with pytest.raises(DTypeError, match=f"{function} over devices takes real arrays") as error:
        OURS.m.make_olympuspr(mapped(OURS, lambda p, x: reduced(x, "x"), [("x",)], ()))(x)
    assert f"lax.all_gather(x, 'x').{function[1:]}(0)" in (error.value.hint or "")
    with pytest.raises(DTypeError, match="complex64"):
        olympus.pmap(lambda x: reduced(x, "i"), axis_name="i")(x)
    gathered = olympus.pmap(
        lambda x: getattr(lax.all_gather(x, "i"), function[1:])(0), axis_name="i"
    )
    by_vmap = olympus.vmap(lambda x: reduced(x, "i"), axis_name="i")(x)
    np.testing.assert_array_equal(gathered(x), by_vmap)


def carried(p, x, w):
    """A loop that starts with the result of `zeros_like`, and one whose length varies."""

    def step(carry, row):
        carry = p.np.tanh(carry @ w[: x.shape[1]] + row)
        return carry, p.lax.pmean(carry, "x")

    end, means = p.lax.scan(step, p.lax.full_like(x[0], 0), x + p.np.zeros_like(x))
    long = p.lax.while_loop(lambda c: p.np.all(c < 20), lambda c: c * 2 + 1, p.np.abs(end))
    return p.np.sum(p.lax.stop_gradient(long)) + p.np.sum(means) + end


def test_zeros_vary_like_their_model() -> None:
    outs = []
    for p in (OURS, ORACLE):
        fun = mapped(p, lambda p, x, w: carried(p, x, w)[None], [("x",), ()], ("x",))
        value, grads = p.m.value_and_grad(lambda *a, f=fun, p=p: p.np.sum(f(*a)), (0, 1))(X, W)
        outs.append([value, *grads])
    for mine, oracle in zip(*outs, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-3, atol=1e-4)


def test_a_permutation_along_several_axes_gives_the_results_of_jax() -> None:
    names = ("x", "y")
    pairs = [(i, (i + 3) % 8) for i in range(7)]

    def moved(p, x):
        empty = p.lax.ppermute(x, names, [])
        return (
            p.lax.ppermute(x**2, names, pairs) + p.lax.pshuffle(x, names, range(7, -1, -1)) + empty
        )

    outs = []
    for p in (OURS, ORACLE):
        fun = mapped(p, moved, [(("x", "y"),)], (("x", "y"),))
        outs.append([fun(X), p.m.grad(lambda x, f=fun, p=p: p.np.sum(f(x) * X))(X)])
    for mine, oracle in zip(*outs, strict=True):
        check_same_parts(mine, oracle)
    with pytest.raises(TransformError, match="mixes the indices of several axes, and 'i'"):
        mapped(
            OURS,
            lambda p, x: olympus.vmap(
                lambda row: lax.ppermute(row, ("x", "i"), [(0, 1)]), axis_name="i"
            )(x),
            [("x",)],
            ("x",),
        )(X)


@pytest.mark.parametrize("name", ["gamma", "poisson", "binomial", "gcd"])
def test_library_functions_with_loops_accept_varying_values(name) -> None:
    """JAX refuses some of these, so the results are compared with calls for each index."""

    def drawn(i):
        if name == "gcd":
            return jnp.gcd(i + 12, 18)[None]
        key, constant_key = olympus.random.fold_in(olympus.random.key(0), i), olympus.random.key(1)
        rate = jnp.float32(3) + i  # it varies, and the second key does not
        draw = getattr(olympus.random, name)
        options = (0.3,) if name == "binomial" else ()
        return jnp.stack([draw(key, 3.0, *options), draw(constant_key, rate, *options)])

    mine = mapped(OURS, lambda p, x: drawn(lax.axis_index("x")), [("x",)], ("x",))(X)
    alone = np.concatenate([np.asarray(drawn(jnp.int32(i))) for i in range(2)])
    np.testing.assert_allclose(np.asarray(mine), alone, rtol=1e-5)


def test_none_may_be_the_spec_of_an_argument_without_arrays() -> None:
    def both_back(x, nothing):
        return x, nothing

    specs = (PartitionSpec("x"), None)
    fun = olympus.shard_map(both_back, mesh=OURS.mesh, in_specs=specs, out_specs=specs)
    assert fun(X, None)[1] is None
    with pytest.raises(ArgumentError, match="but: out_specs is None of type NoneType"):
        fun(X, X)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_reference_is_an_argument(compiled: bool) -> None:
    mesh, rows, whole = OURS.mesh, PartitionSpec("x"), PartitionSpec()
    total = olympus.new_ref(jnp.arange(8.0))
    last = olympus.new_ref(jnp.zeros(4))

    def body(boxes: Any, x: Any) -> Any:
        boxes["total"][...] += x * 2
        boxes["last"][...] = sum_of_parts(boxes["total"][...])
        return x[:1]

    def sum_of_parts(part: Any) -> Any:
        return lax.psum(part, "x")

    run = olympus.shard_map(
        body, mesh=mesh, in_specs=({"total": rows, "last": whole}, rows), out_specs=rows
    )
    run = olympus.jit(run) if compiled else run
    for step in (1, 2):
        out = run({"total": total, "last": last}, np.arange(8, dtype=np.float32))
        expected = np.arange(8) * (1 + 2 * step)
        np.testing.assert_allclose(total[...], expected)
        np.testing.assert_allclose(last[...], expected[:4] + expected[4:])
        np.testing.assert_allclose(out, [0, 4])
    assert total[...].sharding.spec == rows
    with pytest.raises(ValueError, match="returned a mutable array reference"):
        olympus.shard_map(lambda r: r, mesh=mesh, in_specs=rows, out_specs=rows)(total)
    with pytest.raises(ValueError, match="out_specs"):
        olympus.shard_map(
            lambda r, x: r.__setitem__(..., x), mesh=mesh, in_specs=(whole, rows), out_specs=whole
        )(last, np.ones(8, np.float32))
