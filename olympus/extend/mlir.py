"""Modules of StableHLO and of HLO as bytes, and their portable forms."""

from olympus_core.extension.interchange import (
    deserialize_portable_artifact as deserialize_portable_artifact,
)
from olympus_core.extension.interchange import hlo_to_stablehlo as hlo_to_stablehlo
from olympus_core.extension.interchange import (
    refine_polymorphic_shapes as refine_polymorphic_shapes,
)
from olympus_core.extension.interchange import (
    serialize_portable_artifact as serialize_portable_artifact,
)
