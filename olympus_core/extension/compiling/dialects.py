"""The dialects of MLIR's contexts, and contexts without operations of other dialects."""

from __future__ import annotations

from olympus_core.mlir import bindings as mlir

#: the dialects of OLYMPUS's contexts beside StableHLO, CHLO and Shardy
upstream_dialects = mlir.dialects()


class JaxIrContext(mlir.ir.Context):  # type: ignore[misc]
    """An MLIR context that has no dialect until some are appended and loaded.

    >>> context = JaxIrContext()
    >>> context.append_dialect_registry(upstream_dialects)
    >>> context.load_all_available_dialects()
    """

    def __init__(self) -> None:
        # the class of jaxlib loads all dialects
        super(mlir.ir.Context, self).__init__()
