"""Functions of `extend.mlir`: modules of StableHLO and of HLO as bytes, in the forms of jaxlib."""

from __future__ import annotations

from olympus_core.mlir.bindings import interchange

_functions = interchange()
deserialize_portable_artifact = _functions.deserialize_portable_artifact
hlo_to_stablehlo = _functions.hlo_to_stablehlo
refine_polymorphic_shapes = _functions.refine_polymorphic_shapes
serialize_portable_artifact = _functions.serialize_portable_artifact
