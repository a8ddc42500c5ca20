"""Programs are compiled for TPUs that are not attached, in silence and without the network."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

from olympus_core import xla
from olympus_core.base.errors import BackendError, DeviceMemoryError, UsageError
from olympus_core.xla.runtime import absent_devices, tpu
from tests.marks import needs_tpu_compiler

GENERATIONS = {
    "v2": "TPU v2",
    "v3": "TPU v3",
    "v4": "TPU v4",
    "v5e": "TPU v5 lite",
    "v5p": "TPU v5",
    "v6e": "TPU v6 lite",
    "tpu7x": "TPU7x",
}
SIZES = [4, 8, 16, 64, 256, 512]  # chips; a host has 4 or 8
TOO_LARGE = b"""
func.func public @main(%x: tensor<60000x600000xf32>) -> tensor<60000x600000xf32> {
  %y = stablehlo.add %x, %x : tensor<60000x600000xf32>
  %z = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<60000x600000xf32>) -> tensor<60000x600000xf32>
  return %z : tensor<60000x600000xf32>
}
"""


@pytest.fixture
def no_package(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(tpu, "installed", lambda name: None)
    monkeypatch.setattr(absent_devices.gpu._jax, "pjrt_plugin_loaded", lambda name: False)
    absent_devices.compile_only_devices.cache_clear()
    yield
    absent_devices.compile_only_devices.cache_clear()


def test_without_the_package_the_error_has_the_install_command_and_the_license(
    no_package, programs
):
    with pytest.raises(BackendError, match="its license is Google's terms") as caught:
        xla.compile(programs["muladd"], xla.target("tpu", "v6e"))
    assert caught.value.hint == "pip install 'olympus[tpu]'"
    assert caught.value.exit_code == 6
    status = xla.backends()[2]
    assert (status.name, status.available, status.install) == ("tpu", False, caught.value.hint)
    assert "libtpu" not in xla.versions()


def test_a_target_without_a_device_is_refused(programs):
    with pytest.raises(UsageError, match="for the tpu is compiled for a device") as caught:
        xla.compile(programs["muladd"], xla.target("tpu"))
    assert "v6e" in caught.value.hint


def test_a_machine_without_a_tpu_has_no_devices():
    with pytest.raises(BackendError, match="this machine has no TPU to run on"):
        xla.devices("tpu")


@needs_tpu_compiler
@pytest.mark.parametrize("name", GENERATIONS)
def test_a_program_compiles_for_every_generation(name, programs):
    executable = xla.compile(programs["muladd"], xla.target("tpu", name))
    assert executable.hlo_module().is_scheduled
    assert len(executable.serialize()) > 1000
    (first, *_) = xla.topology_devices(xla.target("tpu", name))
    assert first.device_kind == GENERATIONS[name]
    with pytest.raises(BackendError, match=f"compiled for {name} and cannot run here"):
        executable.execute([])


@needs_tpu_compiler
@pytest.mark.parametrize("name", GENERATIONS)
def test_a_topology_has_its_devices(name):
    model = xla.shipped_tpus()[name]
    for torus in xla.topologies(model):
        devices = xla.topology_devices(xla.target("tpu", torus.of(name)))
        assert len({*xla.positions_of(devices)}) == len(devices) == torus.num_devices
    if model.cube:
        assert len(xla.topology_devices(xla.target("tpu", f"{name}:4x4x8_twisted"))) >= 128


@needs_tpu_compiler
@pytest.mark.night
@pytest.mark.parametrize("chips", SIZES)
@pytest.mark.parametrize("name", GENERATIONS)
def test_a_program_of_many_devices_compiles(name, chips):
    if chips not in {torus.num_chips for torus in xla.topologies(xla.shipped_tpus()[name])}:
        with pytest.raises(UsageError, match=f"no topology of {chips} chips"):
            xla.target("tpu", f"{chips}x{name}")
        return
    target = xla.target("tpu", f"{chips}x{name}")
    count = target.topology.num_devices
    program = f"""
module attributes {{mhlo.num_partitions = {count} : i32}} {{
sdy.mesh @mesh = <["d"={count}]>
func.func public @main(
    %x: tensor<{count}x128xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"d"}}, {{}}]>}}
) -> tensor<128xf32> {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<{count}x128xf32>, tensor<f32>) -> tensor<128xf32>
  return %y : tensor<128xf32>
}}
}}"""
    executable = xla.compile(program.encode(), target, grid=xla.mesh_devices(target, (count,)))
    assert "all-reduce" in executable.hlo_text(metadata=False)


@needs_tpu_compiler
def test_a_program_that_does_not_fit_is_an_error_with_the_missing_amount():
    with pytest.raises(DeviceMemoryError) as caught:
        xla.compile(TOO_LARGE, xla.target("tpu", "v6e"))
    message = str(caught.value)
    assert "does not fit the memory of its device: it needs " in message
    assert "GiB more than the 31.24 GiB of the device" in message
    assert "RESOURCE_EXHAUSTED" not in message and "E1000" not in message
    assert caught.value.exit_code == 4


@needs_tpu_compiler
@pytest.mark.parametrize("name", GENERATIONS)
def test_the_memory_in_the_table_is_what_the_compiler_reports(name):
    with pytest.raises(DeviceMemoryError) as caught:
        xla.compile(TOO_LARGE, xla.target("tpu", name))
    memory = xla.shipped_tpus()[name].memory
    assert f"the {memory / 2**30:.2f} GiB of the device" in str(caught.value)


COMPILE = """
import ctypes, os, sys
from olympus_core import xla
ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # a user and a network of its own, if allowed
before = dict(os.environ)
executable = xla.compile({program!r}, xla.target("tpu", "v5e"))
assert dict(os.environ) == before
print(executable.memory().argument_size_in_bytes > 0, "jax" in sys.modules)
"""


@needs_tpu_compiler
def test_several_processes_compile_in_silence_without_network_and_files(programs, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in tpu.VARIABLES}
    command = [sys.executable, "-c", COMPILE.format(program=programs["muladd"])]
    processes = [
        subprocess.Popen(
            command,
            env={**environment, "TMPDIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.communicate(timeout=60) == ("True False\n", "")
    assert list(tmp_path.iterdir()) == []


@needs_tpu_compiler
def test_a_mesh_of_all_devices_of_a_slice_follows_its_physical_axes():
    devices = xla.topology_devices(xla.target("tpu", "v5p:2x2x4"))
    mesh = xla.make_mesh((4, 4), ("data", "model"), devices=devices)
    places = np.array(xla.positions_of(mesh.flat_devices)).reshape(4, 4, 4)
    assert {*places[0, :, 2].tolist()} == {0}  # the last axis goes along x and y, which are two
    assert places[:, 0, 2].tolist() == [0, 1, 2, 3]
    backwards = devices[::-1]
    reversed_mesh = xla.make_mesh((4, 4), ("data", "model"), devices=backwards)
    assert reversed_mesh.flat_devices == backwards  # another order is the caller's choice
