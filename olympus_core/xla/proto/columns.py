"""Fields of many Protocol Buffers messages, read together as arrays.

A module of XLA's has tens of thousands of instructions. NumPy reads one field of all messages at
each step, which takes a tenth of the time of reading each message separately. A few messages are
read separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from olympus_core.xla.proto.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    LONGEST,
    VARINT,
    damaged,
    signed_integer,
    varint,
)

Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
_Row = Ints | int
_FEW = 32  # messages that take longer as arrays than one by one
_NUMBERS = (1 << 61) - 1  # the bits of a 64-bit number without those of the wire type
_IS_WIRE_TYPE = np.isin(np.arange(8), (VARINT, FIXED64, BYTES, FIXED32))  # by wire type
_MAX_FIELDS = 64  # fields of each message that are read; few messages have more
_PAD = bytes(LONGEST + 1)  # so that a number that is cut off is read without an error


class Column(NamedTuple):
    """A field of each message: its number of occurrences, and the position of the last one.

    `tag` is the position of its tag, `begin` and `end` those of its content. `value` is the value
    of a varint, and `kind` the wire type.
    """

    times: Ints
    tag: Ints
    begin: Ints
    end: Ints
    value: Ints
    kind: Ints

    def keep(self, rows: _Row, tag: _Row, begin: _Row, end: _Row, value: _Row, kind: _Row) -> None:
        """Note an occurrence in one message or in some."""
        self.times[rows] += 1
        self.tag[rows], self.begin[rows], self.end[rows] = tag, begin, end
        self.value[rows], self.kind[rows] = value, kind


class Columns:
    """The fields `wanted` of the messages in `data` from `begins` to `ends`, int64[n].

    `long` are the few messages with more than 64 fields, which were not read completely.

    Raises:
      ArtifactError: a message is cut off, or is not a message.

    Example:
      >>> data = b"\\x08\\x05\\x08\\x07\\x10\\x01"  # of 2 and of 4 bytes
      >>> columns = Columns(data, np.array([0, 2]), np.array([2, 6]), [1])
      >>> columns[1].value
      array([5, 7])
    """

    def __init__(self, data: bytes, begins: Ints, ends: Ints, numbers: Iterable[int]) -> None:
        self._columns = {number: _empty(len(begins)) for number in numbers}
        rows = np.flatnonzero(begins < ends)
        if len(rows) <= _FEW:
            self.long = rows[:0]
            for row, begin, end in zip(
                rows.tolist(), begins[rows].tolist(), ends[rows].tolist(), strict=True
            ):
                self._read(data, row, begin, end)
        else:
            bytes_ = np.frombuffer(data + _PAD, np.uint8)
            self.long = self._walk(bytes_, rows, begins[rows], ends[rows])

    @classmethod
    def of(cls, messages: Sequence[bytes], numbers: Iterable[int]) -> tuple[bytes, Columns]:
        """Return the concatenation of all messages, and the fields of each in it."""
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        data, ends = b"".join(messages), np.cumsum(lengths)
        return data, cls(data, ends - lengths, ends, numbers)

    def __getitem__(self, number: int) -> Column:
        return self._columns[number]

    def _read(self, data: bytes, row: int, at: int, end: int) -> None:
        """Read all fields of one message."""
        while at < end:
            tag, content = varint(data, at)
            number, kind = tag >> 3, tag & 7
            if not number:
                raise damaged("it has a field without a number")
            value, begin, after = 0, content, content + (8 if kind == FIXED64 else 4)
            if kind == VARINT:
                value, after = varint(data, content)
            elif kind == BYTES:
                value, begin = varint(data, content)
                after = begin + value
            elif kind not in (FIXED64, FIXED32):
                raise damaged(f"it has a field of the wire type {kind}")
            if after > end:
                raise damaged("it is cut off")
            if (column := self._columns.get(number)) is not None:
                column.keep(row, at, begin, after, signed_integer(value), kind)
            at = after

    def _walk(self, data: _Bytes, rows: Ints, at: Ints, end: Ints) -> Ints:
        """Read a field of every message that has one more, until few have; those are returned."""
        for _ in range(_MAX_FIELDS):
            if not len(rows):
                break
            tag, content = _varints(data, at)
            number, kind = (tag >> 3) & _NUMBERS, tag & 7
            if not number.all():
                raise damaged("it has a field without a number")
            value, begin, after = _contents(data, kind, content, end)
            for requested in self._columns.keys() & set(number.tolist()):
                here = (number == requested).nonzero()[0]
                fields = (positions[here] for positions in (at, begin, after, value, kind))
                self._columns[requested].keep(rows[here], *fields)
            has_more = after < end
            rows, at, end = rows[has_more], after[has_more], end[has_more]
        return rows


def _empty(count: int) -> Column:
    return Column(*(np.zeros(count, np.int64) for _ in Column._fields))


def _varints(data: _Bytes, at: Ints) -> tuple[Ints, Ints]:
    """Return the number at each position, and the positions after them."""
    byte = data[at]
    value, after = (byte & 0x7F).astype(np.int64), at + 1
    unfinished = (byte > 0x7F).nonzero()[0]
    for place in range(1, LONGEST):
        if not len(unfinished):
            break
        byte = data[at[unfinished] + place]
        value[unfinished] |= (byte & 0x7F).astype(np.int64) << 7 * place
        after[unfinished] += 1
        unfinished = unfinished[byte > 0x7F]
    if len(unfinished):
        raise damaged("it has a number of more than 64 bits")
    return value, after


def _contents(data: _Bytes, kind: Ints, at: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the values of the fields whose tags end `at`, and the start and end of their contents.

    `end` are the ends of the messages.
    """
    if not (is_known := _IS_WIRE_TYPE[kind]).all():
        raise damaged(f"it has a field of the wire type {kind[~is_known][0]}")
    if (at >= end).any():
        raise damaged("it is cut off")
    value, begin, after = np.zeros_like(at), at.copy(), at + np.where(kind == FIXED64, 8, 4)
    read = ((kind == VARINT) | (kind == BYTES)).nonzero()[0]
    value[read], after[read] = _varints(data, at[read])
    is_bytes = (kind == BYTES).nonzero()[0]
    length = value[is_bytes]
    if ((length < 0) | (length > end[is_bytes] - after[is_bytes])).any():
        raise damaged("it is cut off")
    begin[is_bytes] = after[is_bytes]
    after[is_bytes] += length
    if (after > end).any():
        raise damaged("it is cut off")
    return value, begin, after


