"""Inspection and drawing of the sharding of arrays."""

from olympus_core.library.debug import inspect_array_sharding as inspect_array_sharding
from olympus_core.library.debug import visualize_array_sharding as visualize_array_sharding
from olympus_core.library.debug import visualize_sharding as visualize_sharding
