"""The input of XLA's GPU compiler that replaces an attached device.

It is the text of its `GpuTargetConfigProto`, declared in
xla/stream_executor/device_description.proto.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from olympus_core.xla.targets.device_models import DeviceModel, shipped_devices

DEFAULT_GPU = "h200"
#: the driver's description of each GPU of this machine
_DRIVER = Path("/proc/driver/nvidia/gpus")
_PRODUCT = re.compile(r"^Model:\s*(.+?)\s*$", re.MULTILINE)


@functools.cache
def default_gpu() -> str:
    """Return the name of this machine's first GPU; `DEFAULT_GPU` without one that is built in.

    The driver's files are read, and no library is loaded.
    """
    products = {model.product: name for name, model in shipped_devices().items()}
    return next((products[x] for x in attached_products() if x in products), DEFAULT_GPU)


def attached_products() -> list[str]:
    """Return the product names of this machine's GPUs, as the driver writes them."""
    try:
        texts = [(folder / "information").read_text() for folder in sorted(_DRIVER.iterdir())]
    except OSError:
        return []
    return [match[1] for text in texts if (match := _PRODUCT.search(text))]


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
