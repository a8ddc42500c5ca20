"""What each device of a program does and needs, and what all of them do together."""

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
        ((P("data"), P()), P("data"), 4, 0),  # along model all do the same
        ((P(), P()), P(), 8, 0),
    ],
)
def test_the_work_of_each_device_and_of_all(specs, out, repeated, sent) -> None:
    made = compiled(product, specs, out)
    each = made.cost_per_device()
    assert (each.devices, made.cost().flops) == (8, PRODUCT)
    assert each.flops == PRODUCT * repeated // 8
    assert dict(each.matmul_flops) == {"float32": each.flops}
    assert each.total.flops == PRODUCT * repeated
    assert (each.repeated, each.total.repeated) == (repeated, repeated)
    assert (each.sent, each.total.sent, each.unknown) == (sent, 8 * sent, ())
    assert each.total.total == each.total
    assert (each.total.devices, each.total.is_total, each.is_total) == (8, True, False)


def test_what_is_summed_among_devices_is_sent_and_counted() -> None:
    made = compiled(product, (P(None, "model"), P("model")), P())
    (found,) = made.collectives()
    each = made.cost_per_device()
    assert each.flops == PRODUCT // 4 + N * N  # the sums of the all-reduce
    assert each.collective_bytes == found.bytes == N * N * 4
    assert each.sent == found.sent == N * N * 4 * 6 // 4
    assert each.total.collective_bytes == 8 * found.bytes


def test_one_device_has_what_the_compiler_made_of_the_program() -> None:
    made = olympus.jit(lambda x: jnp.tanh(x @ x) * 2.0).lower(array()).compile()
    each = made.cost_per_device()
    assert (each.devices, each.flops, each.transcendentals) == (1, PRODUCT + N * N, N * N)
    assert (each.total.flops, each.total.devices) == (each.flops, 1)
    assert each.bytes < made.cost().bytes  # what is fused is not moved


def test_loops_count_as_often_as_they_run() -> None:
    def search(x):
        return lax.while_loop(lambda c: c.sum() < 1e9, lambda c: c @ c, x)

    made = compiled(search, (P("data"),), P("data"))
    unknown = made.cost_per_device()
    assert "depends on data" in unknown.unknown[0]
    assert unknown.repeated is None
    (line,) = made.cost().loops
    told = made.cost_per_device(trips={line: 5})
    assert told.unknown == ()
    assert told.matmul_flops["float32"] == 5 * unknown.matmul_flops["float32"]
    with pytest.raises(UsageError, match="where the program has no loop"):
        made.cost_per_device(trips={"nowhere.py:1": 5})


def test_collectives_of_a_loop_that_depends_on_data_are_lower_bounds() -> None:
    def search(x):
        step = lambda c: jnp.tanh(c @ c)  # noqa: E731
        return lax.while_loop(lambda c: c[0, 0] < 1e9, lambda c: step(step(c)), x)

    made = compiled(search, (P("data"),), P("data"))
    found = made.collectives()
    (line,) = made.cost().loops
    assert {each.loops for each in found} == {(line,)}
    assert all(row.loops == (line,) for row in by_axes(found))
    told = made.collectives(trips={line: 5})
    assert [(each.calls, each.loops) for each in told] == [(5, ())] * len(found)
    assert {row.loops for row in by_axes(told)} == {()}
    (row,) = by_axes([told[0], found[0]])  # one that is not known is enough
    assert (row.calls, row.loops) == (6, (line,))


@pytest.mark.parametrize(
    ("sizes", "axis", "pairs", "sent", "by_all"),
    [
        ((8,), "i", [(0, 1)], 32, 32),
        ((8,), "i", [(i, (i + 1) % 8) for i in range(8)], 32, 8 * 32),
        ((2, 4), "i", [(0, 1)], 128, 4 * 128),  # along each place of the other axis
    ],
)
def test_of_a_permutation_those_that_send_count(sizes, axis, pairs, sent, by_all) -> None:
    mesh = AbstractMesh(sizes, ("i", "j")[: len(sizes)])
    f = olympus.shard_map(
        lambda x: lax.ppermute(x, axis, pairs), mesh=mesh, in_specs=P(axis), out_specs=P(axis)
    )
    each = olympus.jit(f).lower(array(64)).compile().cost_per_device()
    assert (each.sent, each.sent_by_all, each.total.sent) == (sent, by_all, by_all)


def test_of_branches_the_dearest_counts() -> None:
    def either(x):
        return lax.cond(x[0, 0] > 0, lambda x: x @ x, lambda x: x + 1.0, x)

    made = olympus.jit(either).lower(array()).compile()
    assert dict(made.cost_per_device().matmul_flops) == {"float32": PRODUCT}


def test_products_of_integers_are_no_flops() -> None:
    made = olympus.jit(lambda x: x @ x).lower(array(dtype="int32")).compile()
    each = made.cost_per_device()
    assert (each.flops, dict(each.matmul_flops)) == (0, {"int32": PRODUCT})
    assert each.repeated is None


