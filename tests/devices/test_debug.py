"""`olympus.debug`: where arrays lie, in the text that the oracle draws."""

from __future__ import annotations

import contextlib
import gc
import io
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings

import olympus
import olympus.numpy as jnp
import olympus_core.xla
from olympus import debug, lax
from olympus.errors import ArgumentError, CompileError, DTypeError, ShardingError
from olympus.experimental.pjit import pjit
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec, SingleDeviceSharding
from olympus_core.sharding import TiledSharding
from tests.devices.meshes import Drawn, both, drawn, ours, theirs
from tests.marks import needs_gpu_compiler

P = PartitionSpec
WIDE = 80


def drawing(module: Any, shape: tuple[int, ...], sharding: Any, **options: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        module.debug.visualize_sharding(shape, sharding, use_color=False, **options)
    return text.getvalue()


@given(drawn())
@settings(max_examples=60)
def test_the_drawing_is_the_oracles(case: Drawn) -> None:
    assume(len(case.shape) in (1, 2))
    shape = tuple(5 * n for n in case.shape)
    mine = drawing(olympus, shape, ours(case.sizes, case.names, case.spec, case.turned))
    oracle = drawing(jax, shape, theirs(case.sizes, case.names, case.spec, case.turned))
    assume(len(oracle.partition("\n")[0]) < WIDE)  # the oracle cuts labels where it is full
    assert mine == oracle


@pytest.mark.parametrize(
    "options", [{"scale": 0.3}, {"scale": 2.5}, {"min_width": 3}, {"min_width": 15}]
)
def test_the_options_are_the_oracles(options: dict[str, Any]) -> None:
    for spec in [("x", "y"), ("y",), ()]:
        mine, oracle = both(*spec)
        assert drawing(olympus, (8, 8), mine, **options) == drawing(jax, (8, 8), oracle, **options)


def test_a_drawing_keeps_to_the_width_and_says_every_device() -> None:
    for spec, shape in [((None, "x"), (4, 640)), ((), (4, 4)), (("x",), (8,))]:
        text = drawing(olympus, shape, both(*spec)[0], max_width=20)
        assert max(map(len, text.splitlines())) <= 20
        assert all(str(device) in text for device in range(8))


def test_an_array_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    debug.visualize_array_sharding(olympus.device_put(jnp.zeros((8, 8)), both("x", "y")[0]))
    assert capsys.readouterr().out == drawing(jax, (8, 8), both("x", "y")[1])
    debug.visualize_array_sharding(jnp.ones(4))
    assert "CPU 0" in capsys.readouterr().out


def test_lines_are_ascii_where_the_terminal_is() -> None:
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, encoding="ascii")) as out:
        debug.visualize_sharding((8,), both("x")[0])
        out.flush()
    assert raw.getvalue().decode() == (
        "+-----------+-----------+\n|CPU 0,1,2,3|CPU 4,5,6,7|\n+-----------+-----------+\n"
    )


def test_shardings_are_told() -> None:
    found: list[Any] = []
    sharding = both("x")[0]
    tree = {"a": olympus.device_put(np.ones(8), sharding), "b": jnp.ones(3)}
    debug.inspect_array_sharding(tree, callback=found.append)
    assert found == [sharding, SingleDeviceSharding(olympus.devices()[0])]


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(ArgumentError, match="this is array"):
        debug.visualize_array_sharding(np.ones(3))
    with pytest.raises(ArgumentError, match="calls its callback with a sharding, and got None"):
        debug.inspect_array_sharding(jnp.ones(3), callback=None)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="inspect_array_sharding needs arrays"):
        olympus.jit(lambda x: debug.inspect_array_sharding("a", callback=print))(1.0)
    sharding = both("x")[0]
    for shape in [(2, 2, 2), (), (0,)]:
        with pytest.raises(ArgumentError, match="1 or 2 dimensions"):
            debug.visualize_sharding(shape, sharding)
    with pytest.raises(ShardingError, match="7 elements"):
        debug.visualize_sharding((7,), sharding)
    with pytest.raises(ShardingError, match="has no devices"):
        debug.visualize_sharding((8,), NamedSharding(AbstractMesh((2,), ("x",)), P("x")))
    with pytest.raises(ArgumentError, match="colours"):
        debug.visualize_sharding((8,), sharding, use_color=True)
    for options in [{"scale": 0}, {"scale": float("nan")}, {"scale": 1e9}, {"max_width": 0}]:
        with pytest.raises(ArgumentError, match="needs a scale above 0"):
            drawing(olympus, (8,), sharding, **options)
    with pytest.raises(ArgumentError, match="needs a sharding"):
        debug.visualize_sharding((8,), P("x"))  # type: ignore[arg-type]


