"""`olympus.debug` reports the shardings of traced arrays as JAX does."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_core.xla
from olympus import debug, lax
from olympus.errors import CompileError
from olympus.sharding import NamedSharding, SingleDeviceSharding
from olympus_core.placement.chosen_sharding import TiledSharding
from tests.devices.inspection_programs import (
    ON_ONE,
    PROGRAMS,
    InspectedProgram,
    P,
    inspected_shardings,
    repeated,
)
from tests.devices.meshes import both, ours


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_inspected_shardings_are_those_of_jax(program: InspectedProgram) -> None:
    mine_sharding, oracle_sharding = both("x", "y")
    value = np.linspace(0.1, 1.0, 64, dtype=np.float32).reshape(8, 8)
    mine = inspected_shardings(olympus, program, olympus.device_put(value, mine_sharding))
    oracle = inspected_shardings(jax, program, jax.device_put(value, oracle_sharding))
    assert mine
    assert {type(s) for s in mine} == {NamedSharding}
    assert sorted(str(s.spec) for s in mine) == sorted(str(s.spec) for s in oracle)
    assert all(s.mesh == mine_sharding.mesh for s in mine)


@pytest.mark.parametrize("program", ON_ONE)
def test_an_array_on_one_device_has_its_sharding(program: InspectedProgram) -> None:
    value = np.ones((8, 8), np.float32)
    mine = inspected_shardings(olympus, program, value)
    assert len(mine) == len(inspected_shardings(jax, program, value))
    assert set(mine) == {SingleDeviceSharding(olympus.devices()[0])}


def test_a_mesh_of_one_device_is_in_the_sharding() -> None:
    sharding = ours((1,), ("x",), ("x",))
    shardings = inspected_shardings(
        olympus, repeated, olympus.device_put(np.ones((8, 8)), sharding)
    )
    assert [(s.mesh, s.spec) for s in shardings] == [(sharding.mesh, P())] * 2


def test_the_first_of_several_axes_of_one_size_is_named_in_a_shard_map() -> None:
    sharding = ours((2, 2, 2), ("x", "y", "z"), ("y",))
    shardings: list[Any] = []

    def part(x: Any) -> Any:
        for spec in (P("x"), P(None, "z"), P(("x", "z"))):
            placed = NamedSharding(sharding.mesh, spec)
            y = olympus.lax.with_sharding_constraint(2 * x, placed)
            debug.inspect_array_sharding(y, callback=shardings.append)
        return x

    options: Any = {"in_specs": sharding.spec, "out_specs": sharding.spec, "axis_names": {"y"}}
    olympus.jit(olympus.shard_map(part, mesh=sharding.mesh, **options))(np.ones((8, 8)))
    assert {s.spec for s in shardings} == {P("x"), P(None, "x"), P(("x", "z"))}


def test_a_sharding_by_part_of_an_axis_has_tiles() -> None:
    """No spec describes two parts along an axis of four devices."""
    mesh = ours((2, 4), ("x", "y"), ()).mesh
    devices = mesh.flat_devices
    shardings: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x.reshape(2, 16), callback=shardings.append)
        return x

    olympus.jit(f, in_shardings=NamedSharding(mesh, P("y")))(np.ones(32))
    assert [s.shard_shape((2, 16)) for s in shardings] == [(1, 8)]
    assert shardings[0].devices == devices

    def part(x: Any) -> Any:
        debug.inspect_array_sharding(x.reshape(2, 8), callback=shardings.append)
        return x

    options: Any = {"in_specs": P("x"), "out_specs": P("x"), "axis_names": {"x"}}
    mapped = olympus.shard_map(part, mesh=mesh, **options)
    olympus.jit(mapped, in_shardings=NamedSharding(mesh, P(("x", "y"))))(np.ones(32))
    assert {type(s) for s in shardings} == {TiledSharding}
    assert shardings[1].shard_shape((2, 8)) == (1, 4)


def test_a_sharding_without_a_mesh_has_tiles() -> None:
    first, _ = both("x")
    compiled = olympus.jit(lambda x: x.reshape(2, 16), in_shardings=both("y")[0])
    tiled = compiled(np.ones(32)).sharding
    shardings = inspected_shardings(
        olympus, lambda m, show, x: show(x), olympus.device_put(np.ones((2, 16)), tiled)
    )
    assert shardings == [tiled]
    assert first.devices == tiled.devices


def test_shardings_are_reported_by_each_compilation() -> None:
    shardings: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x @ x, callback=shardings.append)
        return x.sum()

    sharding = both("x")[0]
    lowered = olympus.jit(f, in_shardings=sharding).lower(np.ones((8, 8)))
    assert shardings == []
    compiled = lowered.compile()
    assert [s.spec for s in shardings] == [P("x")]
    compiled(np.ones((8, 8)))
    assert "InspectSharding" not in compiled.as_text()
    lowered.compile()
    assert len(shardings) == 2


def test_inspections_do_not_change_the_module() -> None:
    def named(inspect: Any) -> Any:
        def f(x: Any) -> Any:
            inspect(x @ x)
            return olympus.jit(lambda x: (inspect(2 * x), x.sum())[1])(x)

        return olympus.jit(f, in_shardings=both("x")[0]).lower(np.ones((8, 8)))

    with_calls = named(lambda x: debug.inspect_array_sharding(x, callback=print))
    without = named(lambda x: None)
    assert with_calls.as_text() == without.as_text()
    assert with_calls.as_text("hlo") == without.as_text("hlo")
    assert with_calls.bytecode() == without.bytecode()
    assert not with_calls.olympuspr.effects
    assert "dot" not in str(with_calls.olympuspr)  # the inspections are its only readers
    assert "mul" not in str(with_calls.olympuspr)


def summed_in_a_branch(show: Any, v: Any) -> Any:
    return lax.cond(lax.axis_index("x") == 0, lambda v: (show(lax.psum(v, "x")), v)[1], jnp.sin, v)


def summed_in_a_loop(show: Any, v: Any) -> Any:
    def body(c: Any) -> Any:
        show(lax.psum(c, "x"))
        return c + 1

    return lax.while_loop(lambda c: c.sum() < lax.axis_index("x"), body, v)


def summed_for_an_inspection_alone(show: Any, v: Any) -> Any:
    show(lax.cond(lax.axis_index("x") == 0, lambda v: lax.psum(v, "x"), jnp.sin, v))
    return v


@pytest.mark.parametrize(
    "body", [summed_in_a_branch, summed_in_a_loop, summed_for_an_inspection_alone]
)
def test_a_collective_that_is_only_inspected_is_removed(body: Any) -> None:
    """Some devices do not reach the sum, which no operation reads."""
    shardings: list[Any] = []

    def part(v: Any) -> Any:
        return body(lambda x: debug.inspect_array_sharding(x, callback=shardings.append), v)

    mesh = ours((2, 4), ("x", "y"), ()).mesh
    f = olympus.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    compiled = olympus.jit(f).lower(np.ones((8, 8), np.float32)).compile()
    assert [s.spec for s in shardings] == [P()]
    assert "all-reduce" not in compiled.as_text()


def test_inspections_are_marked_if_they_may_change_the_compilation() -> None:
    sharding = both("x")[0]

    def mark(sharding: Any, *shown: Any) -> str | None:
        def f(x: Any) -> Any:
            for name in shown:
                debug.inspect_array_sharding(getattr(jnp, name)(x), callback=lambda _: None)
            return x

        mark: str | None = olympus.jit(f, in_shardings=sharding).lower(np.ones((8, 8))).inspections
        return mark

    marks = [mark(sharding, *shown) for shown in [("sin",), ("cos",), ("sin", "cos")]]
    assert len({*marks, None}) == 4
    assert mark(sharding, "sin") == marks[0]
    assert mark(sharding) is mark(None, "sin") is None
    assert mark(ours((1,), ("x",), ("x",)), "sin") is None


@pytest.mark.parametrize("specs", [(), ("x",)])
def test_the_compilation_raises_the_exception_of_a_callback(specs: tuple[str, ...]) -> None:
    def refuse(sharding: Any) -> None:
        raise LookupError(f"not {sharding.spec if specs else sharding}")

    @olympus.jit
    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x, callback=refuse)
        return x + 1

    x = olympus.device_put(np.ones(8), both(*specs)[0]) if specs else np.ones(8)
    for _ in range(2):
        with pytest.raises(LookupError, match=r"not P\('x',\)" if specs else "not SingleDevice"):
            f(x)


def test_a_callback_may_compute() -> None:
    results: list[Any] = []

    def compute(sharding: Any) -> None:
        results.append(olympus.jit(lambda x: 2 * x)(olympus.device_put(np.ones(8), sharding)))

    olympus.jit(lambda x: (debug.inspect_array_sharding(x, callback=compute), x)[1])(
        olympus.device_put(np.ones(8), both("x")[0])
    )
    assert [y.sharding.spec for y in results] == [P("x")]
    np.testing.assert_array_equal(results[0], np.full(8, 2.0))


def test_functions_with_different_callbacks_are_not_merged() -> None:
    names: list[str] = []

    def inner(name: str) -> Any:
        return olympus.jit(
            lambda x: (
                debug.inspect_array_sharding(2 * x, callback=lambda _: names.append(name)),
                x + 1,
            )[1]
        )

    for x in (np.ones(8), olympus.device_put(np.ones(8), both("x")[0])):
        olympus.jit(lambda x: inner("a")(inner("b")(x)))(x)
        assert sorted(names) == ["a", "b"]
        names.clear()


@pytest.mark.parametrize("specs", [(), ("x",)])
def test_a_callback_is_freed_with_its_function(specs: tuple[str, ...]) -> None:
    class Callback:
        def __call__(self, sharding: Any) -> None:
            pass

    callback = Callback()
    reference = weakref.ref(callback)
    f = olympus.jit(
        lambda x, callback=callback: (
            debug.inspect_array_sharding(2 * x, callback=callback),
            x + 1,
        )[1],
        in_shardings=both(*specs)[0] if specs else None,
    )
    f.lower(np.ones(8)).compile()
    del f, callback
    gc.collect()
    assert reference() is None


def test_shardings_are_reported_before_a_failure_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shardings: list[Any] = []
    during = olympus_core.xla.Watch.during

    def failing(self: Any, compile: Any) -> Any:
        during(self, compile)
        raise olympus_core.xla.JaxRuntimeError("RESOURCE_EXHAUSTED: out of registers")

    monkeypatch.setattr(olympus_core.xla.Watch, "during", failing)
    with pytest.raises(CompileError, match="out of registers"):
        olympus.jit(lambda x: (debug.inspect_array_sharding(x, callback=shardings.append), x)[1])(
            olympus.device_put(np.ones(8), both("x")[0])
        )
    assert [s.spec for s in shardings] == [P("x")]
