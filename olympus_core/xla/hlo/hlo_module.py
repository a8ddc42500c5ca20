"""An optimized program in XLA's HLO: computations, instructions and their types.

`hlo_reader` reads one from the bytes that XLA writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olympus_core.xla.hlo.replica_groups import Groups


class Shape(NamedTuple):
    """The type of a value: an array, or a tuple of types.

    `dtype` is NumPy's long name such as "float32", or "tuple", "token" or "opaque".
    `minor_to_major` is the layout: the dimensions from the fastest to the slowest; None without.
    `element_bits` is the size of an element in memory. `tiles` are those of a TPU's layout: the
    first one divides the fastest dimensions, and each other one the tile before it.
    """

    dtype: str
    sizes: tuple[int, ...] = ()
    minor_to_major: tuple[int, ...] | None = None
    elements: tuple[Shape, ...] = ()
    element_bits: int = 0
    memory_space: int = 0
    tiles: tuple[tuple[int, ...], ...] = ()

    @property
    def is_tuple(self) -> bool:
        """True for a tuple, whose `elements` are types."""
        return self.dtype == "tuple"

    @property
    def bytes(self) -> int:
        """The bytes of an array, or of all the arrays of a tuple; its table of pointers aside."""
        if self.elements:
            return sum(element.bytes for element in self.elements)
        return -(-math.prod(self.sizes) * self.element_bits // 8)

    @property
    def padded_bytes(self) -> int:
        """The bytes in memory, with the padding of the layout's tiles.

        >>> Shape("float32", (100_000, 3), (1, 0), element_bits=32, tiles=((8, 128),)).padded_bytes
        51200000
        """
        if self.elements:
            return sum(element.padded_bytes for element in self.elements)
        if not self.tiles or self.minor_to_major is None:
            return self.bytes
        sizes = [self.sizes[dimension] for dimension in reversed(self.minor_to_major)]
        for tile in self.tiles:
            if min(tile, default=1) < 1:  # it combines dimensions, and pads none
                continue
            sizes = [1] * (len(tile) - len(sizes)) + sizes
            at = len(sizes) - len(tile)
            parts = [-(-size // part) for size, part in zip(sizes[at:], tile, strict=True)]
            sizes = [*sizes[:at], *parts, *tile]
        return -(-math.prod(sizes) * self.element_bits // 8)

    def leaves(self) -> Iterator[tuple[tuple[int, ...], Shape]]:
        """Yield the arrays in the type, each with its index: the position in each tuple."""
        if not self.is_tuple:
            yield (), self
        for position, element in enumerate(self.elements):
            for index, leaf in element.leaves():
                yield (position, *index), leaf


class DotDimensions(NamedTuple):
    """The dimensions of a matrix product that are summed over and that both operands share."""

    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]


class WindowDimension(NamedTuple):
    """A spatial dimension of a window; padding may be negative."""

    size: int
    stride: int
    padding_low: int
    padding_high: int
    window_dilation: int
    base_dilation: int
    reversed: bool


class ConvolutionDimensions(NamedTuple):
    """The roles of the dimensions of the input, the kernel and the output of a convolution."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]


class OutputAlias(NamedTuple):
    """A part of an instruction's result that takes the memory of a part of an operand."""

    output_index: tuple[int, ...]
    operand: int
    operand_index: tuple[int, ...]


class Alias(NamedTuple):
    """A part of a program's result that takes the memory of a part of an argument."""

    output_index: tuple[int, ...]
    parameter: int
    parameter_index: tuple[int, ...]
    must: bool


#: the precisions of operands, by their names in the config of a library's call
_PRECISIONS = {"DEFAULT": 0, "HIGH": 1, "HIGHEST": 2}


