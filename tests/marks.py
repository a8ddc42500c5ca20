"""Marks of tests that not every machine can run."""

from __future__ import annotations

import pytest

from olympus_core.xla import gpu

__all__ = ["needs_gpu_compiler"]

#: for Linux, the extra `test` installs it; for others there is none
needs_gpu_compiler = pytest.mark.skipif(
    gpu.plugin_version() is None, reason=f"the wheel {gpu.WHEEL} is not installed"
)
