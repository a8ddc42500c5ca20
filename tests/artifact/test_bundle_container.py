"""A zip file with wrong sizes, members or names is refused before a member is read."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from tests.artifact.bundles import members_of, pack

LARGE = 1_000_000


def overlapping_zip(depth: int) -> bytes:
    """Return a zip file whose members overlap: each contains all members after it.

    The content is `depth` times as large as the file.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(depth):
            info = zipfile.ZipInfo(f"{number}")
            archive.writestr(info, bytes(LARGE) if number == depth - 1 else b"")
        infos = archive.infolist()
        content = file.getvalue()
        for info in infos:
            start = info.header_offset + 31
            info.file_size = info.compress_size = len(content) - start
            info.CRC = zipfile.crc32(content[start:])
    changed = bytearray(file.getvalue())
    for info in infos:  # the header before each content agrees with the directory
        fields = info.CRC.to_bytes(4, "little") + info.file_size.to_bytes(4, "little") * 2
        changed[info.header_offset + 14 : info.header_offset + 26] = fields
    return bytes(changed)


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.olympus"
    path.write_bytes(overlapping_zip(200))
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match="is damaged: '1' overlaps another member"):
            artifact.load(path)
        assert tracemalloc.get_traced_memory()[1] < LARGE
    finally:
        tracemalloc.stop()


def patch_directory(path: Path, name: str, offset: int, field: bytes) -> None:
    """Change a field of a member's entry in the directory."""
    content = bytearray(path.read_bytes())
    at = content.index(name.encode(), content.index(b"PK\1\2")) - 46 + offset
    content[at : at + len(field)] = field
    path.write_bytes(content)


def test_a_member_larger_than_the_file_is_refused(bundle: Path) -> None:
    for offset in (20, 24):  # the compressed size, and the size
        original = bundle.read_bytes()
        patch_directory(bundle, "program.stablehlo.bc", offset, (2**31).to_bytes(4, "little"))
        with pytest.raises(ArtifactError, match=r"overlaps|larger than the file"):
            artifact.load(bundle)
        bundle.write_bytes(original)


def test_a_wrong_64_bit_size_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, archive.open("a", "w", force_zip64=True) as member:
        member.write(b"hello")
    content = bytearray(file.getvalue())
    size = (5).to_bytes(8, "little")
    content = content.replace(size, (2**62).to_bytes(8, "little"))
    at = content.index(b"PK\1\2")
    entry = content[at : at + 46]
    entry[20:28] = b"\xff" * 8
    entry[30:32] = (20).to_bytes(2, "little")
    extra = b"\1\0\x10\0" + (2**62).to_bytes(8, "little") * 2
    content[at : at + 47] = entry + b"a" + extra
    end = content.index(b"PK\5\6")
    content[end + 12 : end + 16] = (47 + 20).to_bytes(4, "little")
    (tmp_path / "f.olympus").write_bytes(content)
    with pytest.raises(ArtifactError, match="larger than the file"):
        artifact.load(tmp_path / "f.olympus")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a\0b", "a\\b", "a\x1b[31m", "\u202ex"])
def test_invalid_names_of_members_are_refused(bundle: Path, name: str) -> None:
    content = members_of(bundle)
    replaced = "z" * len(name.encode())
    pack(bundle, {**content, replaced: b"hello"})
    changed = bundle.read_bytes().replace(replaced.encode(), name.encode())
    if not name.isascii():  # the flag for names in UTF-8
        changed = bytearray(changed)
        for signature, offset in ((b"PK\3\4", 7), (b"PK\1\2", 9)):
            changed[changed.rindex(signature) + offset] |= 8
    bundle.write_bytes(changed)
    with pytest.raises(ArtifactError, match="is damaged: a member has the name") as caught:
        artifact.load(bundle)
    assert str(caught.value).isprintable()


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "f.olympus", {str(number): b"" for number in range(1001)})
    with pytest.raises(ArtifactError, match="it has 1001 members, and 1000 is the most"):
        artifact.load(path)


def test_a_pipe_or_device_is_refused_without_a_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.olympus")
    for path in (tmp_path / "f.olympus", Path("/dev/zero")):
        with pytest.raises(UsageError, match="cannot be read: it is not a regular file"):
            artifact.load(path)
