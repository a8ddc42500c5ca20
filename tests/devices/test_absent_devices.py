"""Programs for several GPUs are compiled without the GPUs, and cannot be called."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import BackendError, ShardingError, UsageError
from olympus.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    topology_devices,
)
from tests.marks import needs_gpu_compiler

P = PartitionSpec
SHAPES = [
    olympus.ShapeDtypeStruct(shape, np.dtype("float32"))
    for shape in ((64, 128), (128, 256), (256, 128))
]


def layer(x, up, down):
    return jnp.tanh(x @ up) @ down


def split(mesh):
    """Return the layer, data-parallel over the axis `data` and tensor-parallel over `model`."""
    specs = P("data"), P(None, "model"), P("model")
    return olympus.jit(layer, in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs))


def compiled(mesh, name, **options):
    return split(mesh).trace(*SHAPES).lower(olympus.target("gpu", name), **options).compile()


@needs_gpu_compiler
@pytest.mark.parametrize(("name", "sizes"), [("8xh200", (2, 4)), ("2x8xh200", (2, 8))])
def test_the_figures_are_those_of_one_device(name, sizes):
    program = compiled(AbstractMesh(sizes, ("data", "model")), name)
    assert program.num_devices == np.prod(sizes)
    assert f"num_partitions={np.prod(sizes)}" in program.as_text()
    memory, sizes_in_bytes = program.memory(), [np.prod(s.shape) * 4 for s in SHAPES]
    assert (
        memory.arguments
        == sizes_in_bytes[0] // 2 + sizes_in_bytes[1] // sizes[1] + sizes_in_bytes[2] // sizes[1]
    )
    assert memory.results == 64 // 2 * 128 * 4
    assert memory.peak >= memory.arguments + memory.results
    assert program.estimate().seconds > 0
    (x, up, _), _ = program.input_shardings
    assert (x.spec, up.spec, program.output_shardings.spec[0]) == (
        P("data"),
        P(None, "model"),
        "data",
    )
    assert up.shard_shape((128, 256)) == (128, 256 // sizes[1])


@needs_gpu_compiler
def test_a_target_without_a_topology_has_one_host():
    program = compiled(AbstractMesh((2, 2), ("data", "model")), "h200")
    assert program.num_devices == 4
    with pytest.raises(ShardingError, match=r"'layer' is a program of 4 devices, and the topology"):
        compiled(AbstractMesh((2, 2), ("data", "model")), "2xh200")


@needs_gpu_compiler
def test_a_mesh_may_have_devices_that_are_not_attached():
    target = olympus.target("gpu", "4xa100-80")
    devices = topology_devices(target)
    assert devices == topology_devices(olympus.target("gpu", "a100-80", topology="1x4"))
    mesh = Mesh(np.array(devices).reshape(2, 2), ("data", "model"))
    lowered = split(mesh).lower(*SHAPES)
    assert lowered.target == target
    program = lowered.compile()
    assert program.output_shardings.mesh == mesh
    arrays = [np.zeros(s.shape, np.float32) for s in SHAPES]
    for run in (program, split(mesh)):
        with pytest.raises(BackendError, match="cannot run"):
            run(*arrays)
    with pytest.raises(BackendError, match="cannot be put on a100-80: the device is not here"):
        olympus.device_put(arrays[0], NamedSharding(mesh, P("data")))
    traced = split(mesh).trace(*SHAPES)
    for other_target, message in (
        (olympus.target("cpu"), "lowered for cpu, and its mesh has devices of the gpu"),
        (olympus.target("gpu", "h200"), "is for h200, and its mesh has other devices: NVIDIA A100"),
        (olympus.target("gpu", "2x4xa100-80"), "the topology 2x4, and its mesh has devices of 1x4"),
    ):
        with pytest.raises(ShardingError, match=message):
            traced.lower(other_target).compile()


@needs_gpu_compiler
def test_devices_of_the_cpu_are_replaced_by_those_of_the_target():
    target = olympus.target("gpu", "8xh200")
    gpus = topology_devices(target)
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [5, 4, 7, 6]):
        devices = np.array([olympus.devices()[i] for i in order]).reshape(2, -1)
        program = compiled(Mesh(devices, ("data", "model")), "8xh200")
        numbers = [sorted(order).index(i) for i in order]
        assert [d.id for d in program.output_shardings.mesh.flat_devices] == numbers
        assert set(program.output_shardings.mesh.flat_devices) <= set(gpus)
        (x, _, _), _ = program.input_shardings
        assert x == NamedSharding(program.output_shardings.mesh, P("data"))
    abstract = compiled(AbstractMesh((2, 4), ("data", "model")), "8xh200")
    concrete = compiled(
        olympus.make_mesh((2, 4), ("data", "model"), olympus.sharding.AxisType.Auto), "8xh200"
    )
    assert abstract.as_text() == concrete.as_text()
    with pytest.raises(ShardingError, match="is a program of 8 devices, and the topology 1x4"):
        compiled(
            olympus.make_mesh((2, 4), ("data", "model"), olympus.sharding.AxisType.Auto), "4xh200"
        )


@needs_gpu_compiler
def test_an_array_on_the_cpu_is_refused_for_a_gpu():
    sharding = SingleDeviceSharding(olympus.devices()[3])
    x = olympus.ShapeDtypeStruct((8,), np.dtype("float32"), sharding=sharding)
    with pytest.raises(ShardingError, match="its arrays are on devices of the cpu"):
        olympus.jit(jnp.sin).trace(x).lower(olympus.target("gpu", "h200")).compile()


@needs_gpu_compiler
def test_a_program_for_one_device_is_the_same_on_a_topology():
    traced = olympus.jit(layer).trace(*SHAPES)
    for_one, for_topology = (
        traced.lower(olympus.target("gpu", n)).compile() for n in ("h200", "8xh200")
    )
    assert for_one.serialize() == for_topology.serialize()
    assert for_topology.num_devices == 1


def test_only_a_target_with_a_device_has_topology_devices():
    with pytest.raises(UsageError, match="names no device to compile for"):
        topology_devices(olympus.target("cpu"))
