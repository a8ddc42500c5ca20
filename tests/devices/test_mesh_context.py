"""A mesh as a context: specs without a mesh refer to it, as in JAX."""

from __future__ import annotations

import threading
import types
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax
from olympus.errors import ArgumentError, ShardingError, TraceError
from olympus.sharding import AbstractMesh, Mesh, NamedSharding, get_mesh
from tests.devices.meshes import both, check_same_parts

OURS = types.SimpleNamespace(m=olympus, np=jnp, P=P, mesh=both()[0].mesh)
ORACLE = types.SimpleNamespace(m=jax, np=jax.numpy, P=jax.P, mesh=both()[1].mesh)
X = np.arange(16, dtype=np.float32).reshape(8, 2)


def constrained(p: Any) -> Any:
    return p.m.jit(lambda x: p.m.lax.with_sharding_constraint(2 * x, p.P("x")))(X)


def jitted(p: Any) -> Any:
    return p.m.jit(p.np.sin, in_shardings=p.P("x"), out_shardings=p.P(None, "x"))(X)


def put(p: Any) -> Any:
    return p.m.device_put(X, p.P(("y", "x")))


def mapped(p: Any) -> Any:
    f = p.m.shard_map(lambda x: p.m.lax.psum(x, "x"), in_specs=p.P("x"), out_specs=p.P())
    return p.m.jit(f)(X)


def partly(p: Any) -> Any:
    """A spec in the body of a `shard_map` refers to its mesh."""

    def body(x: Any) -> Any:
        return p.m.lax.with_sharding_constraint(x * 3, p.P("y"))

    f = p.m.shard_map(body, in_specs=p.P("x"), out_specs=p.P("x"), axis_names={"x"})
    return p.m.jit(f)(X)


def decorated(p: Any) -> Any:
    @p.m.shard_map(in_specs=p.P("x"), out_specs=p.P("x"))
    def f(x: Any) -> Any:
        return x * p.m.lax.axis_index("x")

    return f(X)


@pytest.mark.parametrize("program", [constrained, jitted, put, mapped, partly, decorated])
def test_specs_without_a_mesh_refer_to_the_context(program: Any) -> None:
    results = []
    for p in (OURS, ORACLE):
        with p.m.set_mesh(p.mesh):
            results.append(program(p))
    mine, oracle = results
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-6)
    if program in (jitted, put, decorated):
        check_same_parts(mine, oracle)


@pytest.mark.parametrize("program", [constrained, jitted, put, mapped, decorated])
def test_specs_outside_a_context_are_refused_with_a_hint(program: Any) -> None:
    with pytest.raises(ArgumentError) as error:
        program(OURS)
    assert "set_mesh" in (error.value.hint or "")


def test_a_mesh_is_a_context_and_the_inner_one_counts() -> None:
    mesh_of_two = olympus.make_mesh((2,), ("x",))
    with OURS.mesh as outer:
        assert get_mesh() is outer is OURS.mesh
        with mesh_of_two:
            assert get_mesh() is mesh_of_two
            assert len(put_rows().sharding.devices) == 2
        assert len(put_rows().sharding.devices) == 8
    assert get_mesh() is None


def put_rows() -> Any:
    return olympus.device_put(X, P("x"))


def test_set_mesh_sets_the_mesh_of_the_thread() -> None:
    seen: list[Any] = []
    before = olympus.set_mesh(OURS.mesh)
    try:
        assert get_mesh() is OURS.mesh
        thread = threading.Thread(target=lambda: seen.append(get_mesh()))
        thread.start()
        thread.join()
        olympus.set_mesh(None)
        assert get_mesh() is None
    finally:
        before.__exit__(None, None, None)
    assert seen == [None]


