"""The positions of a module's computations and instructions in its bytes.

The numbers of fields are those of `HloComputationProto` and `HloInstructionProto`
(xla/service/hlo.proto), which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from olympus_core.base.errors import ArtifactError
from olympus_core.xla.proto.columns import Column, Columns, Ints, packed
from olympus_core.xla.proto.wire import BYTES, VARINT, Message, cut, text, varint

_Bools = npt.NDArray[np.bool_]

_NAME, _INSTRUCTION = 1, 2  # of a computation, and the tags of both:
_NAME_TAG, _INSTRUCTION_TAG = 0x0A, 0x12
_COMPUTATION_ID, _ROOT, _IS_FUSION = 5, 6, 7
_LITERAL = 8  # of an instruction: the elements of a constant
_SHORT = 0x7F  # the greatest length that takes one byte
_LARGE = 1 << 16  # bytes; a larger message that is read in parts is not copied as a whole


class Header(NamedTuple):
    """The fields of a computation itself."""

    id: int
    name: str
    root_id: int
    is_fusion: bool


def split_computations(
    contents: Sequence[bytes | memoryview],
) -> tuple[list[Header], list[Sequence[bytes]]]:
    """Return the header of each computation, and the instructions of each.

    The elements of large constants are removed.

    Raises:
      ArtifactError: the bytes are not a computation.
    """
    remainders, instructions = [], list[Sequence[bytes]]()
    for content in contents:
        remainder, messages = _parted(content if len(content) > _LARGE else bytes(content))
        remainders.append(remainder)
        instructions.append(messages)
    data, columns = Columns.of(
        remainders, (_NAME, _INSTRUCTION, _COMPUTATION_ID, _ROOT, _IS_FUSION)
    )
    name, numbers = columns[_NAME], [columns[n] for n in (_COMPUTATION_ID, _ROOT, _IS_FUSION)]
    usual = (columns[_INSTRUCTION].times == 0) & (name.kind == BYTES)
    for number in numbers:
        usual &= number.kind == VARINT
    usual[columns.long] = False
    columns_of_rows = _tuples(name.begin, name.end, *(number.value for number in numbers))
    headers = [
        Header(id, text(data[begin:end], _NAME), root_id, bool(is_fusion))
        for begin, end, id, root_id, is_fusion in columns_of_rows
    ]
    for row in np.flatnonzero(~usual).tolist():
        headers[row], instructions[row] = _by_itself(Message(contents[row]))
    return headers, instructions


def _parted(content: bytes | memoryview) -> tuple[bytes, list[bytes]]:
    """Split a computation into its instructions, if they follow its name, and the rest."""
    messages: list[bytes] = []
    try:
        if content[0] != _NAME_TAG or content[1] > _SHORT:
            return bytes(content), []
        begin = at = 2 + content[1]
        while content[at] == _INSTRUCTION_TAG:
            length, at = content[at + 1], at + 2
            if length > _SHORT:
                length, at = varint(content, at - 1)
            message = content[at : at + length]
            messages.append(cut(message, _LITERAL) if length > _LARGE else bytes(message))
            at += length
    except (IndexError, ArtifactError):  # nothing follows them, or it is cut off
        return bytes(content), []
    return b"".join((content[:begin], content[at:])), messages


def _by_itself(message: Message) -> tuple[Header, Sequence[bytes]]:
    integer = message.integer
    header = Header(
        integer(_COMPUTATION_ID), message.text(_NAME), integer(_ROOT), bool(integer(_IS_FUSION))
    )
    return header, message.raws(_INSTRUCTION)


_METADATA, _ID, _OPERANDS, _CALLED = 7, 35, 36, 38  # of an instruction, whose name is 1 too
_SCHEDULED_NAME = 16  # of OpMetadata: on GPUs it repeats the name of each instruction
_SCHEDULED_NAME_TAG = b"\x82\x01"


class Rows(NamedTuple):
    """The ids of each instruction, its operands and callees, and the positions of the rest.

    `data` has all instructions. One has its name, a piece with its metadata, the ids, and another
    piece. The operand ids of instruction i are `operands` from `operands_at[i]` to `operands_at[i +
    1]`; the callees are stored in the same way. `pieces` are the start and end of the part before
    the metadata, of the part after it, and of the part after the ids. `origins` are those of the
    metadata before and after a name in it, None if no metadata has a name. `other` are instructions
    that are written in another form.
    """

    data: bytes
    ids: Ints
    operands: list[int]
    operands_at: list[int]
    called: list[int]
    called_at: list[int]
    names: list[tuple[int, ...]]
    pieces: list[tuple[int, ...]]
    origins: list[tuple[int, ...]] | None
    other: list[int]


def read_rows(messages: Sequence[bytes]) -> Rows:
    """Return the rows of instructions, from the message of each.

    Raises:
      ArtifactError: a message is damaged.
    """
    data, columns = Columns.of(messages, (_NAME, _METADATA, _ID, _OPERANDS, _CALLED))
    name, id, operands, called = (columns[n] for n in (_NAME, _ID, _OPERANDS, _CALLED))
    ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
    begins = np.concatenate(([0], ends[:-1]))
    after_operands = np.where(operands.times, operands.end, id.end)
    after_called = np.where(called.times, called.end, after_operands)
    metadata = _metadata(columns[_METADATA], name.end)
    usual = (name.times == 1) & (id.times == 1) & (name.kind == BYTES) & (id.kind == VARINT)
    usual &= (name.tag == begins) & (name.end <= id.tag)
    usual &= (metadata.tag >= name.end) & (metadata.end <= id.tag)
    for column in (operands, called, metadata):
        usual &= (column.times == 0) | ((column.times == 1) & (column.kind == BYTES))
    for column, before in ((operands, id.end), (called, after_operands)):
        usual &= (column.times == 0) | (column.tag == before)
    usual[columns.long] = False
    return Rows(
        data,
        id.value,
        *packed(data, operands.begin * usual, operands.end * usual),
        *packed(data, called.begin * usual, called.end * usual),
        names=_tuples(name.begin, name.end),
        pieces=_tuples(name.end, metadata.tag, metadata.end, id.tag, after_called, ends),
        origins=_origins(data, metadata, usual),
        other=np.flatnonzero(~usual).tolist(),
    )


def _metadata(column: Column, after_name: Ints) -> Column:
    """Return the metadata column; absent metadata is empty, after the name."""
    has = column.times > 0
    tag, begin, end = (np.where(has, x, after_name) for x in (column.tag, column.begin, column.end))
    return column._replace(tag=tag, begin=begin, end=end)


def _origins(data: bytes, metadata: Column, usual: _Bools) -> list[tuple[int, ...]] | None:
    """Return the positions before and after the name in the metadata; None if none has a name."""
    begin, end = metadata.begin, metadata.end
    if _SCHEDULED_NAME_TAG not in data:
        return None
    names = Columns(data, begin * usual, end * usual, [_SCHEDULED_NAME])
    cut = names[_SCHEDULED_NAME]
    has = (cut.times == 1) & (cut.kind == BYTES)
    has[names.long] = False
    if not has.any():
        return None
    return _tuples(begin, np.where(has, cut.tag, end), np.where(has, cut.end, end), end)


def _tuples(*columns: Ints) -> list[tuple[int, ...]]:
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def places_of(requested: Ints, ids: Ints) -> Ints:
    """Return the position of each wanted id among all; -1 if it is absent or not unique.

    >>> places_of(np.array([7, 9]), np.array([5, 7]))
    array([ 1, -1])
    """
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    if not len(ids) or (ordered[1:] == ordered[:-1]).any():
        return np.full(len(requested), -1)
    at = np.minimum(np.searchsorted(ordered, requested), len(ids) - 1)
    return np.where(ordered[at] == requested, order[at], -1)
