"""The processes of a program and the arrays that they share: there is one process."""

from olympus_core.library.host_arrays import assert_equal as assert_equal
from olympus_core.library.host_arrays import broadcast_one_to_all as broadcast_one_to_all
from olympus_core.library.host_arrays import (
    global_array_to_host_local_array as global_array_to_host_local_array,
)
from olympus_core.library.host_arrays import (
    host_local_array_to_global_array as host_local_array_to_global_array,
)
from olympus_core.library.host_arrays import live_devices as live_devices
from olympus_core.library.host_arrays import process_allgather as process_allgather
from olympus_core.library.host_arrays import (
    reached_preemption_sync_point as reached_preemption_sync_point,
)
from olympus_core.library.host_arrays import sync_global_devices as sync_global_devices
