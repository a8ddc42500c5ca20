"""The choice of XLA's kernels for the products and convolutions of a program.

XLA for CPUs has two: those of YNNPACK, its default, and those of Eigen. On one processor, Eigen's
are faster for some products of few rows, and slower for others. On several, YNNPACK's products are
as fast or faster, but most of its convolutions run in one thread. The compiler has one option for
all products of a program and one for all convolutions, so the choice is by the sum of the
differences, which were measured with float32 on an x86-64 processor with AVX-512. Products by
constants have another rule on processors without it (`constant_factors.py`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import CONSTANT_ARGUMENT
from olympus_core.xla.runtime import constant_factors
from olympus_core.xla.runtime.hlo_conversion import module_bytes
from olympus_core.xla.targets.options import Options

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_OPTION = "xla_cpu_experimental_ynn_fusion_type"
_KIND = "LIBRARY_FUSION_TYPE_"
_EIGEN: Options = {_OPTION: ""}
_EIGEN_PRODUCTS: Options = {_OPTION: f"{_KIND}REDUCE,{_KIND}INDIVIDUAL_CONVOLUTION"}
_EIGEN_CONVOLUTIONS: Options = {_OPTION: f"{_KIND}REDUCE,{_KIND}INDIVIDUAL_DOT"}
_EIGEN_BOTH: Options = {_OPTION: f"{_KIND}REDUCE"}

#: nanoseconds for an element of the right factor that Eigen's kernel takes less, with more than
#: `_FEW_ROWS` and at most `_MANY_ROWS` rows and at least `_WIDE` columns
_SAVED = 0.1
_FEW_ROWS, _MANY_ROWS, _WIDE = 24, 256, 128
#: nanoseconds for an element that it takes more if the right factor is transposed
_TRANSPOSED = 2.2
#: nanoseconds for a multiplication that it takes more with fewer columns
_NARROW = 0.0007
#: columns of which YNNPACK computes a whole block of 64; nanoseconds for a result that Eigen's
#: kernel then takes less, for sums of at most `_SHALLOW` terms, and nanoseconds that it takes to
#: begin
_PART_OF_BLOCK = range(24, 49)
_SAVED_OF_BLOCK, _SHALLOW, _BEGIN = 0.3, 160, 2_000
#: nanoseconds for an element that a reduction takes more without YNNPACK
_REDUCED = 0.4
#: nanoseconds for a multiplication of a convolution by Eigen, for an element of a patch that it
#: copies, and for a row of a patch; of YNNPACK for a multiplication, for one and a row of a patch,
#: and for an element of the kernel that it takes longer to copy
_EIGEN_PRODUCT, _EIGEN_COPY, _EIGEN_ROW = 0.008, 0.05, 10.8
_YNNPACK_PRODUCT, _YNNPACK_ROW, _YNNPACK_COPY = 0.0086, 0.04, 0.1
#: YNNPACK divides the rows of results between threads if (positions of a row + features) times the
#: elements of a patch, of which 1,024 count, are more than this
_DIVIDED, _PATCH = 2**16, 1024
#: least nanoseconds that products by constants take less on several processors
_LEAST_SAVED = 350_000
#: nanoseconds that threads take to begin; and the share of the time in one thread that Eigen and
#: YNNPACK then take on two processors
_START, _EIGEN_SHARE, _YNNPACK_SHARE = 30_000, 0.5, 0.6
#: features up to which XLA has no kernels of YNNPACK for a convolution
_FEW_FEATURES = 16


def prepared(module: Any, program: bytes, is_partitioned: bool) -> tuple[bytes, Options]:
    """Return the bytecode of a module for this machine, and the options for its kernels.

    `program` is the bytecode of the module. It is returned, except where products by constants take
    less time in blocks of columns (`constant_factors.py`), which only Eigen's kernels do.

    >>> prepared(module, module_bytes(module), is_partitioned=False)[1]
    {'xla_cpu_experimental_ynn_fusion_type': ''}
    """
    options = product_options(module, program)
    if options and not is_partitioned and _may_have_constants(program):
        divided = constant_factors.with_column_blocks(module, processors())
        if divided is not module:
            content = module_bytes(divided)
            of_blocks = product_options(divided, content)
            if of_blocks and of_blocks != _EIGEN_CONVOLUTIONS:
                return content, of_blocks
    return program, options


def product_options(module: Any, program: bytes) -> Options:
    """Return the compiler's options for the kernels of a module; {} for the default ones.

    On one processor, products are by Eigen's kernels if the module has products of float32 and
    takes less time with these; on several, convolutions are, and products by constants on a
    processor without AVX-512. A module in bytes has the default. `program` is the bytecode of the
    module: on several processors, operations are only read if it has the name of convolutions or is
    as long as a constant, because reading them takes a microsecond each.

    >>> product_options(module, module_bytes(module))
    {'xla_cpu_experimental_ynn_fusion_type': ''}
    """
    if isinstance(module, bytes) or _OPTION in os.environ.get("XLA_FLAGS", ""):
        return {}
    by_constants = {}
    if _may_have_constants(program):
        products = constant_factors.constant_products(module)
        by_constants = {p.operation: _saved_by_constant(p) for p in products}
    if processors() > 1:
        saved_by_constants = sum(by_constants.values())
        return _options_of_several(module, program, saved_by_constants > _LEAST_SAVED)
    saved = reduced = 0.0
    has_convolutions = False
    for operation in _operations(module.operation):
        if operation.name == "stablehlo.convolution":
            has_convolutions = True
        elif operation.name == "stablehlo.dot_general":
            known = by_constants.get(operation)
            saved += _saved_by_product(operation) if known is None else known
        elif operation.name == "stablehlo.reduce":
            reduced += _REDUCED * math.prod(operation.operands[0].type.shape)
    if has_convolutions:  # these and reductions stay
        return _EIGEN_PRODUCTS if saved > 0 else {}
    return _EIGEN if saved > reduced else {}


def _options_of_several(module: ir.Module, program: bytes, has_eigen_products: bool) -> Options:
    """Return the options for a process on several processors."""
    saved = 0.0
    if b"convolution" in program:
        operations = _operations(module.operation)
        convolutions = [x for x in operations if x.name == "stablehlo.convolution"]
        saved = sum(map(_saved_by_convolution, convolutions))
    if has_eigen_products:
        return _EIGEN_BOTH if saved > 0 else _EIGEN_PRODUCTS
    return _EIGEN_CONVOLUTIONS if saved > 0 else {}


def _may_have_constants(program: bytes) -> bool:
    """Return True if a module can have large constants, on a processor where these are measured."""
    has_some = CONSTANT_ARGUMENT.encode() in program
    is_long = len(program) > 4 * constant_factors.LEAST_ELEMENTS
    return (has_some or is_long) and constant_factors.is_measured()


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
    repeats: int = math.prod(rhs.shape[i] for i in numbers.rhs_batching_dimensions)
    if not elements:
        return 0.0
    rows: int = math.prod(lhs.shape) // (depth * repeats)
    columns: int = elements // (depth * repeats)
    in_order = contract_rhs == [*range(batch, batch + len(contract_rhs))]
    if not in_order or _is_transpose(operation.operands[1]):
        return -_TRANSPOSED * elements
    if columns in _PART_OF_BLOCK and depth <= _SHALLOW:
        return _SAVED_OF_BLOCK * rows * columns * repeats - _BEGIN
    if columns < _WIDE:
        return -_NARROW * rows * elements
    return _SAVED * elements if _FEW_ROWS < rows <= _MANY_ROWS else 0.0


def _saved_by_constant(product: constant_factors.Product) -> float:
    """Return the nanoseconds that a product by a constant takes less by Eigen's kernel."""
    is_whole = not product.has_blocks(processors())
    if is_whole and _is_transpose(product.operation.operands[1]):
        return -_TRANSPOSED * product.depth * product.columns
    return product.saved(processors())


