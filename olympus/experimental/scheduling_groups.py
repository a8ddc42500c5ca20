"""`olympus.experimental.scheduling_groups`: functions that XLA schedules together."""

from olympus_core.control.annotated_call import xla_metadata_call_p as xla_metadata_call_p
from olympus_core.library.experimental.metadata import attr_get as attr_get
from olympus_core.library.experimental.metadata import (
    dce_jaxpr_xla_metadata_rule as dce_jaxpr_xla_metadata_rule,
)
from olympus_core.library.experimental.metadata import scheduling_group as scheduling_group
from olympus_core.library.experimental.metadata import xla_metadata_call as xla_metadata_call
