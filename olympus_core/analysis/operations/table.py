"""The table of operations of StableHLO and of HLO: the cost of each, and its properties.

An `OperationView` is a view of an operation of either dialect: a name, the types of operands and
results, and the few attributes that a cost depends on. `cost_of` looks up its name in `TABLE` and
returns `Counts`, or None for an operation without a cost in the table: its cost is unknown, never
free. The analyses of optimized programs query the properties of an opcode by `operation_of`.

The conventions of costs, which docs/explanation/cost.md explains and compares with XLA's:

- `flops` count floating-point and complex values only.  An elementwise operation that reads or
  writes one costs one per element; a comparison, a selection and a conversion too, as XLA counts.
  A complex addition costs 2, a complex multiplication 6.
- `transcendentals` (exp, log, tanh, sqrt, power, ...) are counted apart, one per element.
- `bytes` are those of the operands read and the results written.  A slice reads its result's size.
- The caller that walks the program adds the cost of control flow (while, case, call, ...).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from olympus_core.analysis.operations import formulas
from olympus_core.analysis.operations.factorizations import ROUTINES, Rule
from olympus_core.analysis.operations.view import (
    NOTHING,
    Counts,
    OperationView,
    WindowAxis,
    bits,
)


class Operation(NamedTuple):
    """A row of the table: the cost of an operation, and the properties that analyses query.

    The default of each property is the assumption for an operation that is not in the table: its
    cost is unknown, it runs as a kernel, and it reads all elements of its operands into a new
    result.
    """

    #: the cost of one execution; None if it is unknown, or counted by the caller
    cost: Rule | None = None
    #: the opcode of HLO, if it is not the name with hyphens; "-" if HLO has no such operation
    opcode: str = ""
    #: it runs computations as parts of the program; the caller that walks the program counts these
    is_control: bool = False
    #: an element of the result depends on the elements of the operands at its position only, so
    #: that the result may take the memory of an operand
    is_elementwise: bool = False
    #: each element of the result is a constant or an element of an operand, at any position
    is_movement: bool = False
    #: the result has all elements of its one operand, unchanged
    keeps_elements: bool = False
    #: the result is the memory of its operand, or a part of it, read in another form
    is_view: bool = False
    #: the elements of the result come from the first operand; the other operands are read whole
    is_slice: bool = False
    #: an analysis of aliases sees the operand itself as the result
    is_identity: bool = False
    #: the result takes the memory of the first operand
    is_in_place: bool = False
    #: it computes nothing inside of a fusion
    is_free_in_fusion: bool = False
    #: XLA:CPU's library of fused products needs no memory for its result
    is_free_in_library: bool = False
    #: no kernel: a name of values, or work done when the program is loaded
    is_free: bool = False
    #: XLA:CPU calls a library for it, or runs it in several threads
    is_library_call: bool = False


_UNKNOWN = Operation()


def operation_of(opcode: str) -> Operation:
    """Return the row of an HLO opcode; one of defaults for an opcode that the table lacks.

    >>> operation_of("add").is_elementwise, operation_of("dot").is_elementwise
    (True, False)
    """
    return _BY_OPCODE.get(opcode, _UNKNOWN)


def cost_of(op: OperationView) -> Counts | None:
    """Return the cost of one execution of `op`, or None if the table does not have it.

    >>> row = Tensor("float32", (8,))
    >>> cost_of(OperationView("add", (row, row), (row,)))
    Counts(flops=8, transcendentals=0, bytes=96, collective_bytes=0, matmul=...)
    """
    rule = TABLE.get(op.name, _UNKNOWN).cost
    return None if rule is None else rule(op)


def name_of(op: OperationView) -> str:
    """Return the name of an operation in messages; of a custom call `custom call foo`."""
    return f"custom call {op.attributes['target']}" if op.name == "custom_call" else op.name


def hlo_name(opcode: str) -> str:
    """Return the name of an HLO opcode in this table.

    >>> hlo_name("dynamic-update-slice"), hlo_name("dot")
    ('dynamic_update_slice', 'dot_general')
    """
    return _NAMES.get(opcode) or opcode.replace("-", "_")


# Elementwise operations


def _flops(plain: int, of_complex: int) -> Rule:
    """Return a rule of `plain` or `of_complex` flops per element, for float or complex values."""

    def rule(op: OperationView) -> Counts:
        flops = (of_complex if op.is_complex else plain) if op.has_floats else 0
        return Counts(flops=flops * op.results[0].elements, bytes=op.moved)

    return rule


def _transcendental(op: OperationView) -> Counts:
    """Count one transcendental for each element of the result; none for powers of integers."""
    count = op.results[0].elements if op.has_floats else 0
    return Counts(transcendentals=count, bytes=op.moved)


def _abs(op: OperationView) -> Counts:
    """Count an absolute value; |x + iy| is a square root of x^2 + y^2."""
    n = op.results[0].elements
    if op.is_complex:
        return Counts(flops=3 * n, transcendentals=n, bytes=op.moved)
    return Counts(flops=n if op.has_floats else 0, bytes=op.moved)


def _sign(op: OperationView) -> Counts:
    """Count a sign; of a complex number x / |x|: the magnitude, and two divisions."""
    n = op.results[0].elements
    if op.is_complex:
        return Counts(flops=5 * n, transcendentals=n, bytes=op.moved)
    return Counts(flops=n if op.has_floats else 0, bytes=op.moved)


# Operations that move data


def _moves(op: OperationView) -> Counts:
    return Counts(bytes=op.moved)


def _free(op: OperationView) -> Counts:
    """Count nothing: names, tuples, and operations that only compilers see."""
    return NOTHING


def _writes(op: OperationView) -> Counts:
    return Counts(bytes=sum([t.bytes for t in op.results]))


def _slice(op: OperationView) -> Counts:
    """Count a read and a write of the slice, and a read of the positions."""
    indices = sum([t.bytes for t in op.operands[1:]])
    return Counts(bytes=2 * op.results[0].bytes + indices)


def _update(op: OperationView) -> Counts:
    """Count a read and a write of the update; the rest of the array does not move."""
    indices = sum([t.bytes for t in op.operands[2:]])
    return Counts(bytes=2 * op.operands[1].bytes + indices)


def _scatter(op: OperationView) -> Counts:
    """Count a read of the updates and of the elements they change, and a write of the result."""
    count = (len(op.operands) - 1) // 2
    updates = op.operands[count + 1 :]
    size = 3 * sum([t.bytes for t in updates]) + op.operands[count].bytes
    return _applied(op, updates[0].elements).moving(size)


# Operations that apply a function


def _applied(op: OperationView, times: int, body: int = 0) -> Counts:
    """Count `times` applications of a body, and all bytes of operands and results."""
    counts = op.bodies[body]
    return Counts(counts.flops * times, counts.transcendentals * times, op.moved)


def _reduce(op: OperationView) -> Counts:
    """Count n - 1 applications for a reduction of n elements to one."""
    return _applied(op, max(0, op.operands[0].elements - op.results[0].elements))


def _map(op: OperationView) -> Counts:
    return _applied(op, op.results[0].elements)


def _reduce_window(op: OperationView) -> Counts:
    """Count the window's size less one for each result, with padding, as XLA counts.

    If each window is entirely before or after its position along one axis, it is a cumulative
    operation, which compilers run as one: one application for each element after the first. If each
    window has all elements of the axis, as TPUs reduce and broadcast, it is one reduction.
    """
    window, out = op.attributes["window"], op.results[0]
    size = math.prod([a.size for a in window])
    axis = _cumulative_axis(window, op.operands[0].sizes)
    if axis is not None:
        n = out.sizes[axis]
        return _applied(op, out.elements // n * (n - 1) if n else 0)
    return _applied(op, out.elements * max(0, size - 1))


def _cumulative_axis(window: Sequence[WindowAxis], sizes: Sequence[int]) -> int | None:
    """Return the axis along which a reduction by windows accumulates, or reduces all; or None."""
    wide = [i for i, a in enumerate(window) if a != WindowAxis(1)]
    if len(wide) != 1:
        return None
    n = sizes[wide[0]]
    axes = [WindowAxis(n, padding=s) for s in ((n - 1, 0), (0, n - 1))]
    axes.append(WindowAxis(2 * n - 1, padding=(n - 1, n - 1)))
    return wide[0] if window[wide[0]] in axes else None


def _select_and_scatter(op: OperationView) -> Counts:
    """Count a selection in each window, and a scatter of a source value to the selected element."""
    source = op.operands[1].elements
    size = math.prod([a.size for a in op.attributes["window"]])
    chosen, scattered = _applied(op, source * max(0, size - 1)), _applied(op, source, 1)
    return Counts(
        chosen.flops + scattered.flops,
        chosen.transcendentals + scattered.transcendentals,
        op.moved,
    )


def _rng(op: OperationView) -> Counts:
    """Count one transcendental per element for floats, as XLA counts."""
    out = op.results[0]
    return Counts(transcendentals=out.elements if out.is_float else 0, bytes=op.moved)


def _per_element_and_feature(flops: int, of_feature: int) -> Rule:
    """Return the rule of a batch normalization, by flops of each element and each feature."""

    def rule(op: OperationView) -> Counts:
        elements, features = op.operands[0].elements, op.operands[1].elements
        return Counts(flops * elements + of_feature * features, features, op.moved)

    return rule


# Products


def _multiply_adds(op: OperationView, count: int) -> Counts:
    """Count `count` multiply-adds of the two operands: 2 flops each, 8 for complex numbers."""
    pair = op.operands[:2]
    widest = max(pair, key=lambda t: bits(t.dtype))
    flops = count * (8 if any(t.is_complex for t in pair) else 2)
    is_float = any(t.is_float for t in (*pair, op.results[0]))
    matmul = {widest.dtype: flops} if flops else {}
    return Counts(flops if is_float else 0, 0, op.moved, 0, matmul)


def _dot(op: OperationView) -> Counts:
    lhs, result = op.operands[0], op.results[0]
    default = (len(lhs.sizes) - 1,) if lhs.sizes else ()
    contracting = op.attributes.get("lhs_contracting", default)
    return _multiply_adds(op, result.elements * math.prod([lhs.sizes[i] for i in contracting]))


def _ragged_dot(op: OperationView) -> Counts:
    """Count the product of each row of the left operand with one matrix of the right operand."""
    lhs, result = op.operands[0], op.results[0]
    summed = math.prod([lhs.sizes[i] for i in op.attributes["lhs_contracting"]])
    if op.attributes.get("ragged_is_contracting"):  # a result for each group, from its rows only
        return _multiply_adds(op, result.elements // max(1, result.sizes[0]) * summed)
    return _multiply_adds(op, result.elements * summed)


def _convolution(op: OperationView) -> Counts:
    """Count the taps that read an element; those in padding and in holes of dilation cost nothing.

    XLA counts in the same way.
    """
    out, kernel, of = op.results[0], op.operands[1], op.attributes
    taps = 1
    for axis, i, o in zip(of["window"], of["input_spatial"], of["output_spatial"], strict=True):
        taps *= axis.taps(op.operands[0].sizes[i], out.sizes[o])
    others = [n for i, n in enumerate(out.sizes) if i not in of["output_spatial"]]
    return _multiply_adds(op, math.prod(others) * kernel.sizes[of["kernel_features"]] * taps)


def _einsum(op: OperationView) -> Counts:
    """Count a multiply-add for each combination of the indices; of one operand an addition."""
    sides = op.attributes["equation"].split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for labels, operand in zip(sides, op.operands, strict=True):
        sizes.update(zip(labels, operand.sizes, strict=True))
    count = math.prod(sizes.values())
    if len(sides) == 2:
        return _multiply_adds(op, count)
    added = max(0, count - op.results[0].elements)
    return Counts(added * (2 if op.is_complex else 1) if op.has_floats else 0, 0, op.moved)


# Transforms


def _fft(op: OperationView) -> Counts:
    lengths, kind = op.attributes["fft_length"], op.attributes["fft_type"]
    side = op.results[0] if kind == "IRFFT" else op.operands[0]
    count = side.elements // max(1, math.prod(lengths))
    flops = formulas.fft(lengths, of_real=kind in ("RFFT", "IRFFT"))
    return Counts(flops=count * flops, bytes=op.moved)


# Custom calls, by the routine or the target

#: the libraries' prefixes and suffixes of a routine's name, as in `lapack_sgetrf_ffi`
_ROUTINE = re.compile(
    r"(?:lapack_[sdcz]|(?:cu|hip|roc)(?:solver|blas|sparse)_)([a-z]+[0-9]?)(?:_batched)?(?:_ffi)?$"
)

#: targets whose name is all there is to know of them
TARGETS: Mapping[str, Rule] = {
    "TopK": _moves,
    "mhlo.topk": _moves,
    "ApproxTopK": _moves,
    "PartialReduce": _moves,
    "__gpu$TopK": _moves,
    "__cub$DeviceRadixSort": _moves,
    "__cub$DeviceRadixSortUnassignedScratchSize": _moves,
    "cu_threefry2x32": _moves,  # integers alone
    "cu_threefry2x32_ffi": _moves,
    "hip_threefry2x32_ffi": _moves,
    "cu_lu_pivots_to_permutation": _moves,
    "hip_lu_pivots_to_permutation": _moves,
    "LuPivotsToPermutation": _moves,
    "Sharding": _free,
    "SPMDFullToShardShape": _free,
    "SPMDShardToFullShape": _free,
    "LayoutConstraint": _free,
    "annotate_device_placement": _moves,
    "MoveToHost": _moves,
    "MoveToDevice": _moves,
    "AllocateBuffer": _free,
    "AssumeGatherIndicesInBound": _free,
    # of the compiler for TPUs: marks, parts that are one array in memory, and packed indices
    "AsyncCollectiveStart": _free,
    "AsyncCollectiveDone": _free,
    "ConcatBitcast": _free,
    "GatherScatterIndicesBitpacked": _moves,
    "mhlo.erf": _transcendental,
    "Cholesky": ROUTINES["potrf"],
    "LuDecomposition": ROUTINES["getrf"],
    "Qr": ROUTINES["geqrf"],
    "QrDecomposition": ROUTINES["geqrf"],
    "ProductOfElementaryHouseholderReflectors": ROUTINES["orgqr"],
    "Eigh": ROUTINES["syevd"],
    "TriangularSolve": ROUTINES["trsm"],
    "tridiagonal_solve_perturbed_ffi": ROUTINES["gtsv"],
    "__cusolver$cholesky": ROUTINES["potrf"],
    "__cublas$triangularSolve": ROUTINES["trsm"],
}

#: libraries' products and convolutions: known where the view has the attribute that these need
LIBRARIES: Mapping[str, tuple[str, Rule]] = {
    "__cublas$": ("lhs_contracting", _dot),
    "__onednn$matmul": ("lhs_contracting", _dot),
    "__cudnn$conv": ("window", _convolution),
    "__onednn$conv": ("window", _convolution),
}


def _custom_call(op: OperationView) -> Counts | None:
    target = op.attributes["target"]
    if target in TARGETS:
        return TARGETS[target](op)
    if match := _ROUTINE.match(target):
        of_routine = ROUTINES.get(match.group(1))
        return None if of_routine is None else of_routine(op)
    for start, (attribute, rule) in LIBRARIES.items():
        if target.startswith(start) and attribute in op.attributes:
            return rule(op)
    return None


# Collectives


def _collective(op: OperationView) -> Counts:
    """Count the bytes that enter or leave a device, whichever is more, and a reduction's body."""
    ins, outs = (sum([t.bytes for t in side]) for side in (op.operands, op.results))
    counts = Counts(0, 0, ins + outs, max(ins, outs))
    if not op.bodies:
        return counts
    applied = _applied(op, sum([t.elements for t in op.results]))
    return counts._replace(flops=applied.flops, transcendentals=applied.transcendentals)


