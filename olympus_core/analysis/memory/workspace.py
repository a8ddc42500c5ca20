"""An upper bound of the memory that the CPU's fused kernels allocate by themselves.

XLA:CPU gives matrix products, with the operations around them, to a library (YNNPACK) as fusions
of kind "kCustom".  The library allocates the values between these operations and packed copies of
the operands while a kernel runs, and Eigen packs blocks of the operands of other products: no
buffer assignment contains them.

Sources: `EmitYnnSubgraph` (xla/backends/cpu/ynn_emitter.cc), `define_pack_b`
(ynnpack/subgraph/dot.cc of XNNPACK), `ThunkExecutor` (xla/backends/cpu/runtime/thunk_executor.cc).
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence

from olympus_core.analysis.operations.table import operation_of
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction, Shape

_TILE = 64  # columns, or bytes of a column: packed operands are padded to a multiple of it
_CACHE = 16 * 2**20  # bytes: above the second-level cache, by which packed blocks are sized
_X86 = ("x86_64", "AMD64")  # where only the right operand is packed


class Workspaces:
    """Upper bounds of the bytes that the kernels of a CPU program allocate while they run.

    `threads` is the number of kernels that may run at the same time beside another one.

    Example:
      >>> Workspaces(executable.hlo_module(), threads=2).most()
      2097152
    """

    def __init__(self, module: HloModule, threads: int) -> None:
        self._module = module
        self._threads = threads
        self._by_form: dict[int, int] = {}
        self._by_computation: dict[int, int] = {}

    def most(self) -> int:
        """Return the bytes of all kernels that may run at the same time."""
        return self._most(self._module.entry)

    def of(self, instruction: Instruction, computation: Computation) -> int:
        """Return the bytes that one kernel allocates; 0 for an instruction without a workspace."""
        if instruction.opcode == "dot":
            return _blocks(instruction, computation)
        if instruction.opcode != "fusion" or instruction.fusion_kind != "kCustom":
            return 0
        body = self._module.computations[instruction.called_computation_ids[0]]
        if body.form not in self._by_form:
            self._by_form[body.form] = _allocated(body)
        return self._by_form[body.form]

    def _most(self, computation: Computation) -> int:
        if computation.id not in self._by_computation:
            self._by_computation[computation.id] = self._concurrent(computation)
        return self._by_computation[computation.id]

    def _part(self, instruction: Instruction, computation: Computation) -> int:
        """Return the bytes that an instruction allocates, with those of its computations."""
        if not operation_of(instruction.opcode).is_control:
            return self.of(instruction, computation)
        called = instruction.called_computation_ids
        return max((self._most(self._module.computations[id]) for id in called), default=0)

    def _concurrent(self, computation: Computation) -> int:
        """Return the largest sum over a kernel and the largest kernels that may run beside it.

        The runtime starts a kernel when its operands are ready, on any of its threads.
        """
        sizes: list[int] = []
        before: list[int] = []  # bits of the kernels that each one waits for
        reached: dict[int, int] = {}
        for instruction in self._module.ordered(computation):
            waits = 0
            for id in (*instruction.operand_ids, *instruction.control_predecessor_ids):
                waits |= reached.get(id, 0)
            if size := self._part(instruction, computation):
                sizes.append(size)
                before.append(waits)
                waits |= 1 << len(sizes) - 1
            reached[instruction.id] = waits
        largest = sorted(range(len(sizes)), key=lambda k: -sizes[k])
        return max((self._beside(k, sizes, before, largest) for k in largest), default=0)

    def _beside(
        self, kernel: int, sizes: Sequence[int], before: Sequence[int], largest: Sequence[int]
    ) -> int:
        total, others = sizes[kernel], 0
        for other in largest:
            if others == self._threads:
                break
            ordered = before[kernel] >> other & 1 or before[other] >> kernel & 1
            if other != kernel and not ordered:
                total, others = total + sizes[other], others + 1
        return total


def _allocated(body: Computation) -> int:
    """Return the bytes of a fused computation's values and of packed operands, each once.

    Its operands and its result are the program's. The library keeps some values after their last
    use, so live ranges would give no bound.
    """
    return sum(
        sum(_packed(instruction, body))
        + (0 if instruction.id == body.root_id else instruction.shape.bytes)
        for instruction in body.instructions.values()
        if not operation_of(instruction.opcode).is_free_in_library
    )


def _blocks(product: Instruction, computation: Computation) -> int:
    """Return the bytes of the blocks that Eigen packs for a product outside of a fusion.

    It packs two slices of each operand at a time, and none for a product with a vector.
    """
    dims = product.dot_dimensions
    if dims is None:
        return 0
    lhs, rhs = (computation.instructions[id].shape for id in product.operand_ids[:2])
    rows = _columns(lhs, dims.lhs_contracting, dims.lhs_batch)
    columns = _columns(rhs, dims.rhs_contracting, dims.rhs_batch)
    return 2 * (lhs.bytes + rhs.bytes) if min(rows, columns) > 1 else 0


def _columns(shape: Shape, contracting: Sequence[int], batch: Sequence[int]) -> int:
    shared = {*contracting, *batch}
    return math.prod(size for d, size in enumerate(shape.sizes) if d not in shared)


def _packed(product: Instruction, body: Computation) -> Iterator[int]:
    """Yield the bytes of the packed copies of a product's operands, with padding."""
    dims = product.dot_dimensions
    if product.opcode != "dot" or dims is None:
        return
    lhs, rhs = (body.instructions[id].shape for id in product.operand_ids[:2])
    yield _filled(rhs, dims.rhs_contracting, dims.rhs_batch)
    if platform.machine() not in _X86:
        yield _filled(lhs, dims.lhs_contracting, dims.lhs_batch)


def _filled(shape: Shape, contracting: Sequence[int], batch: Sequence[int]) -> int:
    summed = math.prod(shape.sizes[d] for d in contracting)
    repeated = math.prod(shape.sizes[d] for d in batch)
    columns = _columns(shape, contracting, batch)
    column = -(-summed * shape.element_bits // (8 * _TILE)) * _TILE
    size = repeated * column * -(-columns // _TILE) * _TILE
    return size + min(size, _CACHE)