def test_a_program_is_retraced_for_another_mesh() -> None:
    f = olympus.jit(lambda x: lax.with_sharding_constraint(x + 1, P("x")))
    mesh_of_four = olympus.make_mesh((4,), ("x",))
    with OURS.mesh:
        assert f(X).sharding.num_devices == 8
    with mesh_of_four:
        assert f(X).sharding.num_devices == 4
    with pytest.raises(ArgumentError, match="no mesh around it"):
        f(X)


def test_an_abstract_mesh_is_enough_to_lower() -> None:
    with olympus.set_mesh(AbstractMesh((2, 4), ("x", "y"))):
        lowered = olympus.jit(jnp.sin, in_shardings=P("x")).lower(X)
    assert lowered.num_devices == 8


def test_wrong_meshes_and_specs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="set_mesh needs a mesh or None"):
        olympus.set_mesh("x")  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="in a function that is traced"):
        olympus.jit(lambda x: (olympus.set_mesh(OURS.mesh), x)[1])(X)
    assert get_mesh() is None
    with OURS.mesh, pytest.raises(ShardingError, match="the axis 'q'"):
        olympus.device_put(X, P("q"))


def test_an_explicit_mesh_overrides_the_context() -> None:
    mesh_of_four = Mesh(np.array(olympus.devices()[:4]), ("x",))
    with OURS.mesh:
        f = olympus.shard_map(lambda x: x, mesh=mesh_of_four, in_specs=P("x"), out_specs=P("x"))
        assert f(X).sharding.num_devices == 4
        assert olympus.device_put(X, NamedSharding(mesh_of_four, P("x"))).sharding.num_devices == 4


def test_a_context_of_set_mesh_may_be_entered_again() -> None:
    mesh_of_two = olympus.make_mesh((2,), ("x",))
    context = olympus.set_mesh(OURS.mesh)
    with context:
        assert get_mesh() is OURS.mesh
    assert get_mesh() is None
    with mesh_of_two:
        with context, context:
            assert get_mesh() is OURS.mesh
        assert get_mesh() is mesh_of_two
    assert get_mesh() is None
    with pytest.raises(TraceError, match="in a function that is traced"):
        olympus.jit(lambda x: (context.__enter__(), x)[1])(X)
    assert get_mesh() is None


def test_a_context_in_another_thread_sets_the_mesh_there() -> None:
    seen: list[Any] = []
    fresh = olympus.set_mesh(OURS.mesh)

    def use() -> None:
        with fresh:
            seen.append(get_mesh())
        seen.append(get_mesh())

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    fresh.__exit__(None, None, None)
    assert seen == [OURS.mesh, None] and get_mesh() is None


def test_a_context_that_is_left_early_does_not_change_the_inner_one() -> None:
    mesh_of_two = olympus.make_mesh((2,), ("x",))

    def generator() -> Any:
        with OURS.mesh:
            yield

    outer = generator()
    next(outer)
    with mesh_of_two:
        outer.close()
        assert get_mesh() is mesh_of_two
    assert get_mesh() is None
    with OURS.mesh:
        olympus.set_mesh(mesh_of_two)
        assert get_mesh() is mesh_of_two
    assert get_mesh() is None


def test_a_program_is_traced_once_per_mesh() -> None:
    count = [0]

    @olympus.jit
    def f(x: Any) -> Any:
        count[0] += 1
        return x + 1

    mesh_of_two = olympus.make_mesh((2,), ("x",))
    with OURS.mesh:
        f(X)
    with mesh_of_two, OURS.mesh, OURS.mesh:
        f(X)
    assert count == [1]
    f(X)
    olympus.set_mesh(None)
    f(X)
    assert count == [2]


def test_a_mesh_may_be_a_context_in_a_traced_function() -> None:
    def f(x: Any) -> Any:
        with OURS.mesh:
            return lax.with_sharding_constraint(2 * x, P("x"))

    out = olympus.jit(f)(X)
    assert out.sharding.num_devices == 8 and get_mesh() is None
    np.testing.assert_array_equal(np.asarray(out), 2 * X)
