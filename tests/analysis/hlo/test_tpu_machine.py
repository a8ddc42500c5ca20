"""Estimates of time on TPUs: units, memory, and collectives on rings and lines."""

from __future__ import annotations

import dataclasses
import math

import pytest

import olympus
import olympus.numpy as np
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.analysis.hlo.kernels import Transfer
from olympus_core.analysis.hlo.torus_routes import hops, route
from olympus_core.analysis.hlo.tpu_machine import TpuMachine
from olympus_core.xla import full_topology, shipped_tpus, target
from tests.analysis.hlo.estimated import compiled, shape
from tests.marks import needs_tpu_compiler

SIZE = 2**30  # bytes
LATENCY = 1e-4  # seconds: more than that of all hops


def machine(name: str) -> TpuMachine:
    place = target("tpu", name)
    torus = full_topology(place)
    return TpuMachine(shipped_tpus()[place.device], torus, torus.num_devices)


def seconds(name: str, kind: str, groups=(), pairs=(), size=SIZE) -> float:
    return machine(name).seconds_of(Transfer(kind, size, groups, pairs))


def link(name: str) -> float:
    return TpuMachine.LINKS * shipped_tpus()[name].ici


# The chips of v6e:16x16 along its first and its second axis, in row-major order.
FIRST = tuple(tuple(range(column, 256, 16)) for column in range(16))
SECOND = tuple(tuple(range(16 * row, 16 * row + 16)) for row in range(16))


@pytest.mark.parametrize(
    ("name", "kind", "groups", "factor"),
    [
        # a ring sends both ways: the part of the others over two links
        ("v6e:16x16", "all-gather", SECOND, 15 / 16 / 2),
        ("v6e:16x16", "reduce-scatter", FIRST, 15 / 16 / 2),
        ("v6e:16x16", "all-reduce", SECOND, 2 * 15 / 16 / 2),
        ("v6e:16x16", "all-gather", (), 255 / 256 / 4),  # two rings
        ("v5p:4x4x4", "all-gather", (), 63 / 64 / 6),  # three rings
        ("v5p:4x4x4", "all-reduce", (), 2 * 63 / 64 / 6),
        ("v6e:4x4", "all-gather", (), 15 / 16 / 2),  # two lines without wrap-around links
        ("v6e:2x2", "all-gather", ((0, 1), (2, 3)), 1 / 2),
        ("v6e:8x16", "all-gather", SECOND[:8], 15 / 16 / 2),
        # chips that are not neighbours share links with other groups
        ("v6e:4x4", "all-gather", ((0, 2), (1, 3)), 1 / 2 * 2),
        # all-to-all: a quarter of an all-gather of the whole array
        ("v6e:16x16", "all-to-all", SECOND, 16 * 1 / 4 / 2),
        ("v6e:4x4", "all-to-all", ((0, 1, 2, 3),), 4 * 1 / 4),
    ],
)
def test_a_collective_uses_the_links_of_its_axes(name, kind, groups, factor):
    expected = factor * SIZE / link(name.partition(":")[0])
    assert seconds(name, kind, groups) == pytest.approx(expected, abs=LATENCY)


def test_a_permutation_takes_the_most_messages_on_a_link():
    one = seconds("v6e:16x16", "collective-permute", pairs=((0, 1), (1, 2)))
    assert one == pytest.approx(SIZE / link("v6e"), abs=LATENCY)
    around = seconds("v6e:16x16", "collective-permute", pairs=((15, 0),))
    assert around == one  # the wrap-around link
    ring = tuple((i, (i + 1) % 4) for i in range(4))
    assert seconds("v6e:4x4", "collective-permute", pairs=ring) == pytest.approx(one, abs=LATENCY)
    shifted = tuple((i, (i + 2) % 16) for i in range(16))  # a link has the messages of two chips
    assert seconds("v6e:16x16", "collective-permute", pairs=shifted) == pytest.approx(
        2 * one, abs=LATENCY
    )
    assert seconds("v6e:4x4", "collective-permute", pairs=((2, 2),)) == 0.0


def test_the_cores_of_a_chip_share_its_links():
    cores = tuple((core, core + 2) for core in (0, 1))  # of two chips, each core with its like
    alone = seconds("tpu7x:2x2x1", "all-gather", cores)
    whole = seconds("tpu7x:2x2x1", "all-gather", ((0, 1, 2, 3),))
    assert alone == pytest.approx(2 * whole, rel=0.01)
    assert seconds("tpu7x:2x2x1", "all-gather", ((0, 1),)) == 0.0  # within a chip


def test_a_twisted_torus_has_shorter_routes_and_a_faster_all_to_all():
    """The gain is that of even use of all links on shortest routes."""
    for sizes, gain in (("4x4x8", 1 / (3.4375 / 6)), ("4x8x8", 1 / (4.3125 / 6))):
        plain = seconds(f"v5p:{sizes}", "all-to-all")
        twisted = seconds(f"v5p:{sizes}_twisted", "all-to-all")
        assert plain / twisted == pytest.approx(gain, rel=0.01)
        gathered = [seconds(f"v5p:{sizes}{twist}", "all-gather") for twist in ("", "_twisted")]
        assert gathered[0] == pytest.approx(gathered[1], rel=0.01)  # all links either way
    column = (tuple(range(0, 128, 32)),)  # along the first axis, whose ring has 8 chips
    ring, line = (seconds(f"v5p:4x4x8{twist}", "all-gather", column) for twist in ("", "_twisted"))
    assert line == pytest.approx(2 * ring, rel=0.01)
    plane = (tuple(range(8)),)  # along the long axis, which is not twisted
    assert seconds("v5p:4x4x8_twisted", "all-gather", plane) == seconds(
        "v5p:4x4x8", "all-gather", plane
    )
    assert "twisted: an all-to-all" in " ".join(machine("v5p:4x4x8_twisted").assumptions())


