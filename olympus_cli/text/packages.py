"""The names of OLYMPUS's packages."""

from __future__ import annotations

#: Bottom up.
PACKAGES = ("olympus_bundle", "olympus_runtime", "olympus_core", "olympus", "olympus_cli")
