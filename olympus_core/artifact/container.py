"""The writer of the zip file that a bundle is; it appears whole or not at all.

Members are stored as they are, uncompressed and without a date, in the order of their names: equal
members make equal bytes.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from olympus_bundle.manifest import CONSTANTS
from olympus_core.artifact.files import write_whole

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that the format has
_READABLE_FILE = 0o644 << 16
#: Arrays begin at a multiple of these bytes, so that they can be used without a copy.
ALIGNMENT = 64
_LOCAL_HEADER = 30  # bytes, before the name and the extra fields
_FIELD_HEADER = 4  # bytes, of an extra field
_PADDING_FIELD = 0xD935  # the number of a field that only aligns, as Android's tools use it


def write(file: Path | BinaryIO, members: Mapping[str, bytes]) -> None:
    """Write a file with the given members beside its path, then replace the path with it.

    The target of a link is replaced, and the link stays; the new file has the permissions of the
    old. A device or a pipe, which cannot be replaced, is written to, and so is an open file.

    Raises:
      UsageError: the folder is missing or not writable, or the path is a folder.
    """
    content = zip_content(members)
    if isinstance(file, Path):
        write_whole(file, content)
    else:
        file.write(content)


def _padding(start: int) -> bytes:
    """Return an extra field that moves content from the position `start` to an aligned one."""
    length = -(start + _FIELD_HEADER) % ALIGNMENT
    return struct.pack("<HH", _PADDING_FIELD, length) + bytes(length)


def _has_arrays(content: bytes) -> bool:
    """Return True for a bundle with arrays, which is itself a member."""
    return content.startswith(b"PK") and CONSTANTS.encode() in content


def zip_content(members: Mapping[str, bytes]) -> bytes:
    """Return the content of a file with the given members.

    >>> zip_content({"a": b"1"})[:2]
    b'PK'
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(members.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, _READABLE_FILE
            if name.endswith(".safetensors") or _has_arrays(content):
                info.extra = _padding(file.tell() + _LOCAL_HEADER + len(name.encode()))
            archive.writestr(info, content)
    return file.getvalue()
