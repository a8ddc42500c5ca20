"""Files of JSON with a schema version, which anyone may have written.

Only a regular file is opened, and only up to a limit is read. A damaged or crafted file is an error
that describes the problem. It cannot make a command hang, and it cannot name a file outside its
folder. `olympus.files.typed` checks the types of the content.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from olympus.errors import ArtifactError
from olympus.files import parse_json, read_regular
from olympus_cli.text.paths import display_path

_MAX_BYTES = 64 * 2**20
_LATEST = 10**30  # the largest schema version


class NewerSchema(ArtifactError):
    """Raised for a document that a newer version of OLYMPUS wrote."""


class OlderSchema(ArtifactError):
    """Raised for a file of an earlier version of a schema."""


def read_json(path: Path, version: int, accepted: Collection[int] = ()) -> dict[str, Any]:
    """Return the JSON object in a file whose `schema_version` is `version`, without that key.

    `accepted` are earlier versions that the caller reads too.

    Raises:
        NewerSchema: the version is a later one.
        OlderSchema: the version is an earlier one.
        ArtifactError: the file cannot be read, is too large, or does not hold such an object.
    """
    try:
        content = read_regular(path, _MAX_BYTES, follow_links=False)
    except FileNotFoundError as error:
        raise ArtifactError(f"{display_path(path)} is missing") from error
    except OSError as error:
        raise ArtifactError(f"{display_path(path)} cannot be read: {error.strerror}") from error
    if not content.strip():
        raise ArtifactError(f"{display_path(path)} is empty")
    try:
        data = parse_json(content)
    except ValueError as error:
        raise ArtifactError(
            f"{display_path(path)} is not JSON that can be read: {error}"
        ) from error
    written = data.pop("schema_version", None) if isinstance(data, dict) else None
    if type(written) is not int or not 0 <= written <= _LATEST:
        raise ArtifactError(f"{display_path(path)} has no schema version")
    if written != version and written not in accepted:
        kind, age = (NewerSchema, "a newer") if written > version else (OlderSchema, "an older")
        raise kind(
            f"{display_path(path)} has schema {written}, of {age} olympus; this one reads {version}"
        )
    return cast("dict[str, Any]", data)


def is_inside(path: str) -> bool:
    """Return True if `path` is the shortest relative path of something inside a folder.

    Example: `is_inside("cpu/executable.bin")`, and not `is_inside("../x")`.
    """
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") for part in parts)
