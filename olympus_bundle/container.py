"""The reader of the zip file that a bundle is; its members are mapped into memory, not copied."""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from olympus_bundle.errors import ArtifactError, UsageError
from olympus_bundle.regular_file import open_regular

_MAX_BYTES = 2**40  # of a bundle
_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = 30  # bytes, before the name and the extra field
_MAX_PEEK = 2**26  # bytes, of a member that is read before the bundle is verified
_MAX_MEMBERS = 1000  # a bundle has a handful; each costs memory before it is read
# Errors that Python's reader raises on a malformed file, besides its own error.
_BROKEN = (
    zipfile.BadZipFile,
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
    struct.error,
    zlib.error,
)
#: The messages of `zipfile` on a file that lacks its end, with ours.
_NO_DIRECTORY = {"File is not a zip file": "the list of its members is missing"}


class Members(Mapping[str, bytes]):
    """The members of a bundle by name; `views` are mapped, and a look-up copies one."""

    def __init__(self, views: dict[str, memoryview]) -> None:
        self.views = views

    def __getitem__(self, name: str) -> bytes:
        return bytes(self.views[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)


def read_members(path: Path) -> dict[str, memoryview]:
    """Return the members of a bundle as views of the mapped file.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is not a zip file, is damaged, or has another writer: members are
        compressed, overlap, are larger than the file, or share a name.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open_regular(path, _MAX_BYTES))
        except OSError as exc:
            raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ArtifactError(f"{path} is not an .olympus bundle: it is not a zip file")
        return members_in(path, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def unverified_member(path: Path, name: str) -> bytes | None:
    """Return one member of a bundle, without a check of the others; None if it cannot be read."""
    try:
        with open_regular(path, _MAX_BYTES) as file, zipfile.ZipFile(file) as archive:
            info = archive.getinfo(name)
            stored = info.compress_type == zipfile.ZIP_STORED and info.file_size <= _MAX_PEEK
            return archive.read(info) if stored else None
    except (*_BROKEN, KeyError):
        return None


def members_in(path: Path, content: memoryview) -> dict[str, memoryview]:
    """Return the members of a bundle as views of its content; `path` names it in messages.

    Raises:
      ArtifactError: as `read_members`.
    """
    try:
        with zipfile.ZipFile(_ViewFile(content)) as archive:
            return _members(path, archive, content)
    except _BROKEN as exc:
        reason = f"{type(exc).__name__}: {exc}"
        if isinstance(exc, zipfile.BadZipFile):
            reason = _NO_DIRECTORY.get(str(exc), str(exc))
        raise ArtifactError(
            f"{path} is damaged, its end is missing or parts of it were changed: {reason}"
        ) from exc


class _ViewFile(io.RawIOBase):
    """A file for reading whose content is a view of memory, which is not copied."""

    def __init__(self, content: memoryview) -> None:
        self._content, self._at = content, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, len(self._content))[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        part = self._content[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def _members(path: Path, archive: zipfile.ZipFile, content: memoryview) -> dict[str, memoryview]:
    infos = archive.infolist()
    _check_directory(path, infos, content)
    members: dict[str, memoryview] = {}
    for info in infos:
        if info.filename in members:
            raise ArtifactError(f"{path} is damaged: it has {info.filename!r} twice")
        archive.open(info).close()  # it checks the header
        member = content[_start(info, content) :][: info.file_size]
        if zlib.crc32(member) != info.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
        members[info.filename] = member
    return members


def _check_directory(path: Path, infos: list[zipfile.ZipInfo], content: memoryview) -> None:
    """Raise an error if the directory cannot match the file, before a member is read."""
    if len(infos) > _MAX_MEMBERS:
        raise ArtifactError(
            f"{path} is not an .olympus bundle: it has {len(infos)} members, and {_MAX_MEMBERS} "
            "is the most"
        )
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED:
            raise ArtifactError(
                f"{path} is not an .olympus bundle: {info.filename!r} in it is compressed"
            )
        parts = info.orig_filename.split("/")
        if not info.orig_filename.isprintable() or "\\" in info.orig_filename or ".." in parts:
            raise ArtifactError(f"{path} is damaged: a member has the name {info.orig_filename!r}")
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ArtifactError(f"{path} is damaged: {info.filename!r} overlaps another member")
        end = _start(info, content) + max(info.compress_size, info.file_size)
    if end > len(content):
        raise ArtifactError(f"{path} is damaged: its members are larger than the file")


def _start(info: zipfile.ZipInfo, content: memoryview) -> int:
    """Return the position of a member's content, after its own header."""
    name, extra = struct.unpack_from("<26xHH", content, info.header_offset)
    return int(info.header_offset + _LOCAL_HEADER + name + extra)
