"""Functions exported as StableHLO, also with symbolic shapes: the API of `jax.export`."""

from olympus_core.base.dimensions.expression import SymbolicDim as SymbolicDim
from olympus_core.base.dimensions.expression import is_symbolic_dim as is_symbolic_dim
from olympus_core.base.dimensions.scope import SymbolicScope as SymbolicScope
from olympus_core.base.dimensions.shapes import symbolic_dim_bounds as symbolic_dim_bounds
from olympus_core.base.dimensions.shapes import symbolic_shape as symbolic_shape
from olympus_core.export.checks import DisabledSafetyCheck as DisabledSafetyCheck
from olympus_core.export.exported import Exported as Exported
from olympus_core.export.exported import default_export_platform as default_export_platform
from olympus_core.export.exported import deserialize as deserialize
from olympus_core.export.exported import export as export
from olympus_core.export.exported import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from olympus_core.export.exported import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from olympus_core.export.specs import symbolic_args_specs as symbolic_args_specs
from olympus_core.export.trees import (
    register_namedtuple_serialization as register_namedtuple_serialization,
)
from olympus_core.export.trees import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)
