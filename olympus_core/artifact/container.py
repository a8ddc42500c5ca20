"""The zip file that a bundle is; it appears whole or not at all.

Members (names and bytes) enter and a file leaves, or the other way round.  Members are stored as
they are, uncompressed and without a date, in the order of their names: equal members make equal
bytes.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from olympus_core.artifact.files import write_whole
from olympus_core.errors import ArtifactError, UsageError

__all__ = ["read", "write"]

_MAGIC = b"PK\x03\x04"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that the format has
_READABLE_FILE = 0o644 << 16
# What Python's reader raises on a file that breaks the format, beside its own error.
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


def write(path: Path, members: Mapping[str, bytes]) -> None:
    """Write a file with the given members beside `path`, then let it replace what is there.

    A link stays, and what it leads to is replaced; the new file has the permissions of the old.
    A device or a pipe, which cannot be replaced, is written to.

    Raises:
      UsageError: when the folder is missing or not writable, or `path` is a folder.
    """
    write_whole(path, _packed(members))


def _packed(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(members.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, _READABLE_FILE
            archive.writestr(info, content)
    return file.getvalue()


def read(path: Path) -> dict[str, bytes]:
    """The members of a file that `write` made.

    Raises:
      UsageError: when the file is missing or cannot be read.
      ArtifactError: when it is no zip file, or a damaged one, or one made by something else.
    """
    try:
        file = path.open("rb")
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"{path} cannot be read: {reason}") from exc
    with file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ArtifactError(f"{path} is not an .olympus bundle: it is not a zip file")
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(path, archive)
        except _BROKEN as exc:
            reason = "" if isinstance(exc, zipfile.BadZipFile) else f"{type(exc).__name__}: "
            raise ArtifactError(
                f"{path} is damaged, its end is missing or parts of it were changed: {reason}{exc}"
            ) from exc


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED:
            raise ArtifactError(
                f"{path} is not an .olympus bundle: {info.filename!r} in it is compressed"
            )
        if info.filename in found:
            raise ArtifactError(f"{path} is damaged: it has {info.filename!r} twice")
        found[info.filename] = archive.read(info)
    return found
