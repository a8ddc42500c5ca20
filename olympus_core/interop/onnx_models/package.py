"""The import of the package `onnx`, which only a call that reads a model needs."""

from __future__ import annotations

import importlib
from typing import Any

from olympus_core.base.errors import BackendError

_INSTALL = "pip install 'olympus[onnx]'"


def onnx_package(module: str = "onnx") -> Any:
    """Return the package `onnx`, or one of its modules.

    Raises BackendError if the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BackendError(
            f"ONNX models need the package onnx, which is not installed: {_INSTALL}", hint=_INSTALL
        ) from error
