"""The bytes of an exported program: a header in JSON, and parts, with a digest.

    magic number, 16 bytes | digest (SHA-256) of all that follows, 32 bytes
    length of the header, 8 bytes | header | for each part: its length, 8 bytes | part

The header has the version of the format. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from olympus_core.base.errors import ArtifactError

_MAGIC = b"OLYMPUS-EXPORT\r\n"
_VERSION = 1
_LENGTH, _DIGEST = 8, 32


class StoredParts(NamedTuple):
    """The header and the parts of an exported program."""

    header: dict[str, Any]
    contents: tuple[bytes, ...]


def parts_to_bytes(parts: StoredParts) -> bytearray:
    """Return the bytes of an exported program; equal programs have equal bytes."""
    header = json.dumps(
        parts.header | {"version": _VERSION}, sort_keys=True, separators=(",", ":")
    ).encode()
    body = b"".join(len(x).to_bytes(_LENGTH, "little") + x for x in (header, *parts.contents))
    return bytearray(_MAGIC + hashlib.sha256(body).digest() + body)


def parts_of_bytes(blob: bytes) -> StoredParts:
    """Return the header and the parts; raise ArtifactError for other bytes."""
    start = len(_MAGIC) + _DIGEST
    if not blob.startswith(_MAGIC):
        raise ArtifactError(
            "the bytes are not an exported program",
            hint="Exported.serialize() returns one; files of jax.export are read by "
            "olympus.interop and the command line",
        )
    body = blob[start:]
    if hashlib.sha256(body).digest() != blob[len(_MAGIC) : start]:
        raise ArtifactError("the exported program is damaged: its digest differs")
    pieces = list[bytes]()
    at = 0
    while at < len(body):
        length = int.from_bytes(body[at : at + _LENGTH], "little")
        pieces.append(body[at + _LENGTH : at + _LENGTH + length])
        at += _LENGTH + length
    try:
        header = json.loads(pieces[0])
    except (IndexError, ValueError):
        raise ArtifactError("the exported program has no valid header") from None
    if not isinstance(header, dict) or header.get("version") != _VERSION:
        version = header.get("version") if isinstance(header, dict) else None
        raise ArtifactError(
            f"the exported program has version {version!r} of the format, and not {_VERSION}"
        )
    return StoredParts(header, tuple(pieces[1:]))
