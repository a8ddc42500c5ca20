"""Checkpointing: recomputing for a derivative instead of storing."""

from olympus_core.control.checkpoint import CheckpointPolicies as checkpoint_policies
from olympus_core.control.checkpoint import checkpoint_name as checkpoint_name

__all__ = ["checkpoint_name", "checkpoint_policies"]