def packed(data: bytes, begins: Ints, ends: Ints) -> tuple[list[int], list[int]]:
    """Return the packed numbers in `data` from `begins` to `ends`, and the start of each part.

    Numbers are signed, of 64 bits. The list of starts has one more element than there are parts.

    Raises ArtifactError for a part that is cut off.

    >>> packed(b"\\x01\\x02\\x96\\x01", np.array([0, 2]), np.array([2, 4]))
    ([1, 2, 150], [0, 2, 3])
    """
    lengths = ends - begins
    until = np.cumsum(lengths)
    total = int(until[-1]) if len(until) else 0
    if not total:
        return [], [0] * (len(begins) + 1)
    where = np.arange(total) + np.repeat(begins - (until - lengths), lengths)
    byte = np.frombuffer(data, np.uint8)[where]
    is_last = byte < 0x80
    if not is_last[until[lengths > 0] - 1].all():
        raise damaged("it is cut off")
    last = np.flatnonzero(is_last)
    first = np.concatenate(([0], last[:-1] + 1))
    place = np.arange(total) - np.repeat(first, last - first + 1)
    if (place >= LONGEST).any():
        raise damaged("it has a number of more than 64 bits")
    values = np.add.reduceat((byte & 0x7F).astype(np.int64) << 7 * place, first)
    count = np.concatenate(([0], np.cumsum(is_last)[until - 1]))
    count[1:][until == 0] = 0
    return values.tolist(), count.tolist()
