"""Checkpointing: a derivative recomputes values instead of saving them."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.control.checkpoint import CheckpointPolicies as _CheckpointPolicies
from olympus_core.control.checkpoint import Offloadable as Offloadable
from olympus_core.control.checkpoint import Recompute as Recompute
from olympus_core.control.checkpoint import Saveable as Saveable
from olympus_core.control.checkpoint import checkpoint_name as checkpoint_name
from olympus_core.control.checkpoint import checkpoint_name_fwd as checkpoint_name_fwd
from olympus_core.control.checkpoint import name_p as name_p

if _typing.TYPE_CHECKING:
    from olympus_core.api.residuals import print_saved_residuals as print_saved_residuals
else:
    __getattr__, __dir__ = _on_demand(
        __name__, elsewhere={"olympus_core.api.residuals": ("print_saved_residuals",)}
    )

checkpoint_policies = _CheckpointPolicies

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint_name",
    "checkpoint_name_fwd",
    "checkpoint_policies",
    "print_saved_residuals",
]
