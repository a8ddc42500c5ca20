"""The import of jaxlib's runtime modules, with the runtime's logging set before it.

Nothing enters; `_jax` and `_hlo` leave, as untyped modules.  XLA writes log lines to stderr at
level I and E, the latter for errors that it also raises; they are turned off unless the user has
set `TF_CPP_MIN_LOG_LEVEL`.  The variable must be set before the library is loaded.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jaxlib._hlo
import jaxlib._jax
import jaxlib.version

__all__ = ["JAXLIB_VERSION", "Buffer", "Device", "JaxRuntimeError", "_hlo", "_jax"]

_jax: Any = jaxlib._jax
_hlo: Any = jaxlib._hlo

# Opaque to everybody outside this package: the runtime's own classes carry no types.
Buffer = Any
Device = Any

JaxRuntimeError: type[RuntimeError] = _jax.JaxRuntimeError
JAXLIB_VERSION: str = jaxlib.version.__version__
