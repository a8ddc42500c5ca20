"""The modules of JAX that the conversion uses; the errors of a missing or mismatched JAX."""

from __future__ import annotations

from typing import Any

from olympus_core import xla
from olympus_core.base.errors import BackendError

INSTALL = "pip install 'olympus[jax]'"


class JaxImportError(BackendError, ImportError):
    """Raised when JAX cannot be imported; the message has the command that installs it."""


try:
    import jax as _jax
    import jax.export as _jax_export
    from jax._src import array as _array
    from jax._src import core as _core
    from jax._src import dispatch as _dispatch
    from jax._src import pjit as _pjit
    from jax._src import sharding_impls as _sharding_impls
    from jax._src import source_info_util as _source_info_util
    from jax._src.interpreters import ad as _ad
    from jax._src.interpreters import batching as _batching
    from jax._src.interpreters import mlir as _mlir
    from jax._src.interpreters import partial_eval as _partial_eval
    from jax._src.lib import xla_client as _xla_client
except ModuleNotFoundError as exc:
    if exc.name != "jax":
        raise
    raise JaxImportError(
        f"olympus.interop.jax needs JAX, which is not installed: {INSTALL}", hint=INSTALL
    ) from None
except RuntimeError as exc:  # jax checks the version of jaxlib when it is imported
    raise JaxImportError(f"JAX cannot be imported: {exc}: {INSTALL}", hint=INSTALL) from None


def _share_plugins() -> None:
    """Let JAX use the libraries of accelerators that are loaded: the runtime refuses a second time.

    Without this, JAX has no GPU in a process that has compiled for one.
    """
    load = _xla_client.load_pjrt_plugin_dynamically

    def load_once(name: str, path: str) -> Any:
        return xla.loaded_plugins[name] if name in xla.loaded_plugins else load(name, path)

    _xla_client.load_pjrt_plugin_dynamically = load_once


_share_plugins()
jax: Any = _jax
jax_export: Any = _jax_export
#: JAX's own, also in a program that sets `jax.jit` to the `jit` of OLYMPUS
jax_jit: Any = _jax.jit
core: Any = _core
ArrayImpl: Any = _array.ArrayImpl
apply_primitive: Any = _dispatch.apply_primitive
jit_p: Any = _pjit.jit_p
sharding_impls: Any = _sharding_impls
source_info_util: Any = _source_info_util
ad: Any = _ad
batching: Any = _batching
mlir: Any = _mlir
partial_eval: Any = _partial_eval


def closed_over(jaxpr: Any, constants: list[Any]) -> Any:
    """Return a jaxpr with constants for its first inputs."""
    if hasattr(jaxpr, "with_consts"):  # from JAX 0.12 on, one class has jaxprs with constants too
        return jaxpr.with_consts(constants)
    return core.ClosedJaxpr(
        partial_eval.convert_invars_to_constvars(jaxpr, len(constants)), constants
    )
