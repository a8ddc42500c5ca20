"""Modules of PyTorch compiled by OLYMPUS; `olympus[torch]` installs PyTorch and torchax."""

from olympus_core.interop.torch_tracing import result_types as result_types
from olympus_core.interop.torch_tracing import state as state
from olympus_core.interop.torch_tracing import trace as trace
