"""Records are read from files of Riegeli, also where block headers interrupt them."""

from __future__ import annotations

import random

import pytest

from olympus_core.base.errors import ArtifactError
from olympus_core.xla.proto.riegeli import records
from olympus_core.xla.proto.wire import packed_integers

BLOCK = 1 << 16


class Writer:
    """A file in the format Riegeli/records, without hashes."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.chunk(b"s", b"")

    def put(self, content: bytes) -> None:
        for byte in content:
            if len(self.data) % BLOCK == 0:
                self.data += bytes(24)
            self.data.append(byte)

    def chunk(self, kind: bytes, content: bytes, count: int = 0) -> None:
        header = [bytes(8), len(content).to_bytes(8, "little"), bytes(8)]
        self.put(b"".join([*header, kind, count.to_bytes(7, "little"), bytes(8)]))
        self.put(content)
        if 0 < len(self.data) % BLOCK <= 24:
            self.data += bytes(25 - len(self.data) % BLOCK)

    def records(self, contents: list[bytes], compression: bytes = b"\0") -> None:
        sizes = packed_integers(map(len, contents))
        head = compression + packed_integers([len(sizes)]) + sizes
        self.chunk(b"r", head + b"".join(contents), len(contents))


def test_records_of_any_size_are_read_across_blocks() -> None:
    drawn = random.Random(0)
    file, expected = Writer(), []
    for size in (0, 1, 3, BLOCK - 300, BLOCK, 200, 3 * BLOCK + 17, *range(40, 60)):
        contents = [drawn.randbytes(size), drawn.randbytes(5)]
        file.records(contents)
        expected += contents
    assert [*records(memoryview(file.data))] == expected


@pytest.mark.parametrize("offset", range(-70, 30))
def test_a_chunk_may_begin_at_any_place_near_the_end_of_a_block(offset: int) -> None:
    file = Writer()
    first, second = bytes(BLOCK - 64 - 45 + offset), b"second"
    file.records([first])
    file.records([second])
    assert [*records(memoryview(file.data))] == [first, second]


def test_chunks_of_another_kind_are_skipped() -> None:
    file = Writer()
    file.chunk(b"m", bytes(BLOCK + 5))
    file.records([b"one"])
    assert [*records(memoryview(file.data))] == [b"one"]


def test_a_file_that_is_cut_off_or_compressed_is_refused() -> None:
    file = Writer()
    file.records([bytes(range(100))])
    for end in (70, 110, len(file.data) - 1):
        with pytest.raises(ArtifactError, match="cut off"):
            [*records(memoryview(file.data)[:end])]
    file.records([b"a"], compression=b"b")
    with pytest.raises(ArtifactError, match="compressed"):
        [*records(memoryview(file.data))]
