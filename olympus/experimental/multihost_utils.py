"""The processes of a program and the arrays that they share: there is one process."""

from olympus_core.extension.host_array_primitives import ProcessFailureError as ProcessFailureError
from olympus_core.extension.host_array_primitives import (
    global_array_to_host_local_array_impl as global_array_to_host_local_array_impl,
)
from olympus_core.extension.host_array_primitives import (
    global_array_to_host_local_array_p as global_array_to_host_local_array_p,
)
from olympus_core.extension.host_array_primitives import gtl_abstract_eval as gtl_abstract_eval
from olympus_core.extension.host_array_primitives import (
    host_local_array_to_global_array_impl as host_local_array_to_global_array_impl,
)
from olympus_core.extension.host_array_primitives import (
    host_local_array_to_global_array_p as host_local_array_to_global_array_p,
)
from olympus_core.extension.host_array_primitives import ltg_abstract_eval as ltg_abstract_eval
from olympus_core.extension.host_array_primitives import ltg_batcher as ltg_batcher
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
from olympus_core.placement.partition_spec import PartitionSpec as _PartitionSpec

P = _PartitionSpec
