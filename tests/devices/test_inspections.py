"""`olympus.debug` tells where traced arrays lie, as the oracle does."""

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
from olympus_core.placement.sharding import TiledSharding
from tests.devices.meshes import both, ours
from tests.devices.shown import ON_ONE, PROGRAMS, P, Shown, repeated, told


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_compiler_tells_what_it_tells_the_oracle(program: Shown) -> None:
    own, other = both("x", "y")
    value = np.linspace(0.1, 1.0, 64, dtype=np.float32).reshape(8, 8)
    mine = told(olympus, program, olympus.device_put(value, own))
    oracle = told(jax, program, jax.device_put(value, other))
    assert mine
    assert {type(s) for s in mine} == {NamedSharding}
    assert sorted(str(s.spec) for s in mine) == sorted(str(s.spec) for s in oracle)
    assert all(s.mesh == own.mesh for s in mine)


@pytest.mark.parametrize("program", ON_ONE)
def test_what_one_device_has_is_whole(program: Shown) -> None:
    value = np.ones((8, 8), np.float32)
    mine = told(olympus, program, value)
    assert len(mine) == len(told(jax, program, value))
    assert set(mine) == {SingleDeviceSharding(olympus.devices()[0])}


def test_one_device_of_a_mesh_is_on_it() -> None:
    sharding = ours((1,), ("x",), ("x",))
    found = told(olympus, repeated, olympus.device_put(np.ones((8, 8)), sharding))
    assert [(s.mesh, s.spec) for s in found] == [(sharding.mesh, P())] * 2


def test_of_axes_of_one_size_the_first_are_named_in_a_shard_map() -> None:
    sharding = ours((2, 2, 2), ("x", "y", "z"), ("y",))
    found: list[Any] = []

    def part(x: Any) -> Any:
        for spec in (P("x"), P(None, "z"), P(("x", "z"))):
            placed = NamedSharding(sharding.mesh, spec)
            y = olympus.lax.with_sharding_constraint(2 * x, placed)
            debug.inspect_array_sharding(y, callback=found.append)
        return x

    options: Any = {"in_specs": sharding.spec, "out_specs": sharding.spec, "axis_names": {"y"}}
    olympus.jit(olympus.shard_map(part, mesh=sharding.mesh, **options))(np.ones((8, 8)))
    assert {s.spec for s in found} == {P("x"), P(None, "x"), P(("x", "z"))}


def test_a_part_of_an_axis_is_told_as_tiles() -> None:
    """Two parts along an axis of four: no spec says it."""
    mesh = ours((2, 4), ("x", "y"), ()).mesh
    devices = mesh.flat_devices
    found: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x.reshape(2, 16), callback=found.append)
        return x

    olympus.jit(f, in_shardings=NamedSharding(mesh, P("y")))(np.ones(32))
    assert [s.shard_shape((2, 16)) for s in found] == [(1, 8)]
    assert found[0].devices == devices

    def part(x: Any) -> Any:
        debug.inspect_array_sharding(x.reshape(2, 8), callback=found.append)
        return x

    options: Any = {"in_specs": P("x"), "out_specs": P("x"), "axis_names": {"x"}}
    mapped = olympus.shard_map(part, mesh=mesh, **options)
    olympus.jit(mapped, in_shardings=NamedSharding(mesh, P(("x", "y"))))(np.ones(32))
    assert {type(s) for s in found} == {TiledSharding}
    assert found[1].shard_shape((2, 8)) == (1, 4)


def test_shardings_without_a_mesh_are_tiles() -> None:
    first, _ = both("x")
    compiled = olympus.jit(lambda x: x.reshape(2, 16), in_shardings=both("y")[0])
    tiled = compiled(np.ones(32)).sharding
    found = told(olympus, lambda m, show, x: show(x), olympus.device_put(np.ones((2, 16)), tiled))
    assert found == [tiled]
    assert first.devices == tiled.devices


def test_only_a_compilation_tells() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding(x @ x, callback=found.append)
        return x.sum()

    sharding = both("x")[0]
    lowered = olympus.jit(f, in_shardings=sharding).lower(np.ones((8, 8)))
    assert found == []
    compiled = lowered.compile()
    assert [s.spec for s in found] == [P("x")]
    compiled(np.ones((8, 8)))
    assert "InspectSharding" not in compiled.as_text()
    lowered.compile()
    assert len(found) == 2


