"""The versions of installed packages: what keys, reports and `olympus doctor` say of the tools."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache

import olympus

__all__ = ["installed_version", "tool_versions"]


@cache
def _version(package: str) -> str:
    """What the package's own files say; the library that reads them takes long to import."""
    from importlib.metadata import version

    return version(package)


def installed_version(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return _version(package)
    except ModuleNotFoundError:  # of which PackageNotFoundError is one
        return None


def tool_versions() -> Mapping[str, str]:
    """The versions that a report names."""
    return {
        "olympus": olympus.__version__,
        "jaxlib": _version("jaxlib"),
        "python": platform.python_version(),
    }
