"""Instructions of optimized HLO as the operations that `operations.py` has the costs of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olympus_core.analysis.operations import (
    CONTROL,
    NOTHING,
    Counts,
    Operation,
    Tensor,
    WindowAxis,
    cost_of,
    hlo_name,
)
from olympus_core.xla.hlo_module import Computation, HloModule, Instruction, Shape

__all__ = ["LIBRARY", "Costs", "operation"]

#: How the names of the targets begin that are a library's products and convolutions.
LIBRARY = ("__cublas$", "__cudnn$", "__onednn$")
#: The convolutions of derivatives are described by the one that they are of: the result of each is
#: an operand of that one, at this place, where they have its result.
_BACKWARD = {"__cudnn$convBackwardInput": 0, "__cudnn$convBackwardFilter": 1}
_DOT_NUMBERS = "dot_dimension_numbers"


def operation(
    instruction: Instruction, computation: Computation, bodies: tuple[Counts, ...] = ()
) -> Operation:
    """The view of an instruction; `bodies` are what the functions cost that it applies."""
    shapes = [computation.instructions[id].shape for id in instruction.operand_ids]
    operands = [tensor for shape in shapes for tensor in _tensors(shape)]
    results = list(_tensors(_result(instruction)))
    if (place := _BACKWARD.get(instruction.custom_call_target)) is not None:
        operands[place], results[0] = results[0], operands[place]
    return Operation(
        hlo_name(instruction.opcode),
        tuple(operands),
        tuple(results),
        _attributes(instruction, shapes),
        bodies,
    )


def _result(instruction: Instruction) -> Shape:
    """The type of the result, without the working memory that a library's call gives too."""
    shape = instruction.shape
    is_library = instruction.custom_call_target.startswith(LIBRARY)
    if is_library and len(shape.elements) > 1 and shape.elements[-1].dtype in ("int8", "uint8"):
        return shape._replace(elements=shape.elements[:-1])
    return shape


def _tensors(shape: Shape) -> Iterator[Tensor]:
    return (Tensor(leaf.dtype, leaf.sizes) for _, leaf in shape.leaves() if leaf.element_bits)


def _attributes(instruction: Instruction, operands: list[Shape]) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    if instruction.opcode == "custom-call":
        made["target"] = instruction.custom_call_target
        made |= _library_dot(instruction)
    if instruction.dot_dimensions is not None:
        made["lhs_contracting"] = instruction.dot_dimensions.lhs_contracting
    if instruction.window:
        made["window"] = tuple(
            WindowAxis(
                d.size, d.stride, (d.padding_low, d.padding_high), d.base_dilation,
                d.window_dilation,
            )
            for d in instruction.window
        )  # fmt: skip
    if (numbers := instruction.convolution_dimensions) is not None:
        made |= {
            "input_spatial": numbers.input_spatial,
            "output_spatial": numbers.output_spatial,
            "kernel_features": numbers.kernel_input_feature,
        }
        if not instruction.window:  # a convolution of no axes in space
            made["window"] = ()
    if instruction.opcode == "fft":
        made |= {"fft_length": instruction.fft_length, "fft_type": _fft_type(instruction, operands)}
    return made


def _library_dot(instruction: Instruction) -> dict[str, Any]:
    """What a library's product sums over, which its configuration says."""
    for part in instruction.config().values():
        if isinstance(part, dict) and isinstance(part.get(_DOT_NUMBERS), dict):
            axes = part[_DOT_NUMBERS].get("lhs_contracting_dimensions", [])
            return {"lhs_contracting": tuple(int(axis) for axis in axes)}
    return {}


def _fft_type(instruction: Instruction, operands: list[Shape]) -> str:
    """The kind of transform; to count it, one and its inverse are alike."""
    if not operands[0].dtype.startswith("complex"):
        return "RFFT"
    return "FFT" if instruction.shape.dtype.startswith("complex") else "IRFFT"


class Costs:
    """What the instructions of a module cost when they are executed once.

    `unknown` gets the name of each instruction whose cost is not known; `met` counts how often one
    was met, in a function that an instruction applies too.
    """

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._bodies: dict[int, tuple[Counts, int]] = {}  # and how many are unknown in it
        self.unknown: dict[str, Instruction] = {}
        self.met = 0

    def of(self, instruction: Instruction, computation: Computation) -> Counts:
        """The cost of an instruction, of a fusion that of all that it has in it."""
        called = tuple(self.body(id) for id in instruction.called_computation_ids)
        view = operation(instruction, computation, called)
        if instruction.opcode in ("fusion", "call") or view.name in CONTROL:
            return sum_of(called).moving(view.moved)
        found = cost_of(view)
        if found is None:
            self.unknown.setdefault(instruction.name, instruction)
            self.met += 1
            return sum_of(called).moving(view.moved)
        return found

    def body(self, id: int) -> Counts:
        """The cost of a computation that something applies, all its instructions once."""
        if id in self._bodies:
            counts, met = self._bodies[id]
            self.met += met
            return counts
        before, computation = self.met, self._module.computations[id]
        counts = sum_of([self.of(i, computation) for i in computation.instructions.values()])
        self._bodies[id] = counts, self.met - before
        return counts


def sum_of(parts: Any) -> Counts:
    """The sum of counts."""
    total, matmul = NOTHING, dict[str, int]()
    for part in parts:
        total = Counts(
            total.flops + part.flops,
            total.transcendentals + part.transcendentals,
            total.bytes + part.bytes,
            total.collective_bytes + part.collective_bytes,
        )
        for dtype, flops in part.matmul.items():
            matmul[dtype] = matmul.get(dtype, 0) + flops
    return total._replace(matmul=matmul)