def test_nothing_of_the_process_is_in_a_module() -> None:
    def named(told: Any) -> Any:
        def f(x: Any) -> Any:
            told(x @ x)
            return olympus.jit(lambda x: (told(2 * x), x.sum())[1])(x)

        return olympus.jit(f, in_shardings=both("x")[0]).lower(np.ones((8, 8)))

    with_calls = named(lambda x: debug.inspect_array_sharding(x, callback=print))
    without = named(lambda x: None)
    assert with_calls.as_text() == without.as_text()
    assert with_calls.as_text("hlo") == without.as_text("hlo")
    assert with_calls.bytecode() == without.bytecode()
    assert not with_calls.olympuspr.effects
    assert "dot" not in str(with_calls.olympuspr)  # what only they read
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
def test_nobody_waits_for_what_is_inspected_alone(body: Any) -> None:
    """Not all devices come to the sum, which nothing reads: it is not in the executable."""
    found: list[Any] = []

    def part(v: Any) -> Any:
        return body(lambda x: debug.inspect_array_sharding(x, callback=found.append), v)

    mesh = ours((2, 4), ("x", "y"), ()).mesh
    f = olympus.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    compiled = olympus.jit(f).lower(np.ones((8, 8), np.float32)).compile()
    assert [s.spec for s in found] == [P()]
    assert "all-reduce" not in compiled.as_text()


def test_inspections_have_a_mark_where_they_may_lead_the_compiler() -> None:
    sharding = both("x")[0]

    def mark(where: Any, *shown: Any) -> str | None:
        def f(x: Any) -> Any:
            for name in shown:
                debug.inspect_array_sharding(getattr(jnp, name)(x), callback=lambda _: None)
            return x

        found: str | None = olympus.jit(f, in_shardings=where).lower(np.ones((8, 8))).inspections
        return found

    marks = [mark(sharding, *shown) for shown in [("sin",), ("cos",), ("sin", "cos")]]
    assert len({*marks, None}) == 4
    assert mark(sharding, "sin") == marks[0]
    assert mark(sharding) is mark(None, "sin") is None
    assert mark(ours((1,), ("x",), ("x",)), "sin") is None


@pytest.mark.parametrize("specs", [(), ("x",)])
def test_what_a_callback_raises_is_raised_by_the_compilation(specs: tuple[str, ...]) -> None:
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
    found: list[Any] = []

    def compute(sharding: Any) -> None:
        found.append(olympus.jit(lambda x: 2 * x)(olympus.device_put(np.ones(8), sharding)))

    olympus.jit(lambda x: (debug.inspect_array_sharding(x, callback=compute), x)[1])(
        olympus.device_put(np.ones(8), both("x")[0])
    )
    assert [y.sharding.spec for y in found] == [P("x")]
    np.testing.assert_array_equal(found[0], np.full(8, 2.0))


def test_functions_that_differ_by_their_callback_alone_are_two() -> None:
    found: list[str] = []

    def inner(name: str) -> Any:
        return olympus.jit(
            lambda x: (
                debug.inspect_array_sharding(2 * x, callback=lambda _: found.append(name)),
                x + 1,
            )[1]
        )

    for x in (np.ones(8), olympus.device_put(np.ones(8), both("x")[0])):
        olympus.jit(lambda x: inner("a")(inner("b")(x)))(x)
        assert sorted(found) == ["a", "b"]
        found.clear()


@pytest.mark.parametrize("specs", [(), ("x",)])
def test_a_callback_goes_with_its_function(specs: tuple[str, ...]) -> None:
    class Told:
        def __call__(self, sharding: Any) -> None:
            pass

    told = Told()
    gone = weakref.ref(told)
    f = olympus.jit(
        lambda x, told=told: (debug.inspect_array_sharding(2 * x, callback=told), x + 1)[1],
        in_shardings=both(*specs)[0] if specs else None,
    )
    f.lower(np.ones(8)).compile()
    del f, told
    gc.collect()
    assert gone() is None


def test_a_failing_compiler_has_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    work = olympus_core.xla.Watch.during

    def failing(self: Any, compile: Any) -> Any:
        work(self, compile)
        raise olympus_core.xla.JaxRuntimeError("RESOURCE_EXHAUSTED: out of registers")

    monkeypatch.setattr(olympus_core.xla.Watch, "during", failing)
    with pytest.raises(CompileError, match="out of registers"):
        olympus.jit(lambda x: (debug.inspect_array_sharding(x, callback=found.append), x)[1])(
            olympus.device_put(np.ones(8), both("x")[0])
        )
    assert [s.spec for s in found] == [P("x")]
