"""Records of a file in the format Riegeli/records, which contains the executables for TPUs.

The format is that of https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md.
Chunks of records that are not compressed are read.  The hashes are not checked: a bundle has its
own.
"""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.xla.proto.wire import damaged, varint

SIGNATURE = bytes.fromhex("83af70d10d884a3f")  # the hash of the first block header
_BLOCK, _BLOCK_HEADER, _CHUNK_HEADER = 1 << 16, 24, 40
_RECORDS = ord("r")  # the type of a chunk with records one after another


def records(data: memoryview) -> Iterator[bytes]:
    """Yield the records of a file.

    Raises:
      ArtifactError: the file is cut off, or has records in another form.

    Example:
      >>> [len(record) for record in records(memoryview(serialized)[begin:])]
      [48, 82148, 18138, 0, 0, 3004, 5564]
    """
    at = 0
    while at < len(data):
        header, begin = _content(data, at, _CHUNK_HEADER)
        size, kind = _integer(header[8:16]), header[24]
        count = _integer(header[25:32])
        if kind == _RECORDS:
            content, end = _content(data, begin, size)
            yield from _split(content, count)
        else:
            end = _after(begin, size)
        at = max(end, at + count)
        at += max(0, _BLOCK_HEADER - (at - 1) % _BLOCK)  # no chunk begins after a block header


def _split(content: bytes, count: int) -> Iterator[bytes]:
    """Yield the records of a chunk: its compression, the sizes of its records, the records."""
    if content[:1] != b"\0":
        raise damaged("its records are compressed")
    length, at = varint(content, 1)
    begin = at + length
    for _ in range(count):
        size, at = varint(content, at)
        if begin + size > len(content):
            raise damaged("it is cut off")
        yield content[begin : begin + size]
        begin += size


def _content(data: memoryview, at: int, size: int) -> tuple[bytes, int]:
    """Return `size` bytes from a position without the headers of blocks, and the next position."""
    end = _after(at, size)
    if end > len(data):
        raise damaged("it is cut off")
    pieces = []
    while at < end:
        begin = at + _BLOCK_HEADER if at % _BLOCK == 0 else at
        at = min(end, begin - begin % _BLOCK + _BLOCK)
        pieces.append(data[begin:at])
    return b"".join(pieces), end


def _after(at: int, size: int) -> int:
    """Return the position after `size` bytes from a position, with the headers of blocks."""
    used = _BLOCK - _BLOCK_HEADER
    inside = max(0, at % _BLOCK - _BLOCK_HEADER) if at % _BLOCK else 0
    if not size:
        return at
    blocks, rest = divmod(inside + size - 1, used)
    return at - at % _BLOCK + blocks * _BLOCK + _BLOCK_HEADER + rest + 1


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little")
