"""Meshes of devices, and shardings: which part of an array each device holds."""

from olympus_core.mesh import AbstractMesh as AbstractMesh
from olympus_core.mesh import AxisType as AxisType
from olympus_core.mesh import Mesh as Mesh
from olympus_core.mesh_context import get_mesh as get_mesh
from olympus_core.mesh_context import set_mesh as set_mesh
from olympus_core.sharding import NamedSharding as NamedSharding
from olympus_core.sharding import PartitionSpec as PartitionSpec
from olympus_core.sharding import Sharding as Sharding
from olympus_core.sharding import SingleDeviceSharding as SingleDeviceSharding
from olympus_core.xla import MOST_DEVICES as MOST_DEVICES
from olympus_core.xla import expect_devices as expect_devices
from olympus_core.xla import more_devices as more_devices
from olympus_core.xla import topology_devices as topology_devices
