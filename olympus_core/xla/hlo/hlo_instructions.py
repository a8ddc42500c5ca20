"""Reading the instructions of a program: the bytes of `HloInstructionProto`s.

The numbers of fields and types are those of `xla/service/hlo.proto` and `xla/xla_data.proto`,
which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from olympus_core.base.errors import ArtifactError
from olympus_core.xla.hlo.hlo_module import (
    ConvolutionDimensions,
    DotDimensions,
    Instruction,
    OutputAlias,
    Shape,
    WindowDimension,
)
from olympus_core.xla.hlo.hlo_rows import read_rows
from olympus_core.xla.hlo.replica_groups import groups_of, pairs_of
from olympus_core.xla.proto.wire import Message, damaged, text, varint

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
_MAX_DEPTH = 64  # tuples within tuples; XLA's own shapes have a few


class Tables:
    """The tables that a module's instructions refer to: frames of source lines, and payloads.

    Shapes and origins are cached by their bytes, because many instructions have equal ones.
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
        """Return the type of a value."""
        if data is None:
            raise damaged("a shape is missing")
        cached_shape = self._shapes.get(data)
        if cached_shape is None:
            cached_shape = self._shapes[data] = _shape(Message(data))
        return cached_shape

    def origin(self, data: bytes | None) -> tuple[str, str, int]:
        """Return the path of scopes, the file and the line of an instruction.

        Older versions write the line, newer ones the number of a frame.
        """
        if data is None:
            return "", "", 0
        cached_origin = self._origins.get(data)
        if cached_origin is None:
            metadata = Message(data)
            file, line = metadata.text(3), metadata.integer(4)
            if not file:
                file, line = self.line(metadata.integer(15))
            cached_origin = self._origins[data] = metadata.text(2), file, line
        return cached_origin

    def line(self, frame: int) -> tuple[str, int]:
        """Return the file and line of a frame; ids count from 1, and 0 is none."""
        if not frame:
            return "", 0
        file, line = _at(self._locations, _at(self._frames, frame, "frame"), "location")
        return _at(self._files, file, "file name"), line

    def payload(self, message: Message | None) -> bytes:
        """Return the bytes in a message, or those at its position in the module's table."""
        if message is None:
            return b""
        if 1 in message or 2 not in message:
            return message.raw(1)
        position = message.integer(2)
        if not 0 <= position < len(self._payloads):
            raise damaged(f"the payload {position} is missing")
        return self._payloads[position]


def _at(table: Any, number: int, what: str) -> Any:
    if not 1 <= number <= len(table):
        raise damaged(f"the {what} {number} is missing")
    return table[number - 1]


_NAME, _METADATA, _ID, _OPERANDS, _CALLED = 1, 7, 35, 36, 38


class Instructions:
    """The instructions of a module, from the message of each, in the order of its computations.

    A deep program has many instructions that differ only in names and ids. These fields are read
    for all instructions together. The rest of an instruction, its form, is read at its first
    occurrence. A form is identified by the message without the name in its metadata, and without
    the length of the metadata.

    Raises:
      ArtifactError: a message is damaged.
    """

    def __init__(self, messages: Sequence[bytes], tables: Tables) -> None:
        self.rows = read_rows(messages)
        self._tables = tables
        self._ids = self.rows.ids.tolist()
        self._irregular = {row: messages[row] for row in self.rows.other}
        self.forms: list[tuple[Any, ...]] = []  # the fields of each
        self.form_of = self._read_forms()

    def _read_forms(self) -> list[int]:
        """Return the number of the form of each instruction."""
        encoded, numbers = self._encoded(), dict[object, int]()
        form_numbers = [numbers.setdefault(key, len(numbers)) for key in encoded]
        bases: dict[bytes, tuple[Any, ...]] = {}  # the fields without where they come from
        for number, row in enumerate(_first(form_numbers, len(numbers))):
            form_bytes, metadata = self._parted(row)
            base = bases.get(form_bytes)
            if base is None:
                base = bases[form_bytes] = _fields(Message(form_bytes), self._tables)
            self.forms.append((*base[:2], *self._tables.origin(metadata), *base[2:], number))
        return form_numbers

    def _encoded(self) -> list[object]:
        """Return a key for the form of each instruction."""
        data, rows = self.rows.data, self.rows
        encoded: list[object]
        if rows.origins is None:
            encoded = [(data[a:d], data[e:f]) for a, _, _, d, e, f in rows.pieces]
        else:
            encoded = [
                (data[a:b], data[c:d], data[e:f], data[g:h], data[i:j])
                for (a, b, c, d, e, f), (g, h, i, j) in zip(rows.pieces, rows.origins, strict=True)
            ]
        for row, message in self._irregular.items():
            encoded[row] = message
        return encoded

    def _parted(self, row: int) -> tuple[bytes, bytes | None]:
        """Split the message of an instruction into its form, without ids, and its metadata."""
        if row in self._irregular:
            message = self._irregular[row]
            return message, Message(message).encoded(_METADATA)
        data, rows = self.rows.data, self.rows
        a, b, c, d, e, f = rows.pieces[row]
        if rows.origins is not None:
            g, h, i, j = rows.origins[row]
            metadata = data[g:h] + data[i:j]
        else:  # behind its tag and its length, where there is any
            metadata = data[varint(data, b + 1)[1] : c] if b < c else b""
        return data[a:b] + data[c:d] + data[e:f], metadata

    def between(self, begin: int, end: int) -> dict[int, Instruction]:
        """Return the instructions from one row to another, by id."""
        rows, data, forms, ids = self.rows, self.rows.data, self.forms, self._ids
        reads, calls = rows.operands_at, rows.called_at
        instructions: dict[int, Instruction] = {}
        for row in range(begin, end):
            form = forms[self.form_of[row]]
            if row in self._irregular:
                instruction = _read_whole(Message(self._irregular[row]), form)
                instructions[instruction.id] = instruction
                continue
            first, last = rows.names[row]
            own = (
                ids[row],
                text(data[first:last], _NAME),
                tuple(rows.operands[reads[row] : reads[row + 1]]),
                tuple(rows.called[calls[row] : calls[row + 1]]),
            )
            instructions[ids[row]] = _instruction(Instruction, own + form)
        return instructions


