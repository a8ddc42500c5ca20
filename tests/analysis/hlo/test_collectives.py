"""The collectives of programs: their devices, bytes, source lines and times."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ArtifactError, UsageError
from olympus.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from olympus_core import xla
from olympus_core.analysis.cost.cost import cost_of_module
from olympus_core.analysis.hlo.collectives import collectives_of
from olympus_core.analysis.hlo.kernels import Kernel, Transfer
from olympus_core.analysis.hlo.machines import GpuMachine
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.hlo.replica_groups import groups_of, pairs_of
from olympus_core.xla.proto.wire import Message
from olympus_core.xla.targets.device_models import shipped_devices
from olympus_core.xla.targets.targets import Topology
from tests.marks import needs_gpu_compiler

P = PartitionSpec
H200 = shipped_devices()["h200"]
HERE = f"{os.path.splitext(__file__)[0]}.py"


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [olympus.ShapeDtypeStruct(shape, np.dtype("float32")) for shape in shapes]


def lowered(
    f: Any, mesh: AbstractMesh, specs: list[Any], out: Any, shapes: Any, target: Any = None
):
    ins = tuple(NamedSharding(mesh, spec) for spec in specs)
    jitted = olympus.jit(f, in_shardings=ins, out_shardings=NamedSharding(mesh, out))
    return jitted.trace(*arrays(*shapes)).lower(target)


def product(x: Any, w: Any) -> Any:
    return x @ w


def line_of(f: Any, after: int = 1) -> str:
    return f"{HERE}:{f.__code__.co_firstlineno + after}"


MESH = AbstractMesh((2, 2, 2), ("a", "b", "c"))


@pytest.mark.parametrize(
    ("specs", "out", "kind", "axes", "devices", "size", "sent"),
    [
        ([P(None, "b"), P("b")], P(), "all-reduce", ("b",), 2, 32 * 8, 32 * 8),
        ([P(None, ("c", "a")), P(("c", "a"))], P(), "all-reduce", ("a", "c"), 4, 256, 384),
        ([P("a"), P()], P(), "all-gather", ("a",), 2, 256, 128),
    ],
)
def test_a_collective_has_its_axes_bytes_and_line(specs, out, kind, axes, devices, size, sent):
    program = lowered(product, MESH, specs, out, [(8, 16), (16, 8)]).compile()
    (collective,) = program.collectives()
    assert (collective.kind, collective.axes, collective.devices) == (kind, axes, devices)
    assert (collective.bytes, collective.sent, collective.calls) == (size, sent, 1)
    assert collective.line == line_of(product)
    assert collective.lines == ((collective.line, size),)
    assert collective.seconds > 0
    kernels = [k for k in program.estimate().kernels if k.name.startswith(kind)]
    assert [k.seconds for k in kernels] == [collective.seconds]


def test_a_loop_counts_its_trips():
    def steps(x, w):
        return lax.fori_loop(0, 7, lambda _, h: jnp.tanh(h @ w), x)

    program = lowered(steps, MESH, [P(), P("a", "b")], P(), [(8, 16), (16, 16)]).compile()
    collectives = program.collectives()
    calls = {collective.calls for collective in collectives}
    assert 7 in calls <= {1, 7}  # XLA hoists the loop-invariant ones
    assert {
        axis for collective in collectives if collective.calls == 7 for axis in collective.axes
    } >= {"b"}


EXPLICIT = """
module @explicit {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<64x16xf32>) -> tensor<16x16xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
        out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x", "y"} (%b: tensor<16x16xf32>) {
      %1 = "stablehlo.all_reduce"(%b) ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %2 = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) {replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          use_global_device_ids} : (tensor<16x16xf32>) -> tensor<16x16xf32>
      sdy.return %1 : tensor<16x16xf32>
    } : (tensor<64x16xf32>) -> tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  }
}
"""


def test_the_cost_counts_the_bytes_of_explicit_collectives():
    program = xla.compile(EXPLICIT.encode(), xla.target("cpu"), None, olympus.devices()[:8])
    mesh = AbstractMesh((4, 2), ("x", "y"))
    (collective,) = collectives_of(program.hlo_module(), program.target, 8, [mesh])
    assert (collective.axes, collective.devices, collective.sent) == (
        ("x",),
        4,
        16 * 16 * 4 * 6 // 4,
    )
    cost = cost_of_module(mlir.ir.Module.parse(EXPLICIT, mlir.new_context()))
    assert collective.bytes == 16 * 16 * 4
    assert cost.collective_bytes == 8 * collective.bytes  # of all devices


def losses(ws: Any, x: Any) -> Any:
    x = jnp.tanh(x @ ws[0])
    x = jnp.tanh(x @ ws[1])
    return (x @ ws[2]).sum()


@pytest.mark.parametrize("target", ["cpu", pytest.param("gpu", marks=needs_gpu_compiler)])
def test_a_combined_collective_has_the_bytes_of_each_source_line(target):
    mesh = AbstractMesh((8,), ("data",))
    shapes = [(16, 64), (64, 16), (16, 4)]
    weights = [
        olympus.ShapeDtypeStruct(shape, np.dtype("float32"), sharding=NamedSharding(mesh, P()))
        for shape in shapes
    ]
    x = olympus.ShapeDtypeStruct((64, 16), np.dtype("float32"),
                                 sharding=NamedSharding(mesh, P("data")))  # fmt: skip
    step = olympus.jit(olympus.grad(losses), out_shardings=NamedSharding(mesh, P()))
    device = olympus.target("gpu", "8xh200") if target == "gpu" else None
    collectives = step.trace(weights, x).lower(device).compile().collectives()
    sums: dict[str | None, int] = {}
    for collective in collectives:
        assert sum(part.bytes for part in collective.lines) == collective.bytes
        for part in collective.lines:
            sums[part.line] = sums.get(part.line, 0) + part.bytes
    assert sums == {line_of(losses, i + 1): 4 * a * b for i, (a, b) in enumerate(shapes)}
    assert len(collectives) < len(shapes)  # they are combined


GRID = (2, 4), ("data", "model")


@pytest.mark.parametrize("kind", [olympus.make_mesh, AbstractMesh])
def test_axes_of_the_mesh_of_a_shard_map_are_named(kind):
    mesh = kind(*GRID, axis_types=(AxisType.Auto,) * 2)
    f = olympus.shard_map(
        lambda x: lax.psum(x, "model"), mesh=mesh, in_specs=P("data", "model"), out_specs=P("data")
    )
    program = olympus.jit(f).lower(*arrays((8, 8))).compile()
    assert [collective.axes for collective in program.collectives()] == [("model",)]
    assert program.input_shardings[0][0].spec == P("data", "model")


def test_axes_are_those_of_the_mesh_that_matches_the_groups():
    first, second = AbstractMesh((2, 4), ("a", "b")), AbstractMesh((4, 2), ("c", "d"))

    def mapped_twice(x):
        for mesh, name in ((first, "a"), (second, "c")):
            x = olympus.shard_map(
                lambda x, n=name: x + lax.pmean(x, n),
                mesh=mesh, in_specs=P(name), out_specs=P(name),
            )(x)  # fmt: skip
        return x

    program = lowered(mapped_twice, first, [P("a")], P(), [(64,)]).compile()
    axes = {
        collective.axes for collective in program.collectives() if collective.kind == "all-reduce"
    }
    assert axes == {("a",), ("c",)}


def test_a_program_for_one_device_has_no_collectives():
    program = olympus.jit(product).trace(*arrays((8, 16), (16, 8))).lower().compile()
    assert program.collectives() == ()


@needs_gpu_compiler
def test_a_collective_between_hosts_is_bound_by_the_network():
    mesh = AbstractMesh((2, 8), ("hosts", "gpus"))
    target = olympus.target("gpu", "2x8xh200")
    programs = {}
    for axis in mesh.axis_names:
        shapes = [(4096, 4096), (4096, 4096)]
        programs[axis] = lowered(
            product, mesh, [P(None, axis), P(axis)], P(), shapes, target
        ).compile()
    size = 4096 * 4096 * 4
    (between,), (within,) = (program.collectives() for program in programs.values())
    assert (within.kind, within.axes, within.devices, within.bytes) == (
        "all-reduce",
        ("gpus",),
        8,
        size,
    )
    assert within.seconds == pytest.approx(size * 2 * 7 / 8 / (0.8 * H200.nvlink))
    assert between.axes == ("hosts",)
    assert between.seconds == pytest.approx(size / (0.92 * 50e9))
    assert programs["hosts"].collectives(network=25e9)[0].seconds == pytest.approx(
        2 * between.seconds
    )
    assert programs["gpus"].collectives(network=25e9) == (within,)
    estimate = programs["hosts"].estimate(network=25e9)
    assert max(estimate.kernels, key=lambda k: k.seconds).bound == "network"
    assert any("25 GB/s" in note for note in estimate.assumptions)
    for wrong in (0, -1.0, float("nan"), float("inf"), "fast", True):
        with pytest.raises(UsageError, match="the network's rate is bytes a second"):
            programs["hosts"].estimate(network=wrong)


def test_bytes_that_a_device_sends_in_a_ring():
    groups = ((0, 1, 2, 3), (4, 5, 6, 7))
    sent = {
        kind: Transfer(kind, 1000, groups, ()).sent(8)
        for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    }
    assert sent == {
        "all-reduce": 1500,
        "all-gather": 750,
        "reduce-scatter": 750,
        "all-to-all": 750,
    }
    # without groups, all devices are one group
    assert Transfer("all-reduce", 1000, (), ()).sent(8) == 1750
    assert Transfer("all-reduce", 1000, ((0,), (1,)), ()).sent(2) == 0
    assert Transfer("collective-permute", 1000, (), ((0, 1), (1, 0))).sent(2) == 1000
    assert Transfer("collective-permute", 1000, (), ((0, 0),)).sent(2) == 0


def test_bytes_that_all_devices_send():
    def by_all(kind: str, groups: Any, pairs: Any = ()) -> int:
        return Transfer(kind, 1200, groups, pairs).sent_by_all(8)

    assert by_all("all-reduce", ()) == 8 * 1200 * 14 // 8
    assert by_all("all-gather", ((0, 1, 2), (3, 4))) == 3 * 800 + 2 * 600  # groups of two sizes
    assert by_all("collective-broadcast", ((0, 1, 2, 3),)) == 3 * 1200
    assert by_all("collective-permute", (), ((0, 1), (2, 2))) == 1200


def test_bytes_that_a_device_sends_to_other_hosts():
    def outside(kind: str, groups: Any, pairs: Any = ()) -> int:
        return Transfer(kind, 1600, groups, pairs).sent_outside(4, 8)

    every = (tuple(range(8)),)
    assert outside("all-reduce", ()) == outside("all-reduce", every) == 1600 * 14 // 8 // 4
    # each of the rings leaves through a different device
    assert outside("all-gather", every) == 1600 * 7 // 8 // 4
    # the parts for the four devices of the other host
    assert outside("all-to-all", every) == 1600 * 4 // 8
    assert outside("all-reduce", ((0, 1, 2, 3), (4, 5, 6, 7))) == 0
    assert outside("all-reduce", ((0, 4), (1, 5), (2, 6), (3, 7))) == 1600
    # one device alone on its host
    assert outside("all-reduce", ((0, 1, 2, 4), (3, 5, 6, 7))) == 1600 * 6 // 4
    assert outside("collective-permute", (), ((0, 1), (1, 0))) == 0
    assert outside("collective-permute", (), ((3, 4),)) == 1600


def test_a_collective_is_bound_by_the_slower_of_links_and_network():
    machine = GpuMachine(H200, Topology(2, 8), 16)
    limits = {}
    for name, groups in {"all": (), "host": ((*range(8),), (*range(8, 16),))}.items():
        transfer = Transfer("all-reduce", 10**9, groups, ())
        kernel = Kernel(
            "k", "psum", "", None, 0, {}, 0, 0, 0, None, 0, False, False, None, transfer
        )
        limits[name] = machine.limits(kernel).network
    within = 10**9 * 14 / 8 / (0.8 * H200.nvlink)
    assert limits["host"] == pytest.approx(within)
    assert limits["all"] == pytest.approx(10**9 * 30 / 16 / (0.8 * H200.nvlink))
    slow = GpuMachine(H200, Topology(2, 8), 16, network=1e9).limits(kernel).network
    assert slow == pytest.approx(within)  # no byte leaves a host


@pytest.mark.parametrize(
    ("device", "topology", "count", "expected"),
    [
        ("h200", Topology(1, 99), 99, ["The host has 99 of h200, and 8 at most"]),
        ("h200", Topology(1, 8), 8, []),
        ("h200", None, 16, ["The host has 16 of h200"]),
        ("gb200", Topology(1, 72), 72, []),
        ("h200", Topology(2, 8), 8, ["The program uses the first 8 of the 16 devices of 2x8."]),
        ("h200", Topology(2, 8), 16, []),
    ],
)
def test_an_unusual_or_partly_used_topology_is_an_assumption(device, topology, count, expected):
    assumptions = GpuMachine(shipped_devices()[device], topology, count).assumptions()
    notes = [note for note in assumptions if note.startswith(("The host has", "The program uses"))]
    assert len(notes) == len(expected)
    assert all(a.startswith(b) for a, b in zip(notes, expected, strict=True))


def test_a_device_without_links_sends_over_its_bus():
    t4 = shipped_devices()["t4"]
    assert t4.nvlink is None
    assert any("PCIe has each way" in a for a in GpuMachine(t4, count=2).assumptions())


# The three forms of groups in protobuf, where the key of a field is its number * 8 + its type.


def field(number: int, content: bytes) -> bytes:
    key = number * 8 + 2
    head = bytes([key]) if key < 128 else bytes([key % 128 + 128, key // 128])
    return head + bytes([len(content)]) + content


def axis(name: bytes, size: int) -> bytes:
    return field(1, field(1, name) + bytes([16, size]))


def test_groups_are_read_from_a_list():
    listed = field(87, field(1, field(1, bytes([0, 1]))) + field(1, field(1, bytes([2, 3]))))
    assert groups_of(Message(listed)) == ((0, 1), (2, 3))
    assert groups_of(Message(field(49, field(1, bytes([1, 0]))))) == ((1, 0),)
    assert groups_of(Message(b"")) == ()
    assert pairs_of(Message(field(52, bytes([8, 2, 16, 3])))) == ((2, 3),)


def test_groups_are_read_from_a_grid():
    grid = bytes([8, 4, 16, 2]) + field(3, bytes([4, 2])) + field(4, bytes([1, 0]))
    assert groups_of(Message(field(92, grid))) == ((0, 2), (4, 6), (1, 3), (5, 7))
    assert groups_of(Message(field(87, field(2, grid)))) == ((0, 2), (4, 6), (1, 3), (5, 7))


def test_groups_are_read_from_axes_of_a_mesh():
    mesh = field(1, axis(b"x", 4) + axis(b"y", 2))
    assert groups_of(Message(field(93, mesh + field(2, bytes([8, 1]))))) == (
        (0, 1),
        (2, 3),
        (4, 5),
        (6, 7),
    )
    # the minor half of the axis x, and devices in another order
    half = field(2, field(2, bytes([8, 2, 16, 2])))
    assert groups_of(Message(field(93, mesh + half))) == ((0, 2), (1, 3), (4, 6), (5, 7))
    order = field(3, field(1, bytes([2, 2, 2])) + field(2, bytes([0, 2, 1])))
    turned = field(1, axis(b"x", 4) + axis(b"y", 2) + order)
    assert groups_of(Message(field(93, turned + field(2, bytes([8, 1])))))[0] == (0, 2)


@pytest.mark.parametrize(
    "content",
    [
        field(92, bytes([8, 4, 16, 2]) + field(3, bytes([4, 3]))),
        field(92, bytes([8, 4, 16, 2])),
        field(92, bytes([8, 4, 16, 2]) + field(3, bytes([4, 2])) + field(4, bytes([1, 1]))),
        field(92, bytes([8, 1, 16, 1]) + field(3, bytes([255] * 4 + [1] + [255] * 4 + [1]))),
        field(93, field(2, bytes([8, 1]))),
        field(93, field(1, axis(b"x", 4)) + field(2, field(2, bytes([8, 3, 16, 2])))),
    ],
)
def test_damaged_groups_are_refused(content):
    with pytest.raises(ArtifactError):
        groups_of(Message(content))
