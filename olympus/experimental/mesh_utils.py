"""`olympus.experimental.mesh_utils`: the devices of a mesh in an order."""

from olympus_core.library.device_meshes import create_device_mesh as create_device_mesh
from olympus_core.library.device_meshes import (
    create_hybrid_device_mesh as create_hybrid_device_mesh,
)
from olympus_core.library.device_meshes import device_kind_handler_dict as device_kind_handler_dict
