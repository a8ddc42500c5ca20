"""The modules of PyTorch and torchax that the conversion uses; the errors if one is missing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from olympus_core.base.errors import BackendError

_INSTALL = "pip install 'olympus[torch]'"


class TorchImportError(BackendError, ImportError):
    """Raised when PyTorch or torchax cannot be imported; the message names the missing one."""


def _imported(name: str, title: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name != name.partition(".")[0]:
            raise
        raise TorchImportError(
            f"olympus.interop.torch needs {title}, which is not installed: {_INSTALL}",
            hint=_INSTALL,
        ) from None


@contextmanager
def _named_tensor_overloads() -> Iterator[None]:
    """A context in which operators have the overloads for named tensors, with the value None.

    torch 2.13 removed them, and torchax 0.0.13 lists them when it is imported.
    """
    packet = torch._ops.OpOverloadPacket
    lookup = packet.__getattr__

    def with_named(self: Any, name: str) -> Any:
        try:
            return lookup(self, name)
        except AttributeError:
            if "dimname" in name.lower() or "names" in name:
                return None
            raise

    packet.__getattr__ = with_named
    try:
        yield
    finally:
        packet.__getattr__ = lookup


torch: Any = _imported("torch", "PyTorch")
# torchax imports JAX, whose absence or mismatch has an error of its own
importlib.import_module("olympus_core.interop.jax_modules")
_fast_attention = torch.backends.mha.get_fastpath_enabled()
with _named_tensor_overloads():
    _imported("torchax", "torchax")
    importlib.import_module("torchax.ops.jaten")  # it registers the operators
    _decompositions = importlib.import_module("torchax.decompositions")
    _ops_registry = importlib.import_module("torchax.ops.ops_registry")
    _mappings = importlib.import_module("torchax.ops.mappings")
torch.backends.mha.set_fastpath_enabled(_fast_attention)  # torchax clears it for the process

#: Functions of JAX by operator of PyTorch.
operators: dict[Any, Any] = _ops_registry.all_aten_ops
#: Decompositions of operators by operator.
decompositions: dict[Any, Any] = _decompositions.DECOMPOSITIONS
#: Dtypes of JAX by dtype of PyTorch.
jax_dtypes: dict[Any, Any] = _mappings.TORCH_DTYPE_TO_JAX
#: The module of PyTorch that prints the graph of an export that failed.
export_tracing: Any = importlib.import_module("torch.export._trace")
symbolic_shapes: Any = importlib.import_module("torch.fx.experimental.symbolic_shapes")
