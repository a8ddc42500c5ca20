"""The import of jaxlib's runtime modules, `_jax` and `_hlo`, which have no types."""

from __future__ import annotations

from typing import Any

from olympus_runtime import quiet  # isort: skip

import jaxlib._hlo
import jaxlib._jax
import jaxlib.version

__all__ = ["JAXLIB_VERSION", "JaxRuntimeError", "_hlo", "_jax", "quiet"]

_jax: Any = jaxlib._jax
_hlo: Any = jaxlib._hlo
JaxRuntimeError: type[RuntimeError] = _jax.JaxRuntimeError
JAXLIB_VERSION: str = jaxlib.version.__version__
