"""The work and traffic of a fusion: of each value in it, the part that its result needs.

XLA's code for a fusion computes an element when it is needed: one row for `exp(x)[3]`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from olympus_core.analysis.hlo.hlo_view import Costs, sum_of
from olympus_core.analysis.operations.table import operation_of
from olympus_core.analysis.operations.view import Counts
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction, Shape


class Fused(NamedTuple):
    """The cost of one call of a fusion, and the bytes that it reads and writes."""

    counts: Counts
    read: int
    written: int


def fused(fusion: Instruction, module: HloModule, costs: Costs) -> Fused:
    """Return the cost of a call of a fusion, including nested fusions."""
    body = module.computations[fusion.called_computation_ids[0]]
    needed = _Needed(module)
    used = needed.of(body, _elements(body.root.shape))
    read = sum(_share(p.shape.bytes, used.get(p.id, 0), p.shape) for p in body.parameters)
    counts = sum_of(needed.counts(body, used, costs))
    return Fused(counts, read, _written(body.root, body))


def plain(counts: Counts) -> Counts:
    """Return the counts of an instruction, with integer products among the flops."""
    products = sum(counts.matmul.values())
    return counts._replace(flops=products) if products > counts.flops else counts


class _Needed:
    """The number of needed elements of each value of a fusion."""

    def __init__(self, module: HloModule) -> None:
        self._module = module

    def of(self, body: Computation, wanted: int) -> dict[int, int]:
        """Return the needed elements by instruction, for `wanted` elements of the root.

        Slices of a value may read different places: their elements are added. All other users are
        assumed to use the same elements, so the largest number counts. Instructions that need none
        are absent.
        """
        separate: dict[int, int] = {}
        shared: dict[int, int] = {body.root_id: wanted}
        counts: dict[int, int] = {}
        for instruction in reversed([*body.instructions.values()]):  # users before operands
            id = instruction.id
            requested = separate.get(id, 0) + shared.get(id, 0)
            if not requested:
                continue
            counts[id] = count = min(requested, _elements(instruction.shape))
            inner = self._inside(instruction, count)
            is_slice = operation_of(instruction.opcode).is_slice or inner is not None
            for position, operand in enumerate(instruction.operand_ids):
                if inner is not None:
                    more = inner[position]
                else:
                    more = _needed_elements(instruction, position, count, body)
                if is_slice:
                    separate[operand] = separate.get(operand, 0) + more
                else:
                    shared[operand] = max(shared.get(operand, 0), more)
        return counts

    def _inside(self, instruction: Instruction, wanted: int) -> list[int] | None:
        """Return the elements that a nested fusion needs of each operand; None for others."""
        if instruction.opcode != "fusion":
            return None
        body = self._module.computations[instruction.called_computation_ids[0]]
        used = self.of(body, wanted)
        return [used.get(parameter.id, 0) for parameter in body.parameters]

    def counts(self, body: Computation, used: dict[int, int], costs: Costs) -> list[Counts]:
        """Return the costs of the used parts of a body's instructions."""
        parts = []
        for id, count in used.items():
            instruction = body.instructions[id]
            if operation_of(instruction.opcode).is_free_in_fusion:
                continue
            if instruction.opcode == "fusion":
                inner = self._module.computations[instruction.called_computation_ids[0]]
                parts += self.counts(inner, self.of(inner, count), costs)
            else:
                parts.append(_scaled(plain(costs.of(instruction, body)), count, instruction.shape))
        return parts


def _elements(shape: Shape) -> int:
    """Return the number of elements of an array, or of all arrays of a tuple."""
    if not shape.elements:
        return math.prod(shape.sizes)
    return sum(_elements(element) for element in shape.elements)


def _share(figure: int, count: int, shape: Shape) -> int:
    """Return the share of `count` elements in a figure of all elements, rounded up."""
    whole = _elements(shape)
    return figure if count >= whole else -(-figure * count // whole)


def _scaled(counts: Counts, count: int, shape: Shape) -> Counts:
    if count >= _elements(shape):
        return counts
    return counts._replace(
        flops=_share(counts.flops, count, shape),
        transcendentals=_share(counts.transcendentals, count, shape),
        matmul={dtype: _share(n, count, shape) for dtype, n in counts.matmul.items()},
    )


def _needed_elements(user: Instruction, position: int, count: int, body: Computation) -> int:
    """Return the elements of an operand that `count` elements of an instruction's result need."""
    whole = _elements(body.instructions[user.operand_ids[position]].shape)
    opcode, operation = user.opcode, operation_of(user.opcode)
    if operation.is_elementwise or operation.is_movement:
        return min(whole, count)
    if operation.is_slice and position == 0:
        return min(whole, count)
    if opcode == "reduce":
        return min(whole, count * -(-whole // max(1, _elements(user.shape))))
    if opcode == "dynamic-update-slice" and position < 2:
        # an update in place leaves the other elements unchanged
        stays = position == 0 and _is_result(user, body) and _is_in_place(user, body)
        return 0 if stays else min(whole, count)
    return whole


def _is_result(update: Instruction, body: Computation) -> bool:
    """Return True if an update is the root or in its tuple, or if the root is a view of it."""
    root = _behind_views(body.root, body)
    if root.opcode != "tuple":
        roots = [root]
    else:
        roots = [_behind_views(body.instructions[id], body) for id in root.operand_ids]
    while roots:
        one = roots.pop()
        if one.id == update.id:
            return True
        if one.opcode == "dynamic-update-slice":  # one after another, of one array
            roots.append(_behind_views(body.instructions[one.operand_ids[0]], body))
    return False


def _is_in_place(update: Instruction, body: Computation) -> bool:
    """Return True if the updated array is an operand of the fusion, updated in place."""
    while update.opcode == "dynamic-update-slice":
        update = _behind_views(body.instructions[update.operand_ids[0]], body)
    return update.opcode == "parameter"


def _behind_views(value: Instruction, body: Computation) -> Instruction:
    """Return the value behind a view."""
    while operation_of(value.opcode).is_view:
        value = body.instructions[value.operand_ids[0]]
    return value


def _written(root: Instruction, body: Computation) -> int:
    """Return the bytes that a fusion writes; of an array that is updated in place, the updates."""
    if root.opcode == "tuple":
        return sum(_written(body.instructions[id], body) for id in root.operand_ids)
    seen, updates = _behind_views(root, body), 0
    if seen.opcode != "dynamic-update-slice" or not _is_in_place(seen, body):
        return root.shape.bytes
    while seen.opcode == "dynamic-update-slice":
        updates += body.instructions[seen.operand_ids[1]].shape.bytes
        seen = _behind_views(body.instructions[seen.operand_ids[0]], body)
    return updates
