"""The cost and the memory of a program for each device and in total."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.analysis import AxisTraffic, Collective, by_axes
from olympus.errors import ArtifactError, UsageError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.mlir import bindings as mlir

P = PartitionSpec
MESH = AbstractMesh((2, 4), ("data", "model"))
N = 64
PRODUCT = 2 * N**3


def array(*shape: int, dtype: str = "float32") -> Any:
    return olympus.ShapeDtypeStruct(shape or (N, N), np.dtype(dtype))


def compiled(f: Any, specs: Any, out: Any = None, shapes: Any = None) -> Any:
    ins = tuple(NamedSharding(MESH, spec) for spec in specs)
    outs = None if out is None else NamedSharding(MESH, out)
    arrays = shapes or [array() for _ in specs]
    return olympus.jit(f, in_shardings=ins, out_shardings=outs).lower(*arrays).compile()


def product(x: Any, w: Any) -> Any:
    return x @ w


@pytest.mark.parametrize(
    ("specs", "out", "repeated", "sent"),
    [
        ((P("data"), P(None, "model")), P("data", "model"), 1, 0),
        ((P("data"), P()), P("data"), 4, 0),  # the devices along model do the same work
        ((P(), P()), P(), 8, 0),
    ],
)
def test_the_cost_of_one_device_and_in_total(specs, out, repeated, sent) -> None:
    program = compiled(product, specs, out)
    device_cost = program.cost_per_device()
    assert (device_cost.devices, program.cost().flops) == (8, PRODUCT)
    assert device_cost.flops == PRODUCT * repeated // 8
    assert dict(device_cost.matmul_flops) == {"float32": device_cost.flops}
    assert device_cost.total.flops == PRODUCT * repeated
    assert (device_cost.repeated, device_cost.total.repeated) == (repeated, repeated)
    assert (device_cost.sent, device_cost.total.sent, device_cost.unknown) == (sent, 8 * sent, ())
    assert device_cost.total.total == device_cost.total
    assert (device_cost.total.devices, device_cost.total.is_total, device_cost.is_total) == (
        8,
        True,
        False,
    )


def test_an_all_reduce_is_sent_and_its_sums_are_counted() -> None:
    program = compiled(product, (P(None, "model"), P("model")), P())
    (collective,) = program.collectives()
    device_cost = program.cost_per_device()
    assert device_cost.flops == PRODUCT // 4 + N * N  # the sums of the all-reduce
    assert device_cost.collective_bytes == collective.bytes == N * N * 4
    assert device_cost.sent == collective.sent == N * N * 4 * 6 // 4
    assert device_cost.total.collective_bytes == 8 * collective.bytes


def test_a_program_for_one_device_has_the_cost_of_the_optimized_program() -> None:
    program = olympus.jit(lambda x: jnp.tanh(x @ x) * 2.0).lower(array()).compile()
    device_cost = program.cost_per_device()
    assert (device_cost.devices, device_cost.flops, device_cost.transcendentals) == (
        1,
        PRODUCT + N * N,
        N * N,
    )
    assert (device_cost.total.flops, device_cost.total.devices) == (device_cost.flops, 1)
    assert device_cost.bytes < program.cost().bytes  # fused values are not moved


def test_trips_give_the_count_of_an_unknown_loop() -> None:
    def search(x):
        return lax.while_loop(lambda c: c.sum() < 1e9, lambda c: c @ c, x)

    program = compiled(search, (P("data"),), P("data"))
    unknown = program.cost_per_device()
    assert "depends on data" in unknown.unknown[0]
    assert unknown.repeated is None
    (line,) = program.cost().loops
    with_trips = program.cost_per_device(trips={line: 5})
    assert with_trips.unknown == ()
    assert with_trips.matmul_flops["float32"] == 5 * unknown.matmul_flops["float32"]
    with pytest.raises(UsageError, match="where the program has no loop"):
        program.cost_per_device(trips={"nowhere.py:1": 5})


def test_collectives_of_a_loop_that_depends_on_data_are_lower_bounds() -> None:
    def search(x):
        step = lambda c: jnp.tanh(c @ c)  # noqa: E731
        return lax.while_loop(lambda c: c[0, 0] < 1e9, lambda c: step(step(c)), x)

    program = compiled(search, (P("data"),), P("data"))
    collectives = program.collectives()
    (line,) = program.cost().loops
    assert {collective.loops for collective in collectives} == {(line,)}
    assert all(row.loops == (line,) for row in by_axes(collectives))
    with_trips = program.collectives(trips={line: 5})
    assert [(collective.calls, collective.loops) for collective in with_trips] == [(5, ())] * len(
        collectives
    )
    assert {row.loops for row in by_axes(with_trips)} == {()}
    (row,) = by_axes([with_trips[0], collectives[0]])  # one unknown collective is enough
    assert (row.calls, row.loops) == (6, (line,))


@pytest.mark.parametrize(
    ("sizes", "axis", "pairs", "sent", "by_all"),
    [
        ((8,), "i", [(0, 1)], 32, 32),
        ((8,), "i", [(i, (i + 1) % 8) for i in range(8)], 32, 8 * 32),
        ((2, 4), "i", [(0, 1)], 128, 4 * 128),  # at each position of the other axis
    ],
)
def test_only_devices_that_send_count_in_a_permutation(sizes, axis, pairs, sent, by_all) -> None:
    mesh = AbstractMesh(sizes, ("i", "j")[: len(sizes)])
    f = olympus.shard_map(
        lambda x: lax.ppermute(x, axis, pairs), mesh=mesh, in_specs=P(axis), out_specs=P(axis)
    )
    device_cost = olympus.jit(f).lower(array(64)).compile().cost_per_device()
    assert (device_cost.sent, device_cost.sent_by_all, device_cost.total.sent) == (
        sent,
        by_all,
        by_all,
    )


def test_the_most_expensive_branch_counts() -> None:
    def either(x):
        return lax.cond(x[0, 0] > 0, lambda x: x @ x, lambda x: x + 1.0, x)

    program = olympus.jit(either).lower(array()).compile()
    assert dict(program.cost_per_device().matmul_flops) == {"float32": PRODUCT}


def test_products_of_integers_have_no_flops() -> None:
    program = olympus.jit(lambda x: x @ x).lower(array(dtype="int32")).compile()
    device_cost = program.cost_per_device()
    assert (device_cost.flops, dict(device_cost.matmul_flops)) == (0, {"int32": PRODUCT})
    assert device_cost.repeated is None


# --- the program as written: the work of all devices --------------------------------------------


def mapped(body: Any, spec: Any, out: Any, **options: Any) -> Any:
    mesh = olympus.make_mesh((2, 4), ("data", "model"), olympus.sharding.AxisType.Auto)
    return olympus.shard_map(body, mesh=mesh, in_specs=spec, out_specs=out, **options)


def test_the_body_of_a_shard_map_counts_for_all_devices() -> None:
    x = array(64, 64)
    plain = olympus.jit(lambda x: jnp.tanh(x) * 2.0).lower(x).cost()
    mapped_twice = olympus.jit(
        mapped(lambda x: jnp.tanh(x) * 2.0, P("data", "model"), P("data", "model"))
    )
    costs = mapped_twice.lower(x).cost()
    for name in ("flops", "transcendentals", "bytes", "io_bytes"):
        expected = getattr(plain, name)
        # each device reads the factor 2.0 once
        assert abs(getattr(costs, name) - expected) <= 64 * 8, name
    assert costs.flops == plain.flops
    assert sum(row.flops for row in costs.by("line")) == costs.flops
    assert mapped_twice.lower(x).compile().cost_per_device().repeated == 1


def test_axes_that_are_not_mapped_count_once_in_the_body() -> None:
    x = array(64, 64)

    def body(x):
        return jnp.tanh(x)

    partly = mapped(body, P("data"), P("data"), axis_names={"data"})
    assert olympus.jit(partly).lower(x).cost().transcendentals == 64 * 64
    all_same = mapped(body, P("data"), P("data"))  # each device along model does the whole work
    assert olympus.jit(all_same).lower(x).cost().transcendentals == 4 * 64 * 64


def test_nested_maps_and_loops_multiply() -> None:
    def inner(x):
        return lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c), x)

    def outer(x):
        nested = olympus.shard_map(
            inner, in_specs=P(None, "model"), out_specs=P(None, "model"),
            axis_names={"model"},
        )  # fmt: skip
        return nested(x)

    f = mapped(outer, P("data"), P("data"), axis_names={"data"})
    assert olympus.jit(f).lower(array(64, 64)).cost().transcendentals == 3 * 64 * 64


def test_pmap_counts_each_of_its_devices() -> None:
    f = olympus.pmap(lambda x: jnp.tanh(x), axis_name="i")
    assert f.lower(array(8, 16)).cost().transcendentals == 8 * 16


INLINE = """
module @inline {
  func.func public @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<mesh<["x"=4, "y"=2]>, [{"x"}, {}]>]
        out_shardings=[<mesh<["x"=4, "y"=2]>, [{"x"}, {}]>] manual_axes={"x"}
        (%b: tensor<2x4xf32>) {
      %1 = stablehlo.tanh %b : tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
"""


@pytest.mark.parametrize("named", [False, True])
def test_a_mesh_may_be_inline_or_named(named: bool) -> None:
    text = INLINE
    if named:  # an unusual name, after another mesh
        text = text.replace('mesh<["x"=4, "y"=2]>', "@grid.1")
        meshes = 'sdy.mesh @other = <["x"=2]>\n  sdy.mesh @grid.1 = <["x"=4, "y"=2]>\n'
        text = text.replace("@inline {", f"@inline {{\n  {meshes}")
    cost = cost_of_module(mlir.ir.Module.parse(text, mlir.new_context()))
    assert cost.transcendentals == 8 * 4


def test_a_mesh_of_too_many_devices_is_refused() -> None:
    axes = ", ".join(f'"{name}"={2**62}' for name in "xy")
    text = INLINE.replace('"x"=4, "y"=2', axes).replace('[{"x"}, {}]', "[{}, {}]")
    text = text.replace('{"x"}', '{"x", "y"}').replace("tensor<2x4xf32>", "tensor<8x4xf32>")
    with pytest.raises(ArtifactError, match="more than 30 digits"):
        cost_of_module(mlir.ir.Module.parse(text, mlir.new_context()))


# --- memory ---------------------------------------------------------------------------------------


def test_the_memory_in_total_is_that_of_all_devices() -> None:
    program = compiled(product, (P("data"), P()), P("data"))
    memory = program.memory()
    assert memory.devices == 8
    assert memory.arguments == N * N * 4 // 2 + N * N * 4
    for name, size in vars(memory.total).items():
        own = getattr(memory, name)
        assert size == (None if own is None else 8 * own)
    assert memory.total.arguments == 4 * N * N * 4 + 8 * N * N * 4  # one copy on each device


# --- collectives by axis --------------------------------------------------------------------------


def test_collectives_are_summed_by_their_axes() -> None:
    def collective(axes: Any, size: int, calls: int = 1) -> Collective:
        return Collective("all-reduce", axes, 2, size, size // 2, calls, None, "psum", 0.5 * calls)

    rows = by_axes(
        [
            collective(("a",), 8),
            collective(("a", "b"), 4, 9),
            collective(("a",), 2, 3),
            collective(None, 1),
        ]
    )
    assert rows == (
        AxisTraffic(("a", "b"), 9, 36, 18, 4.5),
        AxisTraffic(("a",), 4, 14, 7, 2.0),
        AxisTraffic(None, 1, 1, 0, 0.5),
    )
    assert by_axes(()) == ()


def test_the_sums_by_axes_are_the_figures_of_the_program() -> None:
    def step(x, w):
        return jnp.tanh(x @ w).sum()

    program = compiled(step, (P("data", "model"), P("model")), P())
    rows = by_axes(program.collectives())
    device_cost = program.cost_per_device()
    assert sum(row.bytes for row in rows) == device_cost.collective_bytes > 0
    assert sum(row.sent for row in rows) == device_cost.sent > 0