def test_pjit_is_jit() -> None:
    assert pjit is olympus.jit
    sharding, _ = both("x")
    compiled = pjit(lambda x: 2 * x, in_shardings=sharding).lower(jnp.ones(8)).compile()
    np.testing.assert_array_equal(compiled(jnp.ones(8)), np.full(8, 2.0))


def test_what_a_transformation_of_known_values_has_is_told_at_once() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding({"x": x, "y": 2.0}, callback=found.append)
        return x * x

    sharding = both("x")[0]
    here = SingleDeviceSharding(olympus.devices()[0])
    for run in (olympus.grad(lambda x: f(x).sum()), olympus.vmap(f)):
        found.clear()
        run(olympus.device_put(np.ones(8), sharding))
        run(np.ones(8))  # it goes to the default device
        assert found == [sharding, here, here, here]


# --- traced arrays ------------------------------------------------------------------------------

#: a function of a library, of what shows an array, and of an array of 8 x 8
Shown = Callable[[Any, Callable[[Any], None], Any], Any]


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
    def yes(x: Any) -> Any:
        show(x)
        return x + 1

    def no(x: Any) -> Any:
        show(x.T)
        return x - 1

    return m.lax.cond(x.sum() > 0, yes, no, x)


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

    kept = m.checkpoint(layer, policy=m.checkpoint_policies.dots_saveable)
    return m.grad(lambda x: kept(x).sum())(x)


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
    own = (ours if m is olympus else theirs)((2, 4), ("x", "y"), ("x", "y"))

    def part(x: Any) -> Any:
        show(x * 2)
        return x + 1

    return m.shard_map(part, mesh=own.mesh, in_specs=own.spec, out_specs=own.spec)(x)


def manual_in_part(m: Any, show: Any, x: Any) -> Any:
    own = (ours if m is olympus else theirs)((2, 4), ("x", "y"), ("x",))

    def part(x: Any) -> Any:
        show(x * 2)
        return x + 1

    given = {"in_specs": own.spec, "out_specs": own.spec, "axis_names": {"x"}}
    return m.shard_map(part, mesh=own.mesh, **given)(x)


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


PROGRAMS: list[Shown] = [
    *(constraint, scanned, looped, chosen, mapped, differentiated, forward, nested, unread),
    *(repeated, recomputed, named_products, with_a_jvp, with_a_vjp, manual, manual_in_part),
    *(of_all_kinds, for_a_platform, without_iterations),
]
#: in which one device lowers, or leaves out, what is nested
ON_ONE: list[Shown] = [
    *(scanned, chosen, nested, unread, differentiated, recomputed, for_a_platform),
    without_iterations,
]


def told(m: Any, program: Shown, x: Any) -> list[Any]:
    """The shardings that are told when a program is compiled, at the first of two calls."""
    found: list[Any] = []

    def show(v: Any) -> None:  # the oracle lowers equal equations of one callback once
        m.debug.inspect_array_sharding(v, callback=lambda sharding: found.append(sharding))

    run = m.jit(lambda x: program(m, show, x))
    run(x)
    first = len(found)
    run(x)
    assert len(found) == first
    return found


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


def test_a_traced_array_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        debug.visualize_array_sharding(x.T, scale=0.5)
        return olympus.vmap(lambda row: (debug.visualize_array_sharding(row), row)[1])(x)

    olympus.jit(f)(olympus.device_put(np.ones((8, 16)), both("x", "y")[0]))
    drawn = [
        drawing(jax, (16, 8), both("y", "x")[1], scale=0.5),
        drawing(jax, (8, 16), both("x", "y")[1]),
    ]
    assert capsys.readouterr().out in ("".join(drawn), "".join(drawn[::-1]))


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


@needs_gpu_compiler
def test_gpus_that_are_not_here_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    mesh = AbstractMesh((2, 4), ("x", "y"))

    def f(x: Any) -> Any:
        debug.visualize_array_sharding(2 * x)
        return x

    for where, target in ((P("x", "y"), "8xh200"), (None, "h200")):
        told = None if where is None else NamedSharding(mesh, where)
        traced = olympus.jit(f, in_shardings=told).trace(np.ones((8, 8), np.float32))
        traced.lower(olympus.target("gpu", target)).compile()
    first, second = capsys.readouterr().out.split("┘\n┌")
    assert all(f"GPU {i}" in first for i in range(8))
    assert "GPU 0" in second
