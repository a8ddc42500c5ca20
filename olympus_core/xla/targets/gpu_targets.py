"""The input of XLA's GPU compiler that replaces an attached device.

It is the text of its `GpuTargetConfigProto`, declared in
xla/stream_executor/device_description.proto.
"""

from __future__ import annotations

from olympus_core.xla.targets.device_models import DeviceModel

DEFAULT_GPU = "h200"

# Limits without a key in a device's table are those of every compute capability since 7.5.
_TEXT = """\
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {sm.shared_memory_per_core}
  shared_memory_per_block_optin: {sm.shared_memory_per_block}
  threads_per_core_limit: {sm.threads_per_core}
  core_count: {device.cores}
  fpus_per_core: {sm.fpus_per_core}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {device.l2_cache}
  clock_rate_ghz: {device.clock_ghz}
  device_memory_size: {device.memory}
  cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {sm.features} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{device.product}"
"""


def config_text(device: DeviceModel) -> str:
    """Return the `GpuTargetConfigProto` of a device, in protobuf's text format.

    The compiler has no other input about the device: equal texts give equal programs.
    """
    major, minor = device.capability.name.split(".")
    return _TEXT.format(
        device=device,
        sm=device.capability,
        bandwidth=round(device.bandwidth),
        major=major,
        minor=minor,
    )
