"""The contents of a stored result, as the document of `olympus inspect` and its JSON Schema.

The shipped file `entry_contents.schema.json` has the schema: `pytest
tests/cli/builder/inspection --update-golden` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olympus.errors import ArtifactError
from olympus.files import (
    SCHEMA_DIALECT,
    RecordSchemas,
    SchemaConstraints,
    open_regular,
    read_regular,
    to_data,
)
from olympus.stages import is_attached
from olympus_cli.builder.results.entry import MAX_BYTES, Member, decoded, decoded_header
from olympus_cli.text.paths import display_path

_SCHEMA_VERSION = 1  # increased with each change that an old reader would misread
_START = b"olympus-result "


@dataclass(frozen=True)
class EntryContents:
    """The contents of a stored result: its key, the program that it is the result of, its members.

    The misfits are the known reasons why the executable cannot run on this machine. A build finds
    only results with the key of its program, compiler, options and processor.
    """

    file: str
    bytes: int
    key: str
    program: str
    backend: str
    versions: Mapping[str, str]
    compile_seconds: float
    members: tuple[Member, ...]
    misfits: tuple[str, ...]

    @staticmethod
    def read(file: Path, trust: Sequence[Path] = ()) -> EntryContents:
        """Return the contents of a file of the store, after its verification.

        Its name begins with its key. If `trust` has public keys, one must have signed it.

        Raises:
            ArtifactError: the file cannot be read, is damaged, or is not signed with such a key.
        """
        key = file.name.partition(".")[0]
        try:
            content = read_regular(file, MAX_BYTES)
            decoded(content, key, trust)
            header = decoded_header(content, key)
        except OSError as error:
            message = f"{display_path(file)} cannot be read: {error.strerror}"
            raise ArtifactError(message) from error
        except ArtifactError as error:
            message = f"the stored result {display_path(file)} cannot be used: {error}"
            raise ArtifactError(message, hint=error.hint) from error
        kind = header.backend.partition(":")[0]
        misfits = () if is_attached(kind) else (f"this machine has no {kind.upper()}",)
        return EntryContents(
            display_path(file),
            len(content),
            header.key,
            header.program,
            header.backend,
            header.versions,
            header.figures.compile_seconds,
            header.members,
            misfits,
        )

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `entry_contents.schema.json`."""
        data: dict[str, Any] = to_data(self)
        return {"schema_version": _SCHEMA_VERSION, **data}


def is_entry_file(path: Path) -> bool:
    """Return True if a file begins as a stored result."""
    try:
        with open_regular(path) as file:
            return file.read(len(_START)) == _START
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return False


_CONSTRAINTS: SchemaConstraints = {
    EntryContents: {"key": {"pattern": "^[0-9a-f]{64}$"}},
    Member: {"sha256": {"pattern": "^[0-9a-f]{64}$"}},
}


def entry_contents_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    schemas = RecordSchemas(constraints=_CONSTRAINTS)
    contents = schemas.record(EntryContents)
    return {
        "$schema": SCHEMA_DIALECT,
        "$id": f"olympus-entry-contents-{_SCHEMA_VERSION}",
        "title": "OLYMPUS stored result",
        **contents,
        "required": ["schema_version", *contents["required"]],
        "properties": {"schema_version": {"const": _SCHEMA_VERSION}, **contents["properties"]},
        "$defs": schemas.definitions,
    }