_instruction = tuple.__new__  # takes half the time of `_make`


def _read_whole(message: Message, form: tuple[Any, ...]) -> Instruction:
    ids = message.integers(_OPERANDS), message.integers(_CALLED)
    return Instruction._make((message.integer(_ID), message.text(_NAME), *ids, *form))


def _first(numbers: Sequence[int], count: int) -> list[int]:
    """Return the first position of each of `count` numbers, which are numbered by occurrence."""
    places: list[int] = []
    for place, number in enumerate(numbers):
        if number == len(places):
            places.append(place)
            if len(places) == count:
                break
    return places


#: the fields that few instructions have: of library calls, windows, products, fusions, loops,
#: collectives
_RARE = frozenset([11, 15, 16, 28, 30, 32, 37, 43, 49, 51, 52, 63, 74, 87, 92, 93, 99])


# of an instruction's form: the opcode and the shape, before where it comes from, and the rest
_FORM = Instruction._fields[4:6] + Instruction._fields[9:-1]
_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


def _fields(message: Message, tables: Tables) -> tuple[Any, ...]:
    """Return the fields of an instruction that make its form, except its origin."""
    integer = message.integer
    values = {
        "opcode": message.text(2),
        "shape": tables.shape(message.encoded(3)),
        "feature_group_count": integer(50),
        "batch_group_count": integer(58),
        "dimensions": message.integers(14),
        "has_literal": 8 in message,
        "integer": _integer(message.message(8)),
        "tuple_index": integer(13),
        "parameter_number": integer(9),
    }
    is_rare = not _RARE.isdisjoint(message.numbers) or message.raw(68)  # 68 is mostly empty
    values.update(_rare(message, tables) if is_rare else _rare_defaults())
    return tuple(values[name] for name in _FORM)


def _rare(message: Message, tables: Tables) -> dict[str, Any]:
    """Return the fields that few instructions have."""
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
            {m.text(1): m.text(2) for m in attributes.messages(1)}
            if attributes and 1 in attributes
            else _NO_ATTRIBUTES
        ),
        "comparison": message.text(63),
        "operand_precision": precision.integers(1) if precision else (),
        "replica_groups": groups_of(message),
        "source_target_pairs": pairs_of(message),
    }


@functools.cache
def _rare_defaults() -> Mapping[str, Any]:
    """Return the defaults of these fields."""
    return _rare(Message(b""), Tables(Message(b"")))


def _integer(literal: Message | None) -> int | None:
    """Return the value of a literal that is an integer of 32 or 64 bits, otherwise None."""
    values = (
        [value for field in (4, 5, 6, 7) for value in literal.integers(field)] if literal else []
    )
    return values[0] if len(values) == 1 else None


def _shape(message: Message | None, depth: int = 0) -> Shape:
    if message is None:
        raise damaged("a shape is missing")
    if depth > _MAX_DEPTH:
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
        raise ArtifactError(f"the executable has an array of an unknown type: {kind}")
    dtype, bits = _TYPES[kind]
    layout = message.message(5)
    # An element of fewer than 8 bits takes a byte, unless the layout is packed.
    packed = layout.integer(7) if layout else 0
    return Shape(
        dtype,
        message.integers(3),
        layout.integers(1) if layout else None,
        element_bits=packed or max(bits, 8),
        memory_space=layout.integer(8) if layout else 0,
        tiles=tuple(tile.integers(1) for tile in layout.messages(6)) if layout else (),
    )


def _dot(message: Message | None) -> DotDimensions | None:
    if message is None:
        return None
    return DotDimensions(*(message.integers(number) for number in range(1, 5)))


def _window(message: Message | None) -> tuple[WindowDimension, ...]:
    return tuple(_window_dimension(m.integer) for m in (message.messages(1) if message else []))


def _window_dimension(integer: Callable[[int], int]) -> WindowDimension:
    return WindowDimension(
        integer(1), integer(2), integer(3), integer(4), integer(5), integer(6), bool(integer(7))
    )


def _convolution(message: Message | None) -> ConvolutionDimensions | None:
    if message is None:
        return None
    integer, integers = message.integer, message.integers
    return ConvolutionDimensions(
        integer(7),
        integer(8),
        integers(11),
        integer(3),
        integer(4),
        integers(6),
        integer(9),
        integer(10),
        integers(12),
    )
