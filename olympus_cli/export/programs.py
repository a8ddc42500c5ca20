"""The formats that are a file with the program, as lowered: nothing is compiled."""

from __future__ import annotations

from olympus_cli.export.options import ExportOptions
from olympus_cli.program.stages import Program


def stablehlo(program: Program, _options: ExportOptions) -> str:
    """Return StableHLO as text."""
    return program.units[0].stablehlo


def bytecode(program: Program, options: ExportOptions) -> bytes:
    """Return a portable artifact of StableHLO, of the requested version."""
    content: bytes = program.units[0].lowered.bytecode(options.stablehlo_version)
    return content


def hlo(program: Program, _options: ExportOptions) -> str:
    """Return HLO as text."""
    text: str = program.units[0].lowered.as_text("hlo")
    return text


def hlo_proto(program: Program, _options: ExportOptions) -> bytes:
    """Return HLO as a protocol buffer, an HloModuleProto."""
    computation = program.units[0].lowered.compiler_ir("hlo")
    content: bytes = computation.as_serialized_hlo_module_proto()
    return content


def jax_export(program: Program, options: ExportOptions) -> bytes:
    """Return a file of `jax.export`, for all backends of the target.

    Raises:
        BackendError: JAX is not installed.
        UsageError: JAX cannot export the program.
    """
    from olympus.interop import jax  # an optional package

    backends = [backend.backend for backend in program.spec.backends]
    return jax.export_file(program.traced, backends, vjp_order=options.vjp_order or 0)