@pytest.mark.parametrize("name", ["v5p:4x4x8_twisted", "v5p:4x8x8_twisted", "v5p:4x4x8", "v6e:4x8"])
def test_a_route_uses_as_few_links_as_there_are(name):
    torus = full_topology(target("tpu", name))
    least = {(0,) * len(torus.sizes): 0}
    front = [*least]
    for chip in front:  # breadth first
        for axis, size in enumerate(torus.sizes):
            for step in (1, -1):
                other = list(chip)
                other[axis] += step
                if not 0 <= other[axis] < size:
                    if not torus.wraps[axis]:
                        continue
                    if torus.is_twisted and size == 4:
                        pairs = zip(other, torus.sizes, strict=True)
                        other = [(x + 4) % 8 if n == 8 else x for x, n in pairs]
                    other[axis] %= size
                if tuple(other) not in least:
                    least[tuple(other)] = least[chip] + 1
                    front.append(tuple(other))
    assert len(least) == torus.num_chips
    for chip, count in least.items():
        links = [*route(torus, front[0], chip)]
        assert len(links) == count
        assert len({*links}) == count
    assert hops(torus) == (sum(least.values()) / len(least), max(least.values()))


def test_a_small_message_takes_the_time_of_its_hops():
    tiny = seconds("v6e:16x16", "all-gather", SECOND, size=128)
    assert tiny == pytest.approx(8 * TpuMachine.HOP, rel=0.01)
    assert seconds("v6e", "all-reduce", ((0,),)) == 0.0


def test_the_rate_of_a_product_depends_on_dtype_and_precision():
    tpu, rates = machine("v6e"), shipped_tpus()["v6e"].tensor_tflops
    assert tpu.product_rate("bfloat16") == tpu.product_rate("float32") == rates.bfloat16 * 1e12
    assert tpu.product_rate("int8") == rates.int8 * 1e12
    assert tpu.product_rate("float8_e4m3fn") == rates.float8 * 1e12
    assert [tpu._rate("float32", p)[0] for p in (1, 2)] == [
        rates.bfloat16 * 1e12 / 3,
        rates.bfloat16 * 1e12 / 6,
    ]


@needs_tpu_compiler
def test_the_estimate_of_large_kernels_is_close_to_that_of_the_compiler():
    n = 8192
    x = shape(n, n, dtype="bfloat16")
    product = compiled(lambda a, b: a @ b, x, x, target=target("tpu", "v5e"))
    times = product.estimate()
    assert (times.device, times.kernels[0].bound) == ("v5e", "compute")
    assert times.seconds == pytest.approx(2 * n**3 / (TpuMachine.PRODUCTS * 197e12), rel=0.01)
    assert times.seconds == pytest.approx(product.cost_analysis()["optimal_seconds"], rel=0.25)
    added = compiled(lambda a, b: a + b, x, x, target=target("tpu", "v5e"))
    assert added.estimate().kernels[0].bound == "memory"
    assert added.estimate().seconds == pytest.approx(
        added.cost_analysis()["optimal_seconds"], rel=0.25
    )


@needs_tpu_compiler
def test_a_program_for_a_torus_has_its_collectives_by_mesh_axis():
    mesh = AbstractMesh((2, 2), ("data", "model"))

    def sharding(*axes):
        return NamedSharding(mesh, PartitionSpec(*axes))

    n = 1024
    program = compiled(
        lambda x, w: (x @ w).sum(axis=0),
        shape(n, n, dtype="bfloat16"), shape(n, n, dtype="bfloat16"),
        in_shardings=(sharding("data", "model"), sharding("model")),
        out_shardings=sharding(),
        target=target("tpu", "v5e:2x2"),
    )  # fmt: skip
    assert program.num_devices == 4
    axes = {axis for each in program.collectives() for axis in each.axes}
    assert axes == {"data", "model"}
    times = program.estimate()
    assert "a mesh without wrap-around links" in " ".join(times.assumptions)
    assert any(kernel.bound == "network" for kernel in times.kernels)
    assert math.isclose(times.seconds, sum(kernel.seconds for kernel in times.kernels))
    with pytest.raises(olympus.errors.ShardingError, match="is a program of 4 devices"):
        compiled(
            lambda x: x.sum(), shape(n), in_shardings=sharding("data"), target=target("tpu", "v5e")
        )


@needs_tpu_compiler
def test_an_estimate_for_another_generation_names_the_compiled_one():
    program = compiled(lambda x: np.tanh(x), shape(1024, 1024), target=target("tpu", "v5e"))
    other = program.estimate("v6e")
    assert other.device == "v6e"
    assert "as compiled for v5e" in other.assumptions[-1]
    gpu = program.estimate("h200")
    assert gpu.device == "h200"


def test_a_tpu_without_a_rate_takes_that_of_bfloat16():
    model = shipped_tpus()["v2"]
    tpu = TpuMachine(model, full_topology(target("tpu", "v2")))
    kernel = dataclasses.make_dataclass("K", ["matmul"])({"int8": 1})
    assert "the rate of products in int8 is not known of v2" in tpu.missing(kernel)
