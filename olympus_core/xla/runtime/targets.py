"""Compiled functions of other libraries, which programs call by their registered names."""

from __future__ import annotations

import os
from typing import Any

from olympus_core.xla.bindings import _jax

#: the runtime's name of a platform, for the names that programs use
_PLATFORMS = {"gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}


def register_target(name: str, fn: Any, platform: str, api_version: int, **options: Any) -> None:
    """Register the function of a name for a platform; `fn` is a capsule, or a dict of capsules."""
    known = _PLATFORMS.get(platform, platform)
    _jax.register_custom_call_target(name, fn, known, api_version, **options)


def register_type(name: str, registration: Any, platform: str) -> None:
    """Register a type of the states of functions for a platform."""
    _jax.register_custom_type(name, registration, _PLATFORMS.get(platform, platform))


def register_as_batch_partitionable(name: str) -> None:
    """Declare that devices may call a function for their parts of the leading axes."""
    _jax.register_custom_call_as_batch_partitionable(name)


def include_dir() -> str:
    """Return the folder of XLA's header files, which jaxlib has."""
    return os.path.join(os.path.dirname(os.path.abspath(_jax.__file__)), "include")
