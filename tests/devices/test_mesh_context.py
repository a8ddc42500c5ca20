"""A mesh as a context: specs without a mesh refer to it, as in JAX."""

from __future__ import annotations

import importlib
import threading
import types
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax
from olympus.errors import ArgumentError, ShardingError
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
    mesh_of_two = olympus.make_mesh((2,), ("x",), olympus.sharding.AxisType.Auto)
    with olympus.set_mesh(OURS.mesh):
        assert get_mesh() is OURS.mesh
        with olympus.set_mesh(mesh_of_two):
            assert get_mesh() is mesh_of_two
            assert len(put_rows().sharding.devices) == 2
        assert len(put_rows().sharding.devices) == 8
    assert get_mesh().empty


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
        assert get_mesh().empty
    finally:
        before.__exit__(None, None, None)
    assert seen[0].empty


def test_a_program_is_retraced_for_another_mesh() -> None:
    f = olympus.jit(lambda x: lax.with_sharding_constraint(x + 1, P("x")))
    mesh_of_four = olympus.make_mesh((4,), ("x",), olympus.sharding.AxisType.Auto)
    with olympus.set_mesh(OURS.mesh):
        assert f(X).sharding.num_devices == 8
    with olympus.set_mesh(mesh_of_four):
        assert f(X).sharding.num_devices == 4
    with pytest.raises(ArgumentError, match="requires a non-empty mesh"):
        f(X)


@pytest.mark.parametrize("p", [OURS, ORACLE], ids=["ours", "jax"])
def test_a_call_in_a_program_has_the_mesh_of_its_context(p: Any) -> None:
    nested = p.m.jit(lambda x: 2 * x)
    with p.m.set_mesh(p.mesh):
        inside = p.m.make_jaxpr(lambda x: nested(x))(X)
    assert inside.eqns[0].params["ctx_mesh"] is p.mesh
    assert f"ctx_mesh={p.mesh}" in str(inside)
    outside = p.m.make_jaxpr(lambda x: nested(x))(X)
    assert outside.eqns[0].params["ctx_mesh"].empty
    assert "ctx_mesh" not in str(outside)


@pytest.mark.parametrize("p", [OURS, ORACLE], ids=["ours", "jax"])
def test_abstract_meshes_of_other_devices_differ(p: Any) -> None:
    mesh = p.mesh.abstract_mesh
    plain = p.m.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names, mesh.axis_types)
    assert mesh != plain
    assert mesh == p.m.sharding.AbstractMesh(
        mesh.axis_sizes, mesh.axis_names, mesh.axis_types, abstract_device=mesh.abstract_device
    )


def test_an_abstract_mesh_is_enough_to_lower() -> None:
    with olympus.set_mesh(AbstractMesh((2, 4), ("x", "y"))):
        lowered = olympus.jit(jnp.sin, in_shardings=P("x")).lower(X)
    assert lowered.num_devices == 8


