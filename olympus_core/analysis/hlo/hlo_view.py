"""Instructions of optimized HLO as operations that the table can cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus_core.analysis.operations.table import cost_of, hlo_name, operation_of
from olympus_core.analysis.operations.view import (
    NOTHING,
    Counts,
    OperationView,
    Tensor,
    WindowAxis,
)
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction, Shape

#: The prefixes of custom call targets that are a library's products and convolutions.
LIBRARY = ("__cublas$", "__cudnn$", "__onednn$")
#: The convolutions of derivatives are described by the forward convolution. The result of each is
#: the operand of the forward one at this index, and its operand there is the forward result.
_BACKWARD = {"__cudnn$convBackwardInput": 0, "__cudnn$convBackwardFilter": 1}
_DOT_NUMBERS = "dot_dimension_numbers"


def operation(
    instruction: Instruction, computation: Computation, bodies: tuple[Counts, ...] = ()
) -> OperationView:
    """Return the view of an instruction; `bodies` are the costs of its functions."""
    shapes = [computation.instructions[id].shape for id in instruction.operand_ids]
    operands = [tensor for shape in shapes for tensor in _tensors(shape)]
    results = list(_tensors(_result(instruction)))
    if (place := _BACKWARD.get(instruction.custom_call_target)) is not None:
        operands[place], results[0] = results[0], operands[place]
    return OperationView(
        hlo_name(instruction.opcode),
        tuple(operands),
        tuple(results),
        _attributes(instruction, shapes),
        bodies,
    )


def _result(instruction: Instruction) -> Shape:
    """Return the type of the result, without the workspace that a library's call returns too."""
    shape = instruction.shape
    is_library = instruction.custom_call_target.startswith(LIBRARY)
    if is_library and len(shape.elements) > 1 and shape.elements[-1].dtype in ("int8", "uint8"):
        return shape._replace(elements=shape.elements[:-1])
    return shape


def _tensors(shape: Shape) -> Iterator[Tensor]:
    return (Tensor(leaf.dtype, leaf.sizes) for _, leaf in shape.leaves() if leaf.element_bits)


def _attributes(instruction: Instruction, operands: list[Shape]) -> Mapping[str, Any]:
    attributes: dict[str, Any] = {}
    if instruction.opcode == "custom-call":
        attributes["target"] = instruction.custom_call_target
        attributes |= _library_dot(instruction)
    if instruction.dot_dimensions is not None:
        attributes["lhs_contracting"] = instruction.dot_dimensions.lhs_contracting
    if instruction.window:
        attributes["window"] = tuple(
            WindowAxis(
                d.size, d.stride, (d.padding_low, d.padding_high), d.base_dilation,
                d.window_dilation,
            )
            for d in instruction.window
        )  # fmt: skip
    if (numbers := instruction.convolution_dimensions) is not None:
        attributes |= {
            "input_spatial": numbers.input_spatial,
            "output_spatial": numbers.output_spatial,
            "kernel_features": numbers.kernel_input_feature,
        }
        if not instruction.window:  # a convolution without spatial axes
            attributes["window"] = ()
    if instruction.opcode == "fft":
        attributes |= {
            "fft_length": instruction.fft_length,
            "fft_type": _fft_type(instruction, operands),
        }
    return attributes


def _library_dot(instruction: Instruction) -> dict[str, Any]:
    """Return the contracted axes of a library's product, from its configuration."""
    for part in instruction.config().values():
        if isinstance(part, dict) and isinstance(part.get(_DOT_NUMBERS), dict):
            axes = part[_DOT_NUMBERS].get("lhs_contracting_dimensions", [])
            return {"lhs_contracting": tuple(int(axis) for axis in axes)}
    return {}


def _fft_type(instruction: Instruction, operands: list[Shape]) -> str:
    """Return the kind of transform; its count is equal for a transform and its inverse."""
    if not operands[0].dtype.startswith("complex"):
        return "RFFT"
    return "FFT" if instruction.shape.dtype.startswith("complex") else "IRFFT"


class Costs:
    """The cost of the instructions of a module, each executed once.

    `unknown` has each instruction of unknown cost by name. `met` counts the occurrences of such
    instructions, including those in functions that an instruction applies.
    """

    def __init__(self, module: HloModule) -> None:
        self._module = module
        # the counts and the number of unknown instructions
        self._bodies: dict[int, tuple[Counts, int]] = {}
        self.unknown: dict[str, Instruction] = {}
        self.met = 0

    def of(self, instruction: Instruction, computation: Computation) -> Counts:
        """Return the cost of an instruction; of a fusion, the cost of its whole body."""
        called = tuple(self.body(id) for id in instruction.called_computation_ids)
        view = operation(instruction, computation, called)
        if instruction.opcode == "fusion" or operation_of(instruction.opcode).is_control:
            return sum_of(called).moving(view.moved)
        counts = cost_of(view)
        if counts is None:
            self.unknown.setdefault(instruction.name, instruction)
            self.met += 1
            return sum_of(called).moving(view.moved)
        return counts

    def body(self, id: int) -> Counts:
        """Return the cost of a computation that an instruction applies, each instruction once."""
        if id in self._bodies:
            counts, met = self._bodies[id]
            self.met += met
            return counts
        before, computation = self.met, self._module.computations[id]
        counts = sum_of([self.of(i, computation) for i in computation.instructions.values()])
        self._bodies[id] = counts, self.met - before
        return counts


def sum_of(parts: Any) -> Counts:
    """Return the sum of counts."""
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


def is_offloaded(
    instruction: Instruction, called: Sequence[Computation], computation: Computation
) -> bool:
    """Return True for a custom call of a computation of its operands, on the sparse cores of a TPU.

    Other custom calls with a computation have a function of elements, such as a comparison.
    """
    if instruction.opcode != "custom-call" or len(called) != 1:
        return False
    operands = [computation.instructions[id].shape for id in instruction.operand_ids]
    parameters = [parameter.shape for parameter in called[0].parameters]
    return bool(operands) and operands == parameters
