"""An optimized program in XLA's HLO, read from the bytes of an `HloModuleProto`.

The numbers of fields and types are those of `xla/service/hlo.proto` and `xla/xla_data.proto`,
which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from olympus_core import collection
from olympus_core.errors import ArtifactError
from olympus_core.xla.replica_groups import Groups, groups_of, pairs_of
from olympus_core.xla.wire import Message, damaged

__all__ = [
    "Alias",
    "Computation",
    "ConvolutionDimensions",
    "DotDimensions",
    "HloModule",
    "Instruction",
    "OutputAlias",
    "Shape",
    "WindowDimension",
    "read_module",
]

#: PrimitiveType of xla_data.proto: NumPy's (or ml_dtypes') long name, and the bits of an element
_TYPES: dict[int, tuple[str, int]] = {
    1: ("bool", 8),
    30: ("int1", 1),
    26: ("int2", 2),
    21: ("int4", 4),
    2: ("int8", 8),
    3: ("int16", 16),
    4: ("int32", 32),
    5: ("int64", 64),
    31: ("uint1", 1),
    27: ("uint2", 2),
    22: ("uint4", 4),
    6: ("uint8", 8),
    7: ("uint16", 16),
    8: ("uint32", 32),
    9: ("uint64", 64),
    10: ("float16", 16),
    11: ("float32", 32),
    16: ("bfloat16", 16),
    12: ("float64", 64),
    19: ("float8_e5m2", 8),
    28: ("float8_e4m3", 8),
    20: ("float8_e4m3fn", 8),
    23: ("float8_e4m3b11fnuz", 8),
    29: ("float8_e3m4", 8),
    24: ("float8_e5m2fnuz", 8),
    25: ("float8_e4m3fnuz", 8),
    32: ("float4_e2m1fn", 4),
    33: ("float8_e8m0fnu", 8),
    35: ("float6_e3m2fn", 6),
    36: ("float6_e2m3fn", 6),
    15: ("complex64", 64),
    18: ("complex128", 128),
}
_TUPLE, _OPAQUE, _TOKEN, _BUFFER = 13, 14, 17, 34
_DEEPEST = 64  # tuples within tuples; XLA's own shapes have a few


class Shape(NamedTuple):
    """The type of a value: an array, or a tuple of types.

    `dtype` is NumPy's long name such as "float32", or "tuple", "token" or "opaque".
    `minor_to_major` is the layout: the dimensions from the fastest to the slowest; None without.
    `element_bits` are those that an element takes in memory.
    """

    dtype: str
    sizes: tuple[int, ...] = ()
    minor_to_major: tuple[int, ...] | None = None
    elements: tuple[Shape, ...] = ()
    element_bits: int = 0
    memory_space: int = 0

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple, whose `elements` are types."""
        return self.dtype == "tuple"

    @property
    def bytes(self) -> int:
        """The bytes of an array, or of all the arrays of a tuple; its table of pointers aside."""
        if self.elements:
            return sum(element.bytes for element in self.elements)
        return -(-math.prod(self.sizes) * self.element_bits // 8)

    def leaves(self) -> Iterator[tuple[tuple[int, ...], Shape]]:
        """The arrays in it, each with its index: the position in each tuple around it."""
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
    """Which dimension of the input, the kernel and the output is which in a convolution."""

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


class Instruction(NamedTuple):
    """An operation of HLO; what its opcode does not have is None or empty.

    `backend_config` are bytes of JSON text; `op_name` is the path of scopes and the operation
    that it came from, `source_file` and `source_line` the user's line, "" and 0 where unknown.
    `operand_precision` is that of a product's operands: 0 is the default, 1 high, 2 highest.
    `replica_groups` and `source_target_pairs` are the devices that a collective brings together;
    without any these are all.
    """

    id: int
    name: str
    opcode: str
    shape: Shape
    operand_ids: tuple[int, ...]
    called_computation_ids: tuple[int, ...]
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
    tuple_index: int
    parameter_number: int
    fusion_kind: str
    output_aliases: tuple[OutputAlias, ...]
    control_predecessor_ids: tuple[int, ...]
    frontend_attributes: Mapping[str, str]
    operand_precision: tuple[int, ...]
    replica_groups: Groups
    source_target_pairs: Groups

    @property
    def line(self) -> str | None:
        """The user's line as "path/file.py:41"; None where it is unknown."""
        return f"{self.source_file}:{self.source_line}" if self.source_file else None

    def config(self) -> dict[str, Any]:
        """`backend_config` as an object; empty where it has none that is JSON."""
        try:
            made = json.loads(self.backend_config) if self.backend_config else {}
        except ValueError:  # some custom calls have text of their own there
            return {}
        return made if isinstance(made, dict) else {}

    @property
    def trip_count(self) -> int | None:
        """How often a while loop runs, where XLA found it; None elsewhere."""
        if self.opcode != "while":
            return None
        count = self.config().get("known_trip_count")
        return int(count["n"]) if count and "n" in count else None


class Computation(NamedTuple):
    """A computation: its instructions by id, operands before their users."""

    id: int
    name: str
    instructions: Mapping[int, Instruction]
    root_id: int
    is_fusion: bool

    @property
    def root(self) -> Instruction:
        """The instruction whose value is the result."""
        return self.instructions[self.root_id]

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters, in the order of their numbers."""
        found = (i for i in self.instructions.values() if i.opcode == "parameter")
        return tuple(sorted(found, key=lambda i: i.parameter_number))


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
        """Whether the order of its instructions is known."""
        return self.entry_id in self.schedule

    def ordered(self, computation: Computation) -> list[Instruction]:
        """The instructions as scheduled; in the order of the text where there is no schedule."""
        order = self.schedule.get(computation.id, computation.instructions)
        return [computation.instructions[id] for id in order]


class _Tables:
    """What the instructions of a module refer to: frames of source lines, and payloads.

    Shapes and origins are kept by their bytes, for many instructions have the same.
    """

    def __init__(self, module: Message) -> None:
        self._shapes: dict[bytes, Shape] = {}
        self._origins: dict[bytes, tuple[str, str, int]] = {}
        self._payloads = module.raws(22)
        index = module.message(17)
        self._files = index.texts(1) if index else ()
        locations = index.messages(3) if index else []
        self._locations = [(m.integer(1), m.integer(3)) for m in locations]
        self._frames = [m.integer(1) for m in index.messages(4)] if index else []

    def shape(self, data: bytes | None) -> Shape:
        """The type of a value."""
        if data is None:
            raise damaged("a shape is missing")
        found = self._shapes.get(data)
        if found is None:
            found = self._shapes[data] = _shape(Message(data))
        return found

    def origin(self, data: bytes | None) -> tuple[str, str, int]:
        """The path of scopes, the file and the line that an instruction comes from.

        Older versions write the line, newer the number of a frame.
        """
        if data is None:
            return "", "", 0
        found = self._origins.get(data)
        if found is None:
            metadata = Message(data)
            file, line = metadata.text(3), metadata.integer(4)
            if not file:
                file, line = self.line(metadata.integer(15))
            found = self._origins[data] = metadata.text(2), file, line
        return found

    def line(self, frame: int) -> tuple[str, int]:
        """The file and line of a frame; ids count from 1, and 0 is none."""
        if not frame:
            return "", 0
        file, line = _at(self._locations, _at(self._frames, frame, "frame"), "location")
        return _at(self._files, file, "file name"), line

    def payload(self, message: Message | None) -> bytes:
        """The bytes that stand in a message, or that it names in the module's table."""
        if message is None:
            return b""
        if 1 in message or 2 not in message:
            return message.raw(1)
        position = message.integer(2)
        if not 0 <= position < len(self._payloads):
            raise damaged(f"there is no payload {position}")
        return self._payloads[position]


def _at(table: Any, number: int, what: str) -> Any:
    if not 1 <= number <= len(table):
        raise damaged(f"there is no {what} {number}")
    return table[number - 1]


def read_module(data: bytes) -> HloModule:
    """The program of the bytes of an `HloModuleProto`, as an executable's module serializes.

    Raises:
      ArtifactError: when the bytes are cut off or are not a module.

    Example:
      >>> read_module(module.as_serialized_hlo_module_proto()).entry.root.opcode
      'tuple'
    """
    with collection.paused():
        return _module(Message(data))


def _module(message: Message) -> HloModule:
    tables = _Tables(message)
    computations = [_computation(m, tables) for m in message.messages(3)]
    made = HloModule(
        name=message.text(1),
        entry_id=message.integer(6),
        computations={computation.id: computation for computation in computations},
        schedule=_schedule(message.message(7)),
        input_output_alias=_aliases(message.message(8)),
    )
    _check(made)
    return made


def _check(module: HloModule) -> None:
    """Raise ArtifactError where an id names nothing: what reads a module then need not ask."""
    if module.entry_id not in module.computations:
        raise damaged("it is not a module: it has no entry")
    for computation in module.computations.values():
        if computation.root_id not in computation.instructions:
            raise damaged(f"the computation '{computation.name}' has no root")
        for instruction in computation.instructions.values():
            _check_instruction(instruction, computation, module)
    for id, order in module.schedule.items():
        if id not in module.computations:
            raise damaged("its schedule is not of its instructions")
        _check_order(order, module.computations[id])
    parameters = len(module.entry.parameters)
    if not all(0 <= alias.parameter < parameters for alias in module.input_output_alias):
        raise damaged("it has no such parameter")


#: how many computations an operation calls, where others rely on it
_CALLS = {"fusion": 1, "while": 2, "call": 1}


def _check_instruction(
    instruction: Instruction, computation: Computation, module: HloModule
) -> None:
    known = computation.instructions
    if not all(id in known for id in instruction.operand_ids):
        raise damaged(f"an operand of '{instruction.name}' is missing")
    called = instruction.called_computation_ids
    wanted = _CALLS.get(instruction.opcode, len(called))
    if len(called) != wanted or not all(id in module.computations for id in called):
        raise damaged(f"a computation that '{instruction.name}' calls is missing")
    if instruction.opcode == "get-tuple-element":
        elements = [len(known[id].shape.elements) for id in instruction.operand_ids]
        if not elements or not 0 <= instruction.tuple_index < elements[0]:
            raise damaged(f"'{instruction.name}' is no element of a tuple")


def _check_order(order: tuple[int, ...], computation: Computation) -> None:
    """Raise ArtifactError where an order is not of all instructions, operands before users."""
    seen: set[int] = set()
    for id in order:
        if id not in computation.instructions or id in seen:
            raise damaged("its schedule is not of its instructions")
        if not seen.issuperset(computation.instructions[id].operand_ids):
            raise damaged("its schedule has an instruction before its operands")
        seen.add(id)
    if len(seen) != len(computation.instructions):
        raise damaged("its schedule is not of its instructions")


def _schedule(message: Message | None) -> dict[int, tuple[int, ...]]:
    sequences = message.messages(1) if message else []
    return {m.integer(1): _ids(m.message(2), 1) for m in sequences}


def _ids(message: Message | None, number: int) -> tuple[int, ...]:
    return message.integers(number) if message else ()


def _aliases(message: Message | None) -> tuple[Alias, ...]:
    return tuple(
        Alias(m.integers(1), m.integer(2), m.integers(3), must=m.integer(4) == 2)
        for m in (message.messages(1) if message else [])
    )


def _computation(message: Message, tables: _Tables) -> Computation:
    instructions = [_instruction(m, tables) for m in message.messages(2)]
    return Computation(
        id=message.integer(5),
        name=message.text(1),
        instructions={instruction.id: instruction for instruction in instructions},
        root_id=message.integer(6),
        is_fusion=bool(message.integer(7)),
    )


#: the fields that few instructions have: of library calls, windows, products, fusions, loops,
#: collectives
_RARE = frozenset([11, 15, 16, 28, 30, 32, 37, 43, 49, 51, 52, 74, 87, 92, 93, 99])


def _instruction(message: Message, tables: _Tables) -> Instruction:
    integer, integers, text = message.integer, message.integers, message.text
    op_name, file, line = tables.origin(message.encoded(7))
    made = Instruction(
        id=integer(35),
        name=text(1),
        opcode=text(2),
        shape=tables.shape(message.encoded(3)),
        operand_ids=integers(36),
        called_computation_ids=integers(38),
        op_name=op_name,
        source_file=file,
        source_line=line,
        custom_call_target="",
        backend_config=b"",
        dot_dimensions=None,
        window=(),
        convolution_dimensions=None,
        feature_group_count=integer(50),
        batch_group_count=integer(58),
        dimensions=integers(14),
        fft_length=(),
        has_literal=8 in message,
        tuple_index=integer(13),
        parameter_number=integer(9),
        fusion_kind="",
        output_aliases=(),
        control_predecessor_ids=(),
        frontend_attributes=_NO_ATTRIBUTES,
        operand_precision=(),
        replica_groups=(),
        source_target_pairs=(),
    )
    if _RARE.isdisjoint(message.numbers) and not message.raw(68):  # 68 is there, mostly empty
        return made
    return made._replace(**_rare(message, tables))


_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


def _rare(message: Message, tables: _Tables) -> dict[str, Any]:
    """What few instructions have."""
    precision, attributes = message.message(51), message.message(68)
    return {
        "custom_call_target": message.text(28),
        "backend_config": message.raw(43) or tables.payload(message.message(99)),
        "dot_dimensions": _dot(message.message(30)),
        "window": _window(message.message(15)),
        "convolution_dimensions": _convolution(message.message(16)),
        "fft_length": message.integers(32),
        "fusion_kind": message.text(11),
        "output_aliases": tuple(
            OutputAlias(m.integers(1), m.integer(2), m.integers(3)) for m in message.messages(74)
        ),
        "control_predecessor_ids": message.integers(37),
        "frontend_attributes": (
            {m.text(1): m.text(2) for m in attributes.messages(1)} if attributes else {}
        ),
        "operand_precision": precision.integers(1) if precision else (),
        "replica_groups": groups_of(message),
        "source_target_pairs": pairs_of(message),
    }


def _shape(message: Message | None, depth: int = 0) -> Shape:
    if message is None:
        raise damaged("a shape is missing")
    if depth > _DEEPEST:
        raise damaged("its shapes are nested too deep")
    kind = message.integer(2)
    if kind == _TUPLE:
        return Shape("tuple", elements=tuple(_shape(m, depth + 1) for m in message.messages(4)))
    if kind in (_OPAQUE, _TOKEN):
        return Shape("token" if kind == _TOKEN else "opaque")
    if kind == _BUFFER:
        inner = message.messages(4)
        return _shape(inner[0] if inner else None, depth + 1)
    if kind not in _TYPES:
        raise ArtifactError(f"the executable has an array of a type that is not known: {kind}")
    dtype, bits = _TYPES[kind]
    layout = message.message(5)
    # An element of fewer than 8 bits takes a byte, unless the layout says that it is packed.
    packed = layout.integer(7) if layout else 0
    return Shape(
        dtype,
        message.integers(3),
        layout.integers(1) if layout else None,
        element_bits=packed or max(bits, 8),
        memory_space=layout.integer(8) if layout else 0,
    )


def _dot(message: Message | None) -> DotDimensions | None:
    if message is None:
        return None
    return DotDimensions(*(message.integers(number) for number in range(1, 5)))


def _window(message: Message | None) -> tuple[WindowDimension, ...]:
    return tuple(_window_dimension(m.integer) for m in (message.messages(1) if message else []))


def _window_dimension(one: Callable[[int], int]) -> WindowDimension:
    return WindowDimension(one(1), one(2), one(3), one(4), one(5), one(6), bool(one(7)))


def _convolution(message: Message | None) -> ConvolutionDimensions | None:
    if message is None:
        return None
    one, several = message.integer, message.integers
    return ConvolutionDimensions(
        one(7), one(8), several(11), one(3), one(4), several(6), one(9), one(10), several(12)
    )
