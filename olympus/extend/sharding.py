"""Shardings as XLA has them."""

from olympus_core.extension.compiling.hlo_shardings import (
    GSPMDSharding as GSPMDSharding,
)
from olympus_core.extension.compiling.hlo_shardings import (
    get_hlo_sharding_from_serialized_proto as get_hlo_sharding_from_serialized_proto,
)
from olympus_core.extension.compiling.hlo_shardings import (
    get_op_sharding_from_serialized_proto as get_op_sharding_from_serialized_proto,
)
from olympus_core.extension.compiling.hlo_shardings import (
    get_serialized_proto_from_hlo_sharding as get_serialized_proto_from_hlo_sharding,
)