def _saved_by_convolution(operation: ir.Operation) -> float:
    """Return the nanoseconds that a convolution takes less by Eigen's kernel, on two processors."""
    lhs, rhs, out = [x.type for x in (*operation.operands, operation.results[0])]
    attributes = operation.attributes
    groups = [attributes[f"{x}_group_count"].value for x in ("feature", "batch")]
    is_float32 = all(isinstance(x.element_type, mlir.ir.F32Type) for x in (lhs, rhs, out))
    if not is_float32 or groups != [1, 1]:
        return -math.inf  # not measured
    numbers = mlir.hlo.ConvDimensionNumbers(attributes["dimension_numbers"])
    inputs, outputs = (
        rhs.shape[i]
        for i in (numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension)
    )
    pairs = zip(numbers.output_spatial_dimensions, numbers.input_spatial_dimensions, strict=True)
    sizes = [(out.shape[i], lhs.shape[j]) for i, j in pairs]
    grows = any(result > size for result, size in sizes)
    is_dilated = "lhs_dilation" in attributes and max(attributes["lhs_dilation"]) > 1
    if len(sizes) != 2 or max(inputs, outputs) <= _FEW_FEATURES or grows or is_dilated:
        return 0.0  # YNNPACK has no kernel for it
    kernel = [rhs.shape[i] for i in numbers.kernel_spatial_dimensions]
    patch, row = inputs * math.prod(kernel), inputs * kernel[-1]
    products = math.prod(out.shape) * patch
    if not products:
        return 0.0
    eigen = products * (_EIGEN_PRODUCT + (_EIGEN_COPY + _EIGEN_ROW / row) / outputs)
    if eigen > 2 * _START:
        eigen = eigen * _EIGEN_SHARE + _START
    is_divided = (sizes[-1][0] + outputs) * min(patch, _PATCH) > _DIVIDED
    share = _YNNPACK_SHARE if is_divided else 1.0
    ynnpack = products * (_YNNPACK_PRODUCT + _YNNPACK_ROW / row) * share
    saved: float = ynnpack + _YNNPACK_COPY * patch * outputs - eigen
    return saved


def _is_transpose(value: ir.Value) -> bool:
    """Return True for the transpose of an argument or a constant, which XLA does not copy.

    It copies others, such as those of the heads of an attention.
    """
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.transpose":
        return False
    source = owner.operands[0].owner
    return isinstance(source, mlir.ir.Block) or source.name == "stablehlo.constant"
