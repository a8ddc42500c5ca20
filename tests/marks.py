"""Marks of tests that not every machine can run."""

from __future__ import annotations

import shutil

import pytest

from olympus_core.xla.runtime import gpu, tpu

#: a browser of the system's; no package of Python's brings one
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome in PATH")

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

needs_nginx = pytest.mark.skipif(NGINX is None, reason="no nginx in PATH or /usr/sbin")

#: for Linux, the extra `test` installs it; for others there is none
needs_gpu_compiler = pytest.mark.skipif(
    gpu.PLUGIN.version() is None, reason=f"the wheel {gpu.WHEEL} is not installed"
)

#: the extra `test` installs it on Linux
needs_tpu_compiler = pytest.mark.skipif(
    tpu.PLUGIN.version() is None, reason=f"the package {tpu.PACKAGE} is not installed"
)
