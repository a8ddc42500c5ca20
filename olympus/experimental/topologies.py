"""Devices that need not be attached: programs are compiled for them."""

from olympus_core.library.topologies import TopologyDescription as TopologyDescription
from olympus_core.library.topologies import get_attached_topology as get_attached_topology
from olympus_core.library.topologies import get_topology_desc as get_topology_desc
from olympus_core.library.topologies import make_mesh as make_mesh
from olympus_core.xla import Device as Device
