"""Checkpointing: a derivative recomputes values instead of saving them."""

from olympus_core.control.checkpoint import CheckpointPolicies as _CheckpointPolicies
from olympus_core.control.checkpoint import checkpoint_name as checkpoint_name

checkpoint_policies = _CheckpointPolicies

__all__ = ["checkpoint_name", "checkpoint_policies"]
