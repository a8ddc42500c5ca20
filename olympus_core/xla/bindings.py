"""The import of jaxlib's runtime modules, `_jax` and `_hlo`, which have no types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core.base import quiet  # isort: skip

import jaxlib._hlo
import jaxlib._jax
import jaxlib.version

__all__ = ["JAXLIB_VERSION", "Buffer", "Device", "JaxRuntimeError", "_hlo", "_jax", "quiet"]

_jax: Any = jaxlib._jax
_hlo: Any = jaxlib._hlo

# Opaque to everybody outside this package: the runtime's own classes carry no types.
Buffer = Any
if TYPE_CHECKING:
    Device = Any
else:
    Device = _jax.Device

JaxRuntimeError: type[RuntimeError] = _jax.JaxRuntimeError
JAXLIB_VERSION: str = jaxlib.version.__version__
