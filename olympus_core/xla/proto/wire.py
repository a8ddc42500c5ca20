"""Protocol Buffers' wire format, for the messages of XLA in bytes.

This module has no message types: a reader of a message gets fields by number. The format is that of
https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from olympus_core.base.errors import ArtifactError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # the wire types
LONGEST = 10  # bytes of a varint of 64 bits

Value = int | bytes | memoryview


def damaged(what: str) -> ArtifactError:
    """Return the error of bytes that are not the expected message."""
    return ArtifactError(f"the executable's description is damaged: {what}")


def field(number: int, content: bytes) -> bytes:
    """Return a message of one field, which is text or a nested message.

    The concatenation of two messages is a message with the fields of both, also of nested ones.

    >>> Message(field(2, b"hi") + field(3, field(1, b"x"))).text(2)
    'hi'
    """
    return _varint_of(number << 3 | BYTES) + _varint_of(len(content)) + content


def packed_integers(values: Iterable[int]) -> bytes:
    """Return the content of a repeated field of integers, which are not negative.

    >>> Message(field(3, packed_integers([1, 300]))).integers(3)
    (1, 300)
    """
    return b"".join(map(_varint_of, values))


def _varint_of(value: int) -> bytes:
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


class Message:
    """A message, as its fields by number; a nested message is parsed when it is read.

    An absent field has proto3's default: 0, an empty text, no elements. A large message can be a
    memoryview, and `views` returns views of it, without a copy.

    Raises:
      ArtifactError: the bytes are cut off, or a field has another kind than requested.

    Example:
      >>> message = Message(b"\\x08\\x96\\x01\\x12\\x02hi")
      >>> message.integer(1), message.text(2), message.integers(3)
      (150, 'hi', ())
    """

    __slots__ = ("_fields",)

    def __init__(self, data: bytes | memoryview) -> None:
        self._fields = _fields(data)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    @property
    def numbers(self) -> Set[int]:
        """The numbers of the fields that are there."""
        return self._fields.keys()

    def integer(self, number: int) -> int:
        """Return the last integer of a field, as a signed number of 64 bits; 0 if it is absent."""
        values = self._fields.get(number)
        if values is None:
            return 0
        value = values[-1]
        if not isinstance(value, int):
            raise damaged(f"field {number} is not an integer")
        return value - (1 << 64) if value >> 63 else value

    def integers(self, number: int) -> tuple[int, ...]:
        """Return the integers of a repeated field, packed or not, as signed numbers of 64 bits."""
        elements = self._fields.get(number)
        if elements is None:
            return ()
        if len(elements) == 1 and not isinstance(elements[0], int):
            data = _bytes(elements[0], number)
            if data.isascii():  # each byte is a number
                return tuple(data)
            return tuple(_packed(data))
        values: list[int] = []
        for value in elements:
            if isinstance(value, int):
                values.append(signed_integer(value))
            else:
                values.extend(_packed(value))
        return tuple(values)

    def raw(self, number: int) -> bytes:
        """Return the bytes of a field; none if it is absent."""
        values = self._fields.get(number)
        return b"" if values is None else _bytes(values[-1], number)

    def text(self, number: int) -> str:
        """Return the text of a field; empty if it is absent."""
        values = self._fields.get(number)
        return "" if values is None else text(_bytes(values[-1], number), number)

    def raws(self, number: int) -> tuple[bytes, ...]:
        """Return the bytes of each element of a repeated field."""
        return tuple(_bytes(value, number) for value in self._fields.get(number, ()))

    def views(self, number: int) -> tuple[bytes | memoryview, ...]:
        """Return the elements of a repeated field, as views if the message was made of one."""
        return tuple(_content(value, number) for value in self._fields.get(number, ()))

    def texts(self, number: int) -> tuple[str, ...]:
        """Return the texts of a repeated field."""
        return tuple(text(value, number) for value in self.raws(number))

    def encoded(self, number: int) -> bytes | None:
        """Return the bytes of the nested message of a field; None if it is absent.

        The format allows a message in several parts; the result is their concatenation.
        """
        values = self._fields.get(number)
        if values is None:
            return None
        return _bytes(values[0], number) if len(values) == 1 else b"".join(self.raws(number))

    def message(self, number: int) -> Message | None:
        """Return the nested message of a field; None if it is absent."""
        content = self.encoded(number)
        return None if content is None else Message(content)

    def messages(self, number: int) -> list[Message]:
        """Return the nested messages of a repeated field."""
        return [Message(value) for value in self.raws(number)]


def signed_integer(value: int) -> int:
    """Return a number of 64 bits as a signed one."""
    return value - (1 << 64) if value >> 63 else value


def _content(value: Value, number: int) -> bytes | memoryview:
    if isinstance(value, int):
        raise damaged(f"field {number} is not a message or text")
    return value


def _bytes(value: Value, number: int) -> bytes:
    return value if isinstance(value, bytes) else bytes(_content(value, number))


def text(value: bytes, number: int) -> str:
    """Return the text of a field with these bytes; raise ArtifactError if they are not UTF-8."""
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise damaged(f"field {number} is not text") from None


def _packed(data: bytes | memoryview) -> list[int]:
    values, at, end = [], 0, len(data)
    while at < end:
        value, at = data[at], at + 1
        if value > 0x7F:
            value, at = varint(data, at - 1)
            value = signed_integer(value)
        values.append(value)
    return values


def varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the number at a position, and the next position; most have one or two bytes."""
    value = shift = 0
    try:
        first = data[at]
        if first < 0x80:
            return first, at + 1
        second = data[at + 1]
        if second < 0x80:
            return first & 0x7F | second << 7, at + 2
        for position in range(at, at + LONGEST):
            byte = data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
            shift += 7
    except IndexError:
        raise damaged("it is cut off") from None
    raise damaged("it has a number of more than 64 bits")