# The table, by the names of StableHLO and CHLO without their dialects, and of HLO

_ROWS: list[tuple[str, Operation]] = [
    # elementwise: flops of an element, and of a complex one
    ("add subtract negate compare", Operation(_flops(1, 2), is_elementwise=True)),
    ("multiply square", Operation(_flops(1, 6), is_elementwise=True)),
    # x conj(y) / |y|^2: 6 + 3, and two divisions
    ("divide", Operation(_flops(1, 11), is_elementwise=True)),
    (
        "floor ceil round_nearest_even round_nearest_afz convert stochastic_convert select clamp "
        "maximum minimum remainder is_finite is_inf is_pos_inf is_neg_inf reduce_precision "
        "next_after uniform_dequantize uniform_quantize conj",
        Operation(_flops(1, 1), is_elementwise=True),
    ),
    (
        "and or xor not shift_left shift_right_arithmetic shift_right_logical popcnt "
        "count_leading_zeros mulhi real imag complex",
        Operation(_flops(0, 0), is_elementwise=True),
    ),
    ("abs", Operation(_abs, is_elementwise=True)),
    ("sign", Operation(_sign, is_elementwise=True)),
    (
        "exponential exponential_minus_one log log_plus_one logistic tanh sine cosine tan sqrt "
        "rsqrt cbrt power atan2 erf erfc erf_inv lgamma digamma polygamma zeta asin acos atan "
        "sinh cosh asinh acosh atanh bessel_i1e _asin_acos_kernel",
        Operation(_transcendental, is_elementwise=True),
    ),
    ("bitcast_convert", Operation(_moves, is_elementwise=True)),
    # movement of elements
    (
        "reshape",
        Operation(
            _moves,
            is_movement=True,
            keeps_elements=True,
            is_view=True,
            is_free_in_fusion=True,
            is_free_in_library=True,
        ),
    ),
    (
        "bitcast",
        Operation(
            _free,
            is_movement=True,
            keeps_elements=True,
            is_view=True,
            is_identity=True,
            is_free_in_fusion=True,
            is_free_in_library=True,
            is_free=True,
        ),
    ),
    ("transpose", Operation(_moves, is_movement=True, keeps_elements=True)),
    (
        "copy",
        Operation(_moves, is_movement=True, keeps_elements=True, is_free_in_fusion=True),
    ),
    (
        "broadcast_in_dim",
        Operation(
            _moves,
            opcode="broadcast",
            is_movement=True,
            is_free_in_fusion=True,
            is_free_in_library=True,
        ),
    ),
    ("broadcast", Operation(_moves, opcode="-", is_movement=True)),
    ("concatenate pad reverse", Operation(_moves, is_movement=True)),
    (
        "dynamic_reshape dynamic_broadcast_in_dim dynamic_pad sort rng_bit_generator infeed "
        "outfeed send recv set_dimension_size copy_start",
        Operation(_moves),
    ),
    ("copy_done", Operation(_moves, is_free=True)),
    ("top_k", Operation(_moves, opcode="topk")),
    ("iota", Operation(_writes, is_free_in_fusion=True)),
    ("dynamic_iota", Operation(_writes)),
    ("slice dynamic_slice gather", Operation(_slice, is_slice=True)),
    ("real_dynamic_slice dynamic_gather torch_index_select", Operation(_slice)),
    ("dynamic_update_slice", Operation(_update, is_in_place=True)),
    ("scatter", Operation(_scatter, is_in_place=True)),
    # values, tokens and marks
    (
        "parameter constant",
        Operation(_free, is_free_in_fusion=True, is_free_in_library=True, is_free=True),
    ),
    ("tuple", Operation(_free, is_free_in_fusion=True, is_free=True)),
    ("get_tuple_element", Operation(_free, is_view=True, is_free_in_fusion=True, is_free=True)),
    (
        "optimization_barrier",
        Operation(_free, opcode="opt-barrier", is_identity=True, is_free=True),
    ),
    ("domain add_dependency async_update", Operation(_free, is_identity=True, is_free=True)),
    (
        "after_all partition_id replica_id async_done all_reduce_done all_gather_done send_done "
        "recv_done collective_permute_done",
        Operation(_free, is_free=True),
    ),
    (
        "constant_like create_token return get_dimension_size rng_get_and_update_state "
        "sharding_constraint mesh sharding_group propagation_barrier",
        Operation(_free),
    ),
    # operations that apply a function
    ("reduce", Operation(_reduce)),
    ("map", Operation(_map)),
    ("reduce_window", Operation(_reduce_window)),
    ("select_and_scatter", Operation(_select_and_scatter)),
    ("rng", Operation(_rng)),
    ("batch_norm_inference", Operation(_per_element_and_feature(4, 1))),
    ("batch_norm_training", Operation(_per_element_and_feature(8, 3))),
    ("batch_norm_grad", Operation(_per_element_and_feature(10, 3))),
    # products, transforms and factorizations
    ("dot_general", Operation(_dot, opcode="dot")),
    ("dot", Operation(_dot, opcode="-")),
    ("ragged_dot", Operation(_ragged_dot)),
    ("convolution", Operation(_convolution, is_library_call=True)),
    ("dynamic_conv", Operation(_convolution)),
    ("einsum unary_einsum", Operation(_einsum)),
    ("fft", Operation(_fft, is_library_call=True)),
    ("cholesky", Operation(ROUTINES["potrf"])),
    ("triangular_solve", Operation(ROUTINES["trsm"])),
    ("custom_call", Operation(_custom_call)),
    # collectives
    (
        "all_reduce all_gather reduce_scatter all_to_all ragged_all_to_all collective_permute "
        "collective_broadcast all_gather_start collective_permute_start",
        Operation(_collective, is_library_call=True),
    ),
    ("all_reduce_start", Operation(_collective, is_library_call=True, is_in_place=True)),
    ("collective_reduce cross-replica-sum", Operation(_collective)),
    # control flow, and fusions, which are kernels
    ("while if call composite async_start", Operation(is_control=True)),
    ("case", Operation(opcode="conditional", is_control=True)),
    ("fusion", Operation()),
]

TABLE: Mapping[str, Operation] = MappingProxyType(
    {name: row for names, row in _ROWS for name in names.split()}
)
_NAMES = {
    row.opcode or name.replace("_", "-"): name for name, row in TABLE.items() if row.opcode != "-"
}
_BY_OPCODE = {opcode: TABLE[name] for opcode, name in _NAMES.items()}

#: The names of all operations with a cost, which `Cost.by("operation")` returns.
OPERATIONS = frozenset(name for name, row in TABLE.items() if row.cost is not None)
