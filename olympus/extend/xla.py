"""Passes of users in XLA's pipeline."""

from olympus_core.xla.hlo.passes import PipelineStage as PipelineStage
from olympus_core.xla.hlo.passes import (
    clear_hlo_module_transformation as clear_hlo_module_transformation,
)
from olympus_core.xla.hlo.passes import (
    register_hlo_module_transformation as register_hlo_module_transformation,
)
