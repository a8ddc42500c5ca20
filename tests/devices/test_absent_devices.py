"""Programs of several devices are compiled for GPUs that are not here, and refused to be run."""

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
    """The layer, data-parallel over the axis `data` and tensor-parallel over `model`."""
    specs = P("data"), P(None, "model"), P("model")
    return olympus.jit(layer, in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs))


def compiled(mesh, name, **options):
    return split(mesh).trace(*SHAPES).lower(olympus.target("gpu", name), **options).compile()


@needs_gpu_compiler
@pytest.mark.parametrize(("name", "sizes"), [("8xh200", (2, 4)), ("2x8xh200", (2, 8))])
def test_figures_are_those_of_one_device(name, sizes):
    made = compiled(AbstractMesh(sizes, ("data", "model")), name)
    assert made.num_devices == np.prod(sizes)
    assert f"num_partitions={np.prod(sizes)}" in made.as_text()
    memory, whole = made.memory(), [np.prod(s.shape) * 4 for s in SHAPES]
    assert memory.arguments == whole[0] // 2 + whole[1] // sizes[1] + whole[2] // sizes[1]
    assert memory.results == 64 // 2 * 128 * 4
    assert memory.peak >= memory.arguments + memory.results
    assert made.estimate().seconds > 0
    (x, up, _), _ = made.input_shardings
    assert (x.spec, up.spec, made.output_shardings.spec[0]) == (
        P("data"),
        P(None, "model"),
        "data",
    )
    assert up.shard_shape((128, 256)) == (128, 256 // sizes[1])


@needs_gpu_compiler
def test_without_a_topology_there_is_one_host():
    made = compiled(AbstractMesh((2, 2), ("data", "model")), "h200")
    assert made.num_devices == 4
    with pytest.raises(ShardingError, match=r"'layer' is a program of 4 devices, and the topology"):
        compiled(AbstractMesh((2, 2), ("data", "model")), "2xh200")


@needs_gpu_compiler
def test_a_mesh_of_devices_that_are_not_here():
    target = olympus.target("gpu", "4xa100-80")
    devices = topology_devices(target)
    assert devices == topology_devices(olympus.target("gpu", "a100-80", topology="1x4"))
    mesh = Mesh(np.array(devices).reshape(2, 2), ("data", "model"))
    lowered = split(mesh).lower(*SHAPES)
    assert lowered.target == target
    made = lowered.compile()
    assert made.output_shardings.mesh == mesh
    arrays = [np.zeros(s.shape, np.float32) for s in SHAPES]
    for run in (made, split(mesh)):
        with pytest.raises(BackendError, match="cannot run"):
            run(*arrays)
    with pytest.raises(BackendError, match="cannot be put on a100-80: the device is not here"):
        olympus.device_put(arrays[0], NamedSharding(mesh, P("data")))
    traced = split(mesh).trace(*SHAPES)
    for other, message in (
        (olympus.target("cpu"), "lowered for cpu, and its mesh has devices of the gpu"),
        (olympus.target("gpu", "h200"), "is for h200, and its mesh has other devices: NVIDIA A100"),
        (olympus.target("gpu", "2x4xa100-80"), "the topology 2x4, and its mesh has devices of 1x4"),
    ):
        with pytest.raises(ShardingError, match=message):
            traced.lower(other).compile()


@needs_gpu_compiler
def test_the_devices_of_the_cpu_stand_for_those_of_a_target():
    target = olympus.target("gpu", "8xh200")
    there = topology_devices(target)
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [5, 4, 7, 6]):
        devices = np.array([olympus.devices()[i] for i in order]).reshape(2, -1)
        made = compiled(Mesh(devices, ("data", "model")), "8xh200")
        numbers = [sorted(order).index(i) for i in order]
        assert [d.id for d in made.output_shardings.mesh.flat_devices] == numbers
        assert set(made.output_shardings.mesh.flat_devices) <= set(there)
        (x, _, _), _ = made.input_shardings
        assert x == NamedSharding(made.output_shardings.mesh, P("data"))
    abstract = compiled(AbstractMesh((2, 4), ("data", "model")), "8xh200")
    concrete = compiled(olympus.make_mesh((2, 4), ("data", "model")), "8xh200")
    assert abstract.as_text() == concrete.as_text()
    with pytest.raises(ShardingError, match="is a program of 8 devices, and the topology 1x4"):
        compiled(olympus.make_mesh((2, 4), ("data", "model")), "4xh200")


@needs_gpu_compiler
def test_an_array_that_lies_on_the_cpu_is_for_no_gpu():
    lone = SingleDeviceSharding(olympus.devices()[3])
    x = olympus.ShapeDtypeStruct((8,), np.dtype("float32"), sharding=lone)
    with pytest.raises(ShardingError, match="its arrays are on devices of the cpu"):
        olympus.jit(jnp.sin).trace(x).lower(olympus.target("gpu", "h200")).compile()


@needs_gpu_compiler
def test_a_program_of_one_device_is_the_same_on_a_topology():
    lone = olympus.jit(layer).trace(*SHAPES)
    one, many = (lone.lower(olympus.target("gpu", n)).compile() for n in ("h200", "8xh200"))
    assert one.serialize() == many.serialize()
    assert many.num_devices == 1


def test_only_gpus_have_devices_that_are_not_here():
    with pytest.raises(UsageError, match="names no GPU to compile for"):
        topology_devices(olympus.target("cpu"))