def cut(data: bytes | memoryview, number: int) -> bytes:
    """Return a message with the content of one text or message field removed, if it has that.

    Raises ArtifactError if it is cut off.

    >>> cut(field(1, b"name") + field(8, b"0" * 1000), 8) == field(1, b"name") + field(8, b"")
    True
    """
    return edited(data, number, lambda _: b"")


def edited(
    data: bytes | memoryview, number: int, edit: Callable[[bytes | memoryview], bytes]
) -> bytes:
    """Return a message with the content of each field `number`, text or a nested message, edited.

    `edit` gets a view if the message is one, so that large content is not copied.

    Raises ArtifactError if it is cut off.

    >>> edited(field(1, b"a") + field(2, b"b"), 2, lambda x: b"c")[-1:]
    b'c'
    """
    pieces, begin = list[bytes | memoryview](), 0
    for tag, start, after, end in _positions(data):
        if tag == number << 3 | BYTES:
            pieces += [data[begin:start], field(number, edit(data[after:end]))]
            begin = end
    return b"".join([*pieces, data[begin:]])


def without_field(data: bytes | memoryview, number: int) -> bytes:
    """Return a message without the fields `number`, so that they have their default.

    Raises ArtifactError if it is cut off.

    >>> without_field(b"\\x08\\x01" + field(2, b"a"), 1) == field(2, b"a")
    True
    """
    pieces, begin = list[bytes | memoryview](), 0
    for tag, start, _, end in _positions(data):
        if tag >> 3 == number:
            pieces, begin = [*pieces, data[begin:start]], end
    return b"".join([*pieces, data[begin:]])


def with_sorted_fields(data: bytes | memoryview, number: int) -> bytes:
    """Return a message with the contents of the fields `number`, texts or messages, in order.

    Raises ArtifactError if it is cut off.

    >>> with_sorted_fields(field(1, b"b") + field(1, b"a"), 1) == field(1, b"a") + field(1, b"b")
    True
    """
    ordered = iter(sorted(map(bytes, Message(data).views(number))))
    return edited(data, number, lambda _: next(ordered))


def integer_field(data: bytes, number: int, value: int) -> bytes:
    """Return a message with the integer of a field replaced, if present; `value` is not negative.

    Raises ArtifactError if it is cut off.

    >>> Message(integer_field(b"\\x08\\x01", 1, 300)).integer(1)
    300
    """
    pieces, begin = list[bytes | memoryview](), 0
    for tag, _, after, end in _positions(data):
        if tag == number << 3 | VARINT:
            pieces += [data[begin:after], _varint_of(value)]
            begin = end
    return b"".join([*pieces, data[begin:]])


def _positions(data: bytes | memoryview) -> Iterator[tuple[int, int, int, int]]:
    """Yield the tag of each field, its position, and the start and end of its content."""
    at = 0
    while at < len(data):
        start = at
        tag, after = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            _, at = varint(data, after)
        elif kind == BYTES:
            length, after = varint(data, after)
            at = after + length
        elif kind in (FIXED64, FIXED32):
            at = after + (8 if kind == FIXED64 else 4)
        else:
            raise damaged(f"it has a field of the wire type {kind}")
        if at > len(data):
            raise damaged("it is cut off")
        yield tag, start, after, at


def _fields(data: bytes | memoryview) -> dict[int, list[Value]]:
    """Return the values of each field; one-byte numbers are read without a call."""
    fields: dict[int, list[Value]] = {}
    at, end = 0, len(data)
    try:
        while at < end:
            tag, at = data[at], at + 1
            if tag > 0x7F:
                tag, at = varint(data, at - 1)
            kind = tag & 7
            value: Value
            if kind == BYTES:
                length, at = data[at], at + 1
                if length > 0x7F:
                    length, at = varint(data, at - 1)
                value = data[at : at + length]
                at += length
            elif kind == VARINT:
                value, at = data[at], at + 1
                if value > 0x7F:
                    value, at = varint(data, at - 1)
            elif kind in (FIXED64, FIXED32):
                length = 8 if kind == FIXED64 else 4
                value, at = int.from_bytes(data[at : at + length], "little"), at + length
            else:
                raise damaged(f"it has a field of the wire type {kind}")
            number = tag >> 3
            if not number:
                raise damaged("it has a field without a number")
            if number in fields:
                fields[number].append(value)
            else:
                fields[number] = [value]
    except IndexError:
        raise damaged("it is cut off") from None
    if at > end:
        raise damaged("it is cut off")
    return fields
