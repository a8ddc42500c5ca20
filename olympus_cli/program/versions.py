"""The versions of installed packages, for keys, reports and `olympus doctor`."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import olympus

_version = cache(version)  # reads files


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return _version(package)
    except PackageNotFoundError:
        return None


def tool_versions() -> Mapping[str, str]:
    """Return the versions for a report."""
    return {
        "olympus": olympus.__version__,
        "jaxlib": _version("jaxlib"),
        "python": platform.python_version(),
    }
