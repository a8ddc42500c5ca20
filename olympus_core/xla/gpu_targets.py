"""The GPUs that programs can be compiled for without having one, as figures.

`config_text` is the text of XLA's `GpuTargetConfigProto` (declared in
xla/stream_executor/device_description.proto), which its GPU compiler takes in a device's place.

Sources.  Cores, clocks, memory, bandwidth and caches: NVIDIA's data sheets and architecture white
papers of A100 ("NVIDIA A100 Tensor Core GPU Architecture"), H100 ("NVIDIA H100 Tensor Core GPU
Architecture"), H200 and B200; as the driver reports them: the device files that XLA publishes
(xla/backends/gpu/target_config/specs).  Limits of a compute capability: the table "Technical
Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming Guide.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_GPU", "GPUS", "Gpu", "config_text"]

DEFAULT_GPU = "h200"

_KIB, _MIB = 1 << 10, 1 << 20


class _Capability(NamedTuple):
    """What every GPU of one compute capability shares; sizes in bytes, a core is an SM."""

    major: int
    fpus_per_core: int
    shared_memory_per_core: int
    # The kinds of instruction that only this very capability has, such as sm_90a's.
    features: str = "ACCELERATED_FEATURES"

    @property
    def shared_memory_per_block(self) -> int:
        """The most that a block can ask for: the system keeps 1 KiB of each core's."""
        return self.shared_memory_per_core - _KIB


_SM80 = _Capability(8, 64, 164 * _KIB, features="NONE")
_SM90 = _Capability(9, 128, 228 * _KIB)
_SM100 = _Capability(10, 128, 228 * _KIB)


class Gpu(NamedTuple):
    """One kind of device: sizes in bytes, bandwidth in bytes a second, the boost clock in GHz."""

    name: str
    capability: _Capability
    core_count: int
    clock_rate_ghz: float
    memory: int
    memory_bandwidth: int
    l2_cache: int


GPUS: dict[str, Gpu] = {
    "h200": Gpu("NVIDIA H200", _SM90, 132, 1.98, 151397597184, 4800000000000, 50 * _MIB),
    "h100-sxm": Gpu(
        "NVIDIA H100 80GB HBM3", _SM90, 132, 1.98, 84942979072, 3352320000000, 50 * _MIB
    ),
    "h100-pcie": Gpu("NVIDIA H100 PCIe", _SM90, 114, 1.755, 84942979072, 2039040000000, 50 * _MIB),
    "a100-80": Gpu(
        "NVIDIA A100-SXM4-80GB", _SM80, 108, 1.41, 85100068864, 2039040000000, 40 * _MIB
    ),
    "b200": Gpu("NVIDIA B200", _SM100, 148, 1.965, 191514411008, 7672320000000, 132644864),
}

_TEXT = """\
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {sm.shared_memory_per_core}
  shared_memory_per_block_optin: {sm.shared_memory_per_block}
  threads_per_core_limit: 2048
  core_count: {gpu.core_count}
  fpus_per_core: {sm.fpus_per_core}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu.memory_bandwidth}
  l2_cache_size: {gpu.l2_cache}
  clock_rate_ghz: {gpu.clock_rate_ghz}
  device_memory_size: {gpu.memory}
  cuda_compute_capability {{ major: {sm.major} minor: 0 feature_extension: {sm.features} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{gpu.name}"
"""


def config_text(device: str) -> str:
    """The `GpuTargetConfigProto` of a device of `GPUS`, in protobuf's text format.

    Raises:
      KeyError: when the table has no such device.
    """
    gpu = GPUS[device]
    return _TEXT.format(gpu=gpu, sm=gpu.capability)