# --- the program as written: what all devices do --------------------------------------------------


def mapped(body: Any, spec: Any, out: Any, **options: Any) -> Any:
    mesh = olympus.make_mesh((2, 4), ("data", "model"))
    return olympus.shard_map(body, mesh=mesh, in_specs=spec, out_specs=out, **options)


def test_the_body_of_a_shard_map_counts_for_all_devices() -> None:
    x = array(64, 64)
    whole = olympus.jit(lambda x: jnp.tanh(x) * 2.0).lower(x).cost()
    cut = olympus.jit(mapped(lambda x: jnp.tanh(x) * 2.0, P("data", "model"), P("data", "model")))
    found = cut.lower(x).cost()
    for name in ("flops", "transcendentals", "bytes", "io_bytes"):
        wanted = getattr(whole, name)
        # the factor 2.0 is read once by each device, as it is written
        assert abs(getattr(found, name) - wanted) <= 64 * 8, name
    assert found.flops == whole.flops
    assert sum(row.flops for row in found.by("line")) == found.flops
    assert cut.lower(x).compile().cost_per_device().repeated == 1


def test_the_axes_that_are_not_mapped_over_are_whole_in_the_body() -> None:
    x = array(64, 64)

    def body(x):
        return jnp.tanh(x)

    partly = mapped(body, P("data"), P("data"), axis_names={"data"})
    assert olympus.jit(partly).lower(x).cost().transcendentals == 64 * 64
    all_same = mapped(body, P("data"), P("data"))  # along model each device does it all
    assert olympus.jit(all_same).lower(x).cost().transcendentals == 4 * 64 * 64


def test_nested_maps_and_loops_multiply() -> None:
    mesh = olympus.make_mesh((2, 4), ("data", "model"))

    def inner(x):
        return lax.fori_loop(0, 3, lambda _, c: jnp.tanh(c), x)

    def outer(x):
        nested = olympus.shard_map(
            inner, mesh=mesh, in_specs=P(None, "model"), out_specs=P(None, "model"),
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
def test_a_mesh_may_stand_where_it_is_used(named: bool) -> None:
    text = INLINE
    if named:  # a name that is not the usual one, after another mesh
        text = text.replace('mesh<["x"=4, "y"=2]>', "@grid.1")
        meshes = 'sdy.mesh @other = <["x"=2]>\n  sdy.mesh @grid.1 = <["x"=4, "y"=2]>\n'
        text = text.replace("@inline {", f"@inline {{\n  {meshes}")
    cost = cost_of_module(mlir.ir.Module.parse(text, mlir.new_context()))
    assert cost.transcendentals == 8 * 4


def test_a_mesh_of_more_devices_than_there_can_be_is_refused() -> None:
    axes = ", ".join(f'"{name}"={2**62}' for name in "xy")
    text = INLINE.replace('"x"=4, "y"=2', axes).replace('[{"x"}, {}]', "[{}, {}]")
    text = text.replace('{"x"}', '{"x", "y"}').replace("tensor<2x4xf32>", "tensor<8x4xf32>")
    with pytest.raises(ArtifactError, match="more than 30 digits"):
        cost_of_module(mlir.ir.Module.parse(text, mlir.new_context()))


# --- memory ---------------------------------------------------------------------------------------


def test_memory_in_total() -> None:
    made = compiled(product, (P("data"), P()), P("data"))
    memory = made.memory()
    assert memory.devices == 8
    assert memory.arguments == N * N * 4 // 2 + N * N * 4
    for name, size in vars(memory.total).items():
        own = getattr(memory, name)
        assert size == (None if own is None else 8 * own)
    assert memory.total.arguments == 4 * N * N * 4 + 8 * N * N * 4  # as often as it is there


# --- collectives by axis --------------------------------------------------------------------------


def test_collectives_are_summed_by_their_axes() -> None:
    def found(axes: Any, size: int, calls: int = 1) -> Collective:
        return Collective("all-reduce", axes, 2, size, size // 2, calls, None, "psum", 0.5 * calls)

    rows = by_axes([found(("a",), 8), found(("a", "b"), 4, 9), found(("a",), 2, 3), found(None, 1)])
    assert rows == (
        AxisTraffic(("a", "b"), 9, 36, 18, 4.5),
        AxisTraffic(("a",), 4, 14, 7, 2.0),
        AxisTraffic(None, 1, 1, 0, 0.5),
    )
    assert by_axes(()) == ()


def test_the_sums_are_those_of_the_program() -> None:
    def step(x, w):
        return jnp.tanh(x @ w).sum()

    made = compiled(step, (P("data", "model"), P("model")), P())
    rows = by_axes(made.collectives())
    each = made.cost_per_device()
    assert sum(row.bytes for row in rows) == each.collective_bytes > 0
    assert sum(row.sent for row in rows) == each.sent > 0
