"""Meshes of devices, and shardings: the part of an array that each device stores."""

from olympus_core.arrays.mesh_context import abstract_mesh as _abstract_mesh
from olympus_core.arrays.mesh_context import get_mesh as get_mesh
from olympus_core.arrays.mesh_context import set_mesh as set_mesh
from olympus_core.arrays.mesh_context import use_abstract_mesh as use_abstract_mesh
from olympus_core.base.manual_axes import ManualAxisType as ManualAxisType
from olympus_core.library.explicit import auto_axes as auto_axes
from olympus_core.library.explicit import explicit_axes as explicit_axes
from olympus_core.library.explicit import reshard as reshard
from olympus_core.library.lax.named_axes import no_collectives as no_collectives
from olympus_core.placement.mesh import AbstractDevice as AbstractDevice
from olympus_core.placement.mesh import AbstractMesh as AbstractMesh
from olympus_core.placement.mesh import AxisType as AxisType
from olympus_core.placement.mesh import Mesh as Mesh
from olympus_core.placement.partition_spec import PartitionSpec as PartitionSpec
from olympus_core.placement.sharding import NamedSharding as NamedSharding
from olympus_core.placement.sharding import Sharding as Sharding
from olympus_core.placement.sharding import SingleDeviceSharding as SingleDeviceSharding
from olympus_core.placement.sharding import (
    make_single_device_sharding as make_single_device_sharding,
)
from olympus_core.xla import MOST_DEVICES as MOST_DEVICES
from olympus_core.xla import expect_devices as expect_devices
from olympus_core.xla import more_devices as more_devices
from olympus_core.xla import topology_devices as topology_devices

get_abstract_mesh = _abstract_mesh
