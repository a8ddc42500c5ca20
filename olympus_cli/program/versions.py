"""The versions of installed packages: what keys, reports and `olympus doctor` say of the tools."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import olympus

__all__ = ["installed_version", "tool_versions"]


_version = cache(version)  # which reads files


def installed_version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return _version(package)
    except PackageNotFoundError:
        return None


def tool_versions() -> Mapping[str, str]:
    """The versions that a report names."""
    return {
        "olympus": olympus.__version__,
        "jaxlib": _version("jaxlib"),
        "python": platform.python_version(),
    }
