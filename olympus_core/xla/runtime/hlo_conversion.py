"""The unoptimized HLO of a program, as XLA first reads it.

The forms are text, a graph, a serialized `HloModuleProto`, and XLA's estimate of its cost.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from olympus_core.xla.bindings import JaxRuntimeError, _hlo, _jax
from olympus_core.xla.messages import compile_error
from olympus_core.xla.runtime.cpu import cpu_client


def module_bytes(module: Any) -> bytes:
    """Return the MLIR bytecode of a module; bytes are returned unchanged."""
    if isinstance(module, bytes):
        return module
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return out.getvalue()


def computation(module: Any, tuple_args: bool = False, return_tuple: bool = False) -> Any:
    """Return the runtime's computation of a module, which the functions below print and serialize.

    With `tuple_args` it takes one tuple; with `return_tuple` it returns one, also for one result.
    Raises CompileError if the module is not a program.
    """
    try:
        return _jax.mlir.mlir_module_to_xla_computation(
            module_bytes(module), use_tuple_args=tuple_args, return_tuple=return_tuple
        )
    except (JaxRuntimeError, ValueError) as exc:
        raise compile_error(exc) from None


def hlo_text(module: Any, metadata: bool = False) -> str:
    """Return the unoptimized HLO of a module as text; with `metadata`, with the user's lines."""
    program = computation(module)
    if not metadata:
        return str(program.as_hlo_text())
    options = _hlo.HloPrintOptions()
    options.print_metadata, options.print_percent, options.print_program_shape = True, False, False
    return str(program.get_hlo_module().to_string(options))


def hlo_dot(module: Any) -> str:
    """Return the unoptimized HLO of a module, as a graph in Graphviz's dot language."""
    return str(computation(module).as_hlo_dot_graph())


def hlo_proto(module: Any) -> bytes:
    """Return the unoptimized HLO of a module, as a serialized `HloModuleProto`."""
    return bytes(computation(module).as_serialized_hlo_module_proto())


def hlo_cost_analysis(module: Any) -> dict[str, float]:
    """Return XLA's estimate for the unoptimized program: "flops", "bytes accessed", ....

    A loop's body is counted once, whatever its number of iterations.

    >>> hlo_cost_analysis(jit(lambda x: x @ x).lower(numpy.ones((8, 8))).module)["flops"]
    1024.0
    """
    properties = _jax.hlo_module_cost_analysis(cpu_client(), computation(module).get_hlo_module())
    return numbers(properties)


def numbers(properties: Mapping[str, Any]) -> dict[str, float]:
    """Return the numeric entries, in the order of their names: XLA's own order changes.

    XLA reports -1 for an unknown count, such as the flops of a library's convolution; such an entry
    is omitted.
    """
    return {
        name: float(value)
        for name, value in sorted(properties.items())
        if isinstance(value, int | float) and value >= 0
    }