class Instruction(NamedTuple):
    """An operation of HLO; fields that its opcode does not have are None or empty.

    `backend_config` are bytes of JSON text. `op_name` is the path of scopes and the operation of
    the program, `source_file` and `source_line` the user's line, "" and 0 if unknown.
    `operand_precision` is that of a product's operands: 0 is the default, 1 high, 2 highest.
    `replica_groups` and `source_target_pairs` are the groups of devices of a collective; without
    either, all devices are one group. `integer` is the value of a constant that is one integer,
    `comparison` the direction of a comparison, such as "LT".

    Instructions of a module that differ only in the first four fields have the same `form`.
    """

    id: int
    name: str
    operand_ids: tuple[int, ...]
    called_computation_ids: tuple[int, ...]
    opcode: str
    shape: Shape
    op_name: str
    source_file: str
    source_line: int
    custom_call_target: str
    backend_config: bytes
    dot_dimensions: DotDimensions | None
    window: tuple[WindowDimension, ...]
    convolution_dimensions: ConvolutionDimensions | None
    feature_group_count: int
    batch_group_count: int
    dimensions: tuple[int, ...]
    fft_length: tuple[int, ...]
    has_literal: bool
    integer: int | None
    comparison: str
    tuple_index: int
    parameter_number: int
    fusion_kind: str
    output_aliases: tuple[OutputAlias, ...]
    control_predecessor_ids: tuple[int, ...]
    frontend_attributes: Mapping[str, str]
    operand_precision: tuple[int, ...]
    replica_groups: Groups
    source_target_pairs: Groups
    form: int

    @property
    def line(self) -> str | None:
        """The user's line as "path/file.py:41"; None where it is unknown."""
        return f"{self.source_file}:{self.source_line}" if self.source_file else None

    def config(self) -> dict[str, Any]:
        """Return `backend_config` as an object; empty if it is not JSON."""
        try:
            content = json.loads(self.backend_config) if self.backend_config else {}
        except ValueError:  # some custom calls have text of their own there
            return {}
        return content if isinstance(content, dict) else {}

    def precisions(self) -> Sequence[int]:
        """Return the precision of each operand of a product, also in a call of cuBLAS.

        It is 0 for the default, 1 for high and 2 for highest.
        """
        if any(self.operand_precision) or not self.custom_call_target:
            return self.operand_precision
        config = self.config().get("gemm_backend_config")
        request = config.get("precision_config") if isinstance(config, dict) else None
        names = request.get("operand_precision") if isinstance(request, dict) else None
        return [_PRECISIONS.get(str(x), 0) for x in names] if isinstance(names, list) else ()

    @property
    def trip_count(self) -> int | None:
        """The iteration count of a while loop, if XLA found it; else None."""
        if self.opcode != "while":
            return None
        count = self.config().get("known_trip_count")
        return int(count["n"]) if count and "n" in count else None


class Computation:
    """A computation: its instructions by id, operands before their users.

    Computations of a module that differ only in names and ids, such as the layers of a network,
    have the same `form`. `instructions` are built at the first access.
    """

    __slots__ = ("_instructions", "_make", "form", "id", "is_fusion", "name", "root_id")

    def __init__(
        self,
        id: int,
        name: str,
        instructions: Callable[[], Mapping[int, Instruction]],
        root_id: int,
        is_fusion: bool,
        form: int,
    ) -> None:
        self.id = id
        self.name = name
        self.root_id = root_id
        self.is_fusion = is_fusion
        self.form = form
        self._make = instructions
        self._instructions: Mapping[int, Instruction] | None = None

    @property
    def instructions(self) -> Mapping[int, Instruction]:
        """The instructions by id.

        Raises:
          ArtifactError: when a name is not text.
        """
        if self._instructions is None:
            self._instructions = self._make()
        return self._instructions

    @property
    def root(self) -> Instruction:
        """The instruction whose value is the result."""
        return self.instructions[self.root_id]

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters, in the order of their numbers."""
        unordered = (i for i in self.instructions.values() if i.opcode == "parameter")
        return tuple(sorted(unordered, key=lambda i: i.parameter_number))


class HloModule(NamedTuple):
    """A program: its computations by id, and the order in which each runs its instructions.

    `schedule` has no order for the computations of fusions, and none at all for a program that is
    not scheduled.
    """

    name: str
    entry_id: int
    computations: Mapping[int, Computation]
    schedule: Mapping[int, tuple[int, ...]]
    input_output_alias: tuple[Alias, ...]

    @property
    def entry(self) -> Computation:
        """The computation that a call of the program runs."""
        return self.computations[self.entry_id]

    @property
    def is_scheduled(self) -> bool:
        """True if the order of its instructions is known."""
        return self.entry_id in self.schedule

    def ordered(self, computation: Computation) -> list[Instruction]:
        """Return the instructions as scheduled; without a schedule, in the order of the text."""
        order = self.schedule.get(computation.id, computation.instructions)
        return [computation.instructions[id] for id in order]
