"""The zip file that a bundle is; it appears whole or not at all.

Members are stored as they are, uncompressed and without a date, in the order of their names: equal
members make equal bytes.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from olympus_core.artifact.files import write_whole
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.base.regular_files import open_regular

_MAX_BYTES = 2**40  # of a bundle
_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = 30  # bytes, before the name and the extra field
_MAX_MEMBERS = 1000  # a bundle has a handful; each costs memory before it is read
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that the format has
_READABLE_FILE = 0o644 << 16
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


def write(file: Path | BinaryIO, members: Mapping[str, bytes]) -> None:
    """Write a file with the given members beside its path, then replace the path with it.

    The target of a link is replaced, and the link stays; the new file has the permissions of the
    old. A device or a pipe, which cannot be replaced, is written to, and so is an open file.

    Raises:
      UsageError: the folder is missing or not writable, or the path is a folder.
    """
    content = _packed(members)
    if isinstance(file, Path):
        write_whole(file, content)
    else:
        file.write(content)


def _packed(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(members.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, _READABLE_FILE
            archive.writestr(info, content)
    return file.getvalue()


#: The messages of `zipfile` on a file that lacks its end, with ours.
_NO_DIRECTORY = {"File is not a zip file": "the list of its members is missing"}


def read_members(path: Path) -> dict[str, bytes]:
    """Return the members of a file that `write` made.

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
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(path, archive, file)
        except _BROKEN as exc:
            reason = f"{type(exc).__name__}: {exc}"
            if isinstance(exc, zipfile.BadZipFile):
                reason = _NO_DIRECTORY.get(str(exc), str(exc))
            raise ArtifactError(
                f"{path} is damaged, its end is missing or parts of it were changed: {reason}"
            ) from exc


def _members(path: Path, archive: zipfile.ZipFile, file: BinaryIO) -> dict[str, bytes]:
    infos = archive.infolist()
    _check_directory(path, infos, file)
    members: dict[str, bytes] = {}
    for info in infos:
        if info.filename in members:
            raise ArtifactError(f"{path} is damaged: it has {info.filename!r} twice")
        members[info.filename] = archive.read(info)
    return members


def _check_directory(path: Path, infos: list[zipfile.ZipInfo], file: BinaryIO) -> None:
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
        end = _end(info, file)
    if end > os.fstat(file.fileno()).st_size:
        raise ArtifactError(f"{path} is damaged: its members are larger than the file")


def _end(info: zipfile.ZipInfo, file: BinaryIO) -> int:
    """Return the end position of a member's content."""
    file.seek(info.header_offset)
    name, extra = struct.unpack("<26xHH", file.read(_LOCAL_HEADER))
    size = max(info.compress_size, info.file_size)
    return int(info.header_offset + _LOCAL_HEADER + name + extra + size)