def test_wrong_meshes_and_specs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="set_mesh needs a mesh or None"):
        olympus.set_mesh("x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="in a function that is traced"):
        olympus.jit(lambda x: (olympus.set_mesh(OURS.mesh), x)[1])(X)
    assert get_mesh().empty
    with olympus.set_mesh(OURS.mesh), pytest.raises(ShardingError, match="the axis 'q'"):
        olympus.device_put(X, P("q"))


def test_an_array_may_be_put_on_another_mesh_than_that_of_the_context() -> None:
    mesh_of_four = Mesh(np.array(olympus.devices()[:4]), ("x",))
    with olympus.set_mesh(OURS.mesh):
        with pytest.raises(ShardingError, match="should match the mesh passed to shard_map"):
            olympus.shard_map(lambda x: x, mesh=mesh_of_four, in_specs=P("x"), out_specs=P("x"))(X)
        assert olympus.device_put(X, NamedSharding(mesh_of_four, P("x"))).sharding.num_devices == 4


def test_a_context_of_set_mesh_may_be_entered_again() -> None:
    mesh_of_two = olympus.make_mesh((2,), ("x",), olympus.sharding.AxisType.Auto)
    context = olympus.set_mesh(OURS.mesh)
    with context:
        assert get_mesh() is OURS.mesh
    assert get_mesh().empty
    with olympus.set_mesh(mesh_of_two):
        with context, context:
            assert get_mesh() is OURS.mesh
        assert get_mesh() is mesh_of_two
    assert get_mesh().empty
    with pytest.raises(ArgumentError, match="in a function that is traced"):
        olympus.jit(lambda x: (context.__enter__(), x)[1])(X)
    assert get_mesh().empty


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
    assert seen[0] is OURS.mesh and seen[1].empty and get_mesh().empty


def test_a_context_that_is_left_early_does_not_change_the_inner_one() -> None:
    mesh_of_two = olympus.make_mesh((2,), ("x",), olympus.sharding.AxisType.Auto)

    def generator() -> Any:
        with olympus.set_mesh(OURS.mesh):
            yield

    outer = generator()
    next(outer)
    with olympus.set_mesh(mesh_of_two):
        outer.close()
        assert get_mesh() is mesh_of_two
    assert get_mesh().empty
    with olympus.set_mesh(OURS.mesh):
        olympus.set_mesh(mesh_of_two)
        assert get_mesh() is mesh_of_two
    assert get_mesh().empty


def test_a_program_is_traced_once_per_mesh() -> None:
    count = [0]

    @olympus.jit
    def f(x: Any) -> Any:
        count[0] += 1
        return x + 1

    mesh_of_two = olympus.make_mesh((2,), ("x",), olympus.sharding.AxisType.Auto)
    with olympus.set_mesh(OURS.mesh):
        f(X)
    with olympus.set_mesh(mesh_of_two), olympus.set_mesh(OURS.mesh), olympus.set_mesh(OURS.mesh):
        f(X)
    assert count == [1]
    f(X)
    olympus.set_mesh(None)
    f(X)
    assert count == [2]


def test_a_mesh_may_be_a_context_in_a_traced_function() -> None:
    def f(x: Any) -> Any:
        with pytest.warns(DeprecationWarning, match="has been deprecated"), OURS.mesh:
            return lax.with_sharding_constraint(2 * x, P("x"))

    out = olympus.jit(f)(X)
    assert out.sharding.num_devices == 8 and get_mesh().empty
    np.testing.assert_array_equal(np.asarray(out), 2 * X)


CREATIONS: dict[str, Any] = {
    "zeros": lambda p: p.np.zeros((8, 4)),
    "arange": lambda p: p.np.arange(8),
    "array": lambda p: p.np.array([1.0, 2.0]),
    "asarray": lambda p: p.np.asarray(X),
    "full": lambda p: p.np.full((2, 3), 7),
    "eye": lambda p: p.np.eye(3),
    "linspace": lambda p: p.np.linspace(0, 1, 5),
    "normal": lambda p: p.m.random.normal(p.m.random.PRNGKey(0), (8,)),
    "multiply": lambda p: p.np.zeros(8) * 2,
    "jit": lambda p: p.m.jit(lambda x: 3 * x)(X),
    "grad": lambda p: p.m.grad(lambda x: (x * x).sum())(p.np.ones(8)),
    "put": lambda p: p.m.device_put(X),
}


@pytest.mark.parametrize("kind", ["Explicit", "Auto"])
@pytest.mark.parametrize("name", CREATIONS)
def test_new_arrays_are_on_the_mesh_of_the_context(name: str, kind: str) -> None:
    results = []
    for p in (OURS, ORACLE):
        types = (getattr(importlib.import_module(p.m.__name__ + ".sharding").AxisType, kind),) * 2
        with p.m.set_mesh(p.m.make_mesh((2, 4), ("x", "y"), types)):
            results.append(CREATIONS[name](p))
    mine, oracle = results
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-6)
    assert str(mine.sharding) == str(oracle.sharding)
    assert mine.committed == oracle.committed
    assert str(olympus.typeof(mine)) == str(jax.typeof(oracle))


REFUSED: dict[str, Any] = {
    "committed": lambda p, x, other: p.np.sin(p.m.device_put(X, p.m.devices()[1])),
    "other mesh": lambda p, x, other: x + 1,
    "other mesh in jit": lambda p, x, other: p.m.jit(lambda x: x + 1)(x),
    "shard_map": lambda p, x, other: p.m.shard_map(
        lambda x: x, mesh=other, in_specs=p.P("z"), out_specs=p.P("z")
    )(X),
    "set_mesh in jit": lambda p, x, other: p.m.jit(lambda x: p.m.set_mesh(other))(X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_mesh_than_that_of_the_context_is_refused(name: str) -> None:
    for p, error in ((OURS, ArgumentError), (ORACLE, ValueError)):
        other = p.m.make_mesh((8,), ("z",))
        sharding = importlib.import_module(p.m.__name__ + ".sharding").NamedSharding
        x = p.m.device_put(X, sharding(other, p.P("z")))
        with p.m.set_mesh(p.m.make_mesh((2, 4), ("x", "y"))), pytest.raises(error):
            REFUSED[name](p, x, other)


def test_a_mesh_as_a_context_has_no_effect_on_programs() -> None:
    with pytest.warns(DeprecationWarning, match="has been deprecated"), OURS.mesh:
        assert jnp.zeros(8).sharding.num_devices == 1
        assert get_mesh().empty
        assert lax.with_sharding_constraint(X, P("x")).sharding.num_devices == 8
        with pytest.raises(RuntimeError, match="requires a non-empty mesh in context"):
            olympus.jit(jnp.sin, in_shardings=P("x"))(X)
