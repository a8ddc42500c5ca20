"""Programs for several devices have the values, gradients and shardings of JAX."""

from __future__ import annotations

import concurrent.futures
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
    DeletedArrayError,
    ShardingError,
    SignatureError,
    TransformError,
    UsageError,
)
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from tests.devices.meshes import MESH, both, check_same_parts, drawn_meshes, ours, parts_by_device
from tests.drawn import examples

P = PartitionSpec
OURS = types.SimpleNamespace(m=olympus, np=jnp, lax=lax)
ORACLE = types.SimpleNamespace(m=jax, np=jax.numpy, lax=jax.lax)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 8)).astype(np.float32)
W = RNG.standard_normal((8, 8)).astype(np.float32)


def sides(meshes: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return each package with its mesh."""
    return tuple(
        types.SimpleNamespace(**vars(p), mesh=mesh)
        for p, mesh in zip((OURS, ORACLE), meshes, strict=True)
    )


def on_mesh(p: Any, spec: tuple[Any, ...]) -> Any:
    """Return the sharding of a spec in package `p`, without the axes that the mesh lacks."""
    entries = ((entry,) if isinstance(entry, str) else entry or () for entry in spec)
    names_in_mesh = [
        tuple(name for name in entry if name in p.mesh.axis_names) for entry in entries
    ]
    sharding = p.m.sharding
    return sharding.NamedSharding(p.mesh, sharding.PartitionSpec(*names_in_mesh))


def pinned(p: Any, x: Any, *spec: Any) -> Any:
    return p.lax.with_sharding_constraint(x, on_mesh(p, spec))


def looped(p: Any, x: Any, w: Any) -> Any:
    def step(carry, row):
        return p.np.tanh(carry @ w + row), p.np.sum(carry)

    return p.lax.scan(step, pinned(p, x, "x"), x)


PROGRAMS = {
    "matmul": lambda p, x, w: x @ w,
    "mlp": lambda p, x, w: p.np.tanh(x @ w) @ w.T,
    "pinned": lambda p, x, w: pinned(p, x @ w, "y", "x") + 1.0,
    "pinned-in-part": lambda p, x, w: pinned(p, x, "x") @ pinned(p, w, None, "y"),
    "nested": lambda p, x, w: p.m.jit(lambda a: pinned(p, a, None, "y") * 2.0)(x) - w,
    "scan": looped,
    "softmax": lambda p, x, w: (p.np.exp(x) / p.np.sum(p.np.exp(x), axis=1, keepdims=True), w),
    "cond": lambda p, x, w: p.lax.cond(p.np.sum(x) > 0, lambda: pinned(p, x, "y"), lambda: w),
    "vmapped": lambda p, x, w: p.m.vmap(lambda r: pinned(p, r, "y") @ w)(x),
}
SPECS = [
    *[(), ("x",), ("y",), (None, "x"), ("x", "y"), ("y", "x"), (("x", "y"),), (None, ("y", "x"))],
    *[("z",), ("y", "z"), (("z", "x"), "y")],
]


@given(
    drawn_meshes(),
    st.sampled_from(sorted(PROGRAMS)),
    st.sampled_from(SPECS),
    st.sampled_from([None, *SPECS]),
    st.booleans(),
)
@examples(8)
def test_values_and_chosen_shardings_are_those_of_jax(
    meshes: Any, name: str, first: Any, second: Any, by_in_shardings: bool
) -> None:
    """The shardings are those of `in_shardings` if `by_in_shardings`, otherwise of the arrays."""
    outs = []
    for p in sides(meshes):
        fun = lambda x, w, p=p: PROGRAMS[name](p, x, w)  # noqa: E731
        shardings = on_mesh(p, first), None if second is None else on_mesh(p, second)
        if by_in_shardings:
            outs.append(p.m.jit(fun, in_shardings=shardings)(X, W))
        else:
            args = [
                a if s is None else p.m.device_put(a, s)
                for a, s in zip((X, W), shardings, strict=True)
            ]
            outs.append(p.m.jit(fun)(*args))
    for mine, oracle in zip(*map(olympus.tree.leaves, outs), strict=True):
        check_same_parts(mine, oracle)


@pytest.mark.parametrize(("nth", "name"), list(enumerate(sorted(PROGRAMS))))
@given(
    meshes=st.lists(drawn_meshes(), min_size=len(PROGRAMS), max_size=len(PROGRAMS)),
    specs=st.permutations(SPECS),
)
@examples(2)
def test_gradients_are_those_of_jax(nth: int, name: str, meshes: Any, specs: Any) -> None:
    """All programs get the same drawn lists, so each uses a different item."""
    outs = []
    for p in sides(meshes[nth]):

        def loss(x, w, p=p):
            leaves = olympus.tree.leaves(PROGRAMS[name](p, x, w))
            return sum(p.np.sum(out * out) for out in leaves)

        shardings = on_mesh(p, specs[nth]), on_mesh(p, specs[nth - 4])
        outs.append(
            p.m.jit(p.m.grad(loss, (0, 1)), in_shardings=shardings, out_shardings=shardings)(X, W)
        )
    for mine, oracle in zip(*outs, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-4, atol=2e-4)
        assert parts_by_device(mine.sharding, mine.shape) == parts_by_device(
            oracle.sharding, oracle.shape
        )


def test_every_stage_has_the_shardings() -> None:
    mine, oracle = both("x")
    fun, theirs = olympus.jit(lambda x, w: (x @ w, w)), jax.jit(lambda x, w: (x @ w, w))
    spec = olympus.ShapeDtypeStruct((8, 8), "float32", sharding=mine)
    for stage in (
        fun.trace(spec, W),
        fun.lower(spec, W),
        fun.lower(olympus.device_put(X, mine), W),
    ):
        assert stage.input_shardings == ((mine, None), {})
        assert stage.output_shardings == (None, None)
    compiled = fun.lower(spec, W).compile()
    expected = theirs.lower(jax.ShapeDtypeStruct((8, 8), "float32", sharding=oracle), W).compile()
    for a, b in (
        (compiled.input_shardings[0], expected.input_shardings[0]),
        (compiled.output_shardings, expected.output_shardings),
    ):
        assert [parts_by_device(s, (8, 8)) for s in a] == [parts_by_device(s, (8, 8)) for s in b]
    for args in ((X, W), (olympus.device_put(X, mine), W), (olympus.device_put(X), jnp.asarray(W))):
        product, same = compiled(*args)
        np.testing.assert_allclose(np.asarray(product), X @ W, rtol=1e-5, atol=1e-5)
        assert product.sharding == compiled.output_shardings[0]
        assert (np.asarray(same) == W).all()
    on_one = olympus.jit(lambda x: x).lower(X).compile()
    assert on_one.input_shardings == ((SingleDeviceSharding(olympus.devices()[0]),), {})


def test_the_program_has_only_the_shardings_of_the_user() -> None:
    shardings = both("x")[0], both(None, ("y", "x"))[0]
    fun = olympus.jit(
        lambda x: lax.with_sharding_constraint(x * 2.0, ours(*MESH, (P.UNCONSTRAINED, "y"))),
        in_shardings=shardings[0],
        out_shardings=shardings[1],
    )
    text = fun.lower(X).as_text()
    assert text.count("sdy.mesh @") == 1
    assert 'sdy.mesh @mesh = <["x"=2, "y"=4]>' in text
    assert '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in text
    assert 'sdy.sharding_constraint %0 <@mesh, [{?}, {"y"}]>' in text
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>' in text
    assert text == fun.lower(X).as_text()
    assert "mhlo.sharding" not in text


def test_a_sharding_without_a_spec_is_passed_to_the_next_program() -> None:
    """A result that is split by part of an axis is an argument of the next program."""
    fun = olympus.jit(lambda x: jnp.reshape(x, (4, 2, 8)))
    reshaped = fun(olympus.device_put(np.arange(64).reshape(8, 8), ours((8,), ("x",), ("x",))))
    assert reshaped.tolist() == np.arange(64).reshape(4, 2, 8).tolist()
    incremented = olympus.jit(lambda x: x + 1)(reshaped)
    assert incremented.sharding.is_equivalent_to(reshaped.sharding, 3)
    assert incremented.tolist() == (np.arange(64) + 1).reshape(4, 2, 8).tolist()


def test_donated_sharded_arrays_are_deleted() -> None:
    step = olympus.jit(lambda x: x + 1.0, donate_argnums=0)
    x = olympus.device_put(X, both("x")[0])
    y = step(x)
    assert x.is_deleted()
    np.testing.assert_allclose(np.asarray(y), X + 1.0)
    named = "argument x of '<lambda>' was passed after"
    for call in (lambda: step(x), lambda: step.lower(y).compile()(x)):
        with pytest.raises(DeletedArrayError, match=named):
            call()
    with pytest.raises(DeletedArrayError):
        _ = x * 2.0
    for donated, verb_phrase in ((0, "a is donated"), ((0, 1), "both are donated")):
        twice = f"one array was passed for two arguments of '<lambda>', a and b, and {verb_phrase}"
        both_of = olympus.jit(lambda a, b: (a + b, a - b), donate_argnums=donated)
        for array in (y, jnp.ones(3)):
            with pytest.raises(UsageError, match=twice):
                both_of(array, array)


def test_uneven_constraints_are_dropped_and_other_uneven_shardings_refused() -> None:
    uneven = both("y")[0]
    result = olympus.jit(lambda x: lax.with_sharding_constraint(x, uneven) + 1)(np.zeros(3))
    assert result.tolist() == [1, 1, 1]
    cannot = "dimension 0 has 3 elements, which the axis 'y' cannot cut into 4 equal parts"
    for call in (
        lambda: olympus.jit(lambda x: x, in_shardings=uneven)(np.zeros(3)),
        lambda: olympus.jit(lambda x: x, in_shardings=uneven).lower(np.zeros(3)),
        lambda: olympus.jit(lambda x: x, out_shardings=uneven)(np.zeros(3)),
        lambda: lax.with_sharding_constraint(np.zeros(3), uneven),
        lambda: olympus.jit(_named_f).lower(
            olympus.ShapeDtypeStruct((3,), "float32", sharding=uneven)
        ),
    ):
        with pytest.raises(ShardingError, match=cannot):
            call()
    with pytest.raises(ShardingError, match="the argument 'x' of 'f'"):
        olympus.jit(_named_f, in_shardings=uneven)(np.zeros(3))


def _named_f(x):
    return x


_named_f.__name__ = "f"


def test_a_program_for_an_abstract_mesh_runs_on_the_devices() -> None:
    sharding = NamedSharding(AbstractMesh((2, 4), ("x", "y")), P("x"))
    lowered = olympus.jit(lambda x: lax.with_sharding_constraint(x + 1, sharding)).lower(X)
    assert 'sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]>' in lowered.as_text()
    result = lowered.compile()(X)
    assert parts_by_device(result.sharding, (8, 8)) == parts_by_device(both("x")[0], (8, 8))
    np.testing.assert_allclose(np.asarray(result), X + 1)
    large = NamedSharding(AbstractMesh((64,), ("x",)), P())
    program = olympus.jit(lambda x: lax.with_sharding_constraint(x, large)).lower(X)
    with pytest.raises(BackendError, match="a program of 64 devices, and there are 8"):
        program.compile()


def test_the_memory_is_of_one_device_and_the_cost_of_all() -> None:
    spec = olympus.ShapeDtypeStruct((512, 512), "float32", sharding=both("x", "y")[0])
    compiled = olympus.jit(lambda x: x + 1.0).lower(spec).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 512 * 512 * 4 // 8
    assert compiled.cost().flops == 512 * 512


def test_a_program_with_collectives_runs_five_hundred_times() -> None:
    fun = olympus.jit(lambda x: x @ x / 8.0)
    x = olympus.device_put(np.ones((8, 8), np.float32), both("x", "y")[0])
    for _ in range(500):
        x = fun(x)
    np.testing.assert_allclose(np.asarray(x), 1.0)


def fuzzed_calls() -> dict[str, Any]:
    """Return wrong calls that could crash the runtime or the compiler."""
    s, r = both("x", "y")[0], both()[0]
    x = olympus.device_put(X, s)
    step = olympus.jit(lambda a, b: a @ b)
    program = step.lower(x, x).compile()
    short = olympus.device_put(X[:4, :4], s)
    is_reversed = olympus.device_put(X, ours(*MESH, ("x", "y"), is_reversed=True))
    half = olympus.device_put(X, ours((2,), ("x",), ("x",)))
    deleted = olympus.device_put(X, s)
    deleted.delete()
    seven = olympus.device_put(X, olympus.devices()[7])
    elsewhere = NamedSharding(AbstractMesh((2, 4), ("x", "y")), P("x"))
    return {
        "other-sharding": lambda: program(olympus.device_put(X, r), x),
        "same-size-other-layout": lambda: program(olympus.device_put(X, both("y", "x")[0]), x),
        "other-order": lambda: program(is_reversed, x),
        "fewer-devices": lambda: program(half, x),
        "one-far-device": lambda: program(seven, x),
        "other-shape": lambda: program(short, short),
        "other-dtype": lambda: program(x.astype("int32"), x),
        "too-few": lambda: program(x),
        "too-many": lambda: program(x, x, x),
        "deleted": lambda: program(deleted, x),
        "deleted-eager": lambda: step(deleted, x),
        "sharded-in-one-device-program": lambda: olympus.jit(_named_f).lower(X).compile()(x),
        "far-in-one-device-program": lambda: olympus.jit(_named_f).lower(X).compile()(seven),
        "by-keyword": lambda: olympus.jit(_named_f, in_shardings=s)(x=X),
        "spec-alone": lambda: olympus.jit(_named_f, in_shardings=P("x"))(X),
        "not-a-prefix": lambda: olympus.jit(_named_f, in_shardings=(s, s))(X),
        "rank": lambda: olympus.jit(_named_f, in_shardings=s)(np.zeros(8)),
        "abstract-alone": lambda: olympus.jit(_named_f, in_shardings=elsewhere)(X),
        "constraint-rank": lambda: olympus.jit(lambda a: lax.with_sharding_constraint(a, s))(
            np.zeros(8)
        ),
        "constraint-elsewhere": lambda: olympus.jit(
            lambda a: lax.with_sharding_constraint(a, is_reversed.sharding)
        )(x),
        "constraint-spec": lambda: lax.with_sharding_constraint(X, P("x")),
        "constraint-tracer-in-scan": lambda: lax.scan(
            lambda c, a: (lax.with_sharding_constraint(c, is_reversed.sharding), a), x, X
        ),
        "out-elsewhere": lambda: olympus.jit(_named_f, out_shardings=is_reversed.sharding)(x),
    }


def test_wrong_calls_raise_errors_and_do_not_crash() -> None:
    errors = (ShardingError, SignatureError, DeletedArrayError, ArgumentError, TransformError)
    for name, call in fuzzed_calls().items():
        with pytest.raises(errors) as error:
            call()
        assert len(str(error.value)) > 20, name
    x = olympus.device_put(X, both("x", "y")[0])
    np.testing.assert_allclose(np.asarray(x @ x), X @ X, rtol=1e-4, atol=1e-4)


def test_threads_run_programs_of_all_devices() -> None:
    fun = olympus.jit(lambda x: x @ x / 8.0)
    start = olympus.device_put(np.ones((8, 8), np.float32), both("x", "y")[0])

    def runs(_: int) -> Any:
        x = start
        for _ in range(20):
            x = fun(x)
        return np.asarray(x)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(runs, range(4)):
            np.testing.assert_allclose(result, 1.0)


def test_arrays_without_elements_are_sharded() -> None:
    sharding, _ = both("x")
    result = olympus.jit(lambda x: x + 1, in_shardings=sharding)(np.zeros((0, 3)))
    assert result.shape == (0, 3)
    assert np.asarray(result + result).shape == (0, 3)


def test_the_compiler_chooses_an_unconstrained_dimension_of_an_argument() -> None:
    shardings = ours(*MESH, ("x", P.UNCONSTRAINED)), ours(*MESH, ("y",))
    types = [
        olympus.ShapeDtypeStruct(v.shape, "float32", sharding=s)
        for v, s in zip((X, W), shardings, strict=True)
    ]
    compiled = olympus.jit(lambda x, w: x @ w).lower(*types).compile()
    np.testing.assert_allclose(compiled(X, W), X @ W, rtol=1e-4, atol=1e-4)
    assert compiled.input_shardings[0][0].spec == P("x", "y")


def test_the_error_for_another_device_order_has_the_device_numbers() -> None:
    usual, is_reversed = (
        olympus.device_put(X, ours((8,), ("x",), ("x",), is_reversed=t)) for t in (False, True)
    )
    compiled = olympus.jit(_named_f).lower(usual).compile()
    with pytest.raises(ShardingError) as error:
        compiled(is_reversed)
    numbers = range(8)
    assert f"with device ids {[*reversed(numbers)]} on platform CPU\n" in str(error.value)
    assert f"with device ids {[*numbers]}" in str(error.value)
