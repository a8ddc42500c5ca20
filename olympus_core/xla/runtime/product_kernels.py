"""The choice of XLA's kernels for the products of a program that runs on one processor.

XLA for CPUs has two: those of YNNPACK, its default, and those of Eigen. On several processors
YNNPACK's are as fast or faster. On one, Eigen's are faster for some products of few rows, and
slower for others. The compiler has one option for a whole program, so the choice is by the sum of
the differences, which were measured with float32 on an x86-64 processor with AVX-512.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olympus_core.mlir import bindings as mlir
from olympus_core.xla.targets.options import Options

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_OPTION = "xla_cpu_experimental_ynn_fusion_type"
_EIGEN: Options = {_OPTION: ""}

#: nanoseconds for an element of the right factor that Eigen's kernel takes less, with more than
#: `_FEW_ROWS` and at most `_MANY_ROWS` rows and at least `_WIDE` columns
_SAVED = 0.1
_FEW_ROWS, _MANY_ROWS, _WIDE = 24, 256, 128
#: nanoseconds for an element that it takes more if the right factor is transposed
_TRANSPOSED = 2.2
#: nanoseconds for a multiplication that it takes more with fewer columns
_NARROW = 0.0014
#: nanoseconds for an element that a reduction takes more without YNNPACK
_REDUCED = 0.4


def product_options(module: Any) -> Options:
    """Return the compiler's options for the products of a module; {} for the default kernels.

    They are not the default on one processor, if the module has products of float32, no
    convolutions, and takes less time with Eigen's kernels. A module in bytes has the default.

    >>> product_options(module)
    {'xla_cpu_experimental_ynn_fusion_type': ''}
    """
    if processors() > 1 or isinstance(module, bytes) or _OPTION in os.environ.get("XLA_FLAGS", ""):
        return {}
    saved = 0.0
    for operation in _operations(module.operation):
        if operation.name == "stablehlo.convolution":
            return {}
        if operation.name == "stablehlo.dot_general":
            saved += _saved_by_product(operation)
        elif operation.name == "stablehlo.reduce":
            saved -= _REDUCED * math.prod(operation.operands[0].type.shape)
    return _EIGEN if saved > 0 else {}


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux has it
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _operations(parent: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations in an operation, also nested ones."""
    for region in parent.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _operations(view.operation)


def _saved_by_product(operation: ir.Operation) -> float:
    """Return the nanoseconds that a product takes less by Eigen's kernel than by YNNPACK's."""
    lhs, rhs = [x.type for x in operation.operands]
    if not all(isinstance(x.element_type, mlir.ir.F32Type) for x in (lhs, rhs)):
        return -math.inf  # not measured
    numbers = mlir.hlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    batch = len(numbers.lhs_batching_dimensions)
    contract, contract_rhs = (
        [*numbers.lhs_contracting_dimensions],
        [*numbers.rhs_contracting_dimensions],
    )
    if contract != [*range(lhs.rank - len(contract), lhs.rank)]:
        return 0.0  # YNNPACK has no kernel for it
    elements: int = math.prod(rhs.shape)
    depth = math.prod(rhs.shape[i] for i in contract_rhs)
    repeats = math.prod(rhs.shape[i] for i in numbers.rhs_batching_dimensions)
    if not elements:
        return 0.0
    rows: int = math.prod(lhs.shape) // (depth * repeats)
    columns: int = elements // (depth * repeats)
    in_order = contract_rhs == [*range(batch, batch + len(contract_rhs))]
    if not in_order or _is_transpose(operation.operands[1]):
        return -_TRANSPOSED * elements
    if columns < _WIDE:
        return -_NARROW * rows * elements
    return _SAVED * elements if _FEW_ROWS < rows <= _MANY_ROWS else 0.0


def _is_transpose(value: ir.Value) -> bool:
    """Return True for the transpose of an argument or a constant, which XLA does not copy.

    It copies others, such as those of the heads of an attention.
    """
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.transpose":
        return False
    source = owner.operands[0].owner
    return isinstance(source, mlir.ir.Block) or source.name == "stablehlo.constant"
