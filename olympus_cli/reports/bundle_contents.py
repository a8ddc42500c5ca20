"""The contents of a bundle, as the document of `olympus inspect` and its JSON Schema.

The shipped file `bundle_contents.schema.json` has the schema: `pytest tests/cli/commands
--update-golden` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olympus.artifact import Bundle, SignatureState, manifest_schema
from olympus.files import SCHEMA_DIALECT, RecordSchemas, SchemaConstraints, to_data

_SCHEMA_VERSION = 1  # increased with each change that an old reader would misread


@dataclass(frozen=True)
class ExecutableFit:
    """An executable of the bundle, and the reason why it cannot run on this machine, or null."""

    member: str
    misfit: str | None


@dataclass(frozen=True)
class BundleContents:
    """The contents of a bundle: its manifest, its signature, and the fit of its executables."""

    file: str
    bytes: int
    signature: SignatureState
    executables: tuple[ExecutableFit, ...]
    manifest: Mapping[str, Any]

    @staticmethod
    def of(bundle: Bundle, file: str, bytes: int, signature: SignatureState) -> BundleContents:
        """Return the contents of a verified bundle; `file` is its name, and `bytes` its size.

        >>> BundleContents.of(bundle, "f.olympus", 8301, bundle.signature_state()).executables
        (ExecutableFit(member='executables/cpu.bin', misfit=None),)
        """
        fits = tuple(ExecutableFit(x.member, bundle.misfit(x)) for x in bundle.executables)
        return BundleContents(file, bytes, signature, fits, bundle.manifest.to_data())

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `bundle_contents.schema.json`."""
        data: dict[str, Any] = to_data(self)
        return {"schema_version": _SCHEMA_VERSION, **data}


_CONSTRAINTS: SchemaConstraints = {
    BundleContents: {
        "file": {"description": "The name of the file, as it was given."},
        "bytes": {"description": "The size of the file."},
        "manifest": {"$ref": "#/$defs/manifest"},
    },
    SignatureState: {"key": {"pattern": "^[0-9a-f]{64}$"}},
}


def bundle_contents_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document; that of the manifest is part of it."""
    schemas = RecordSchemas(constraints=_CONSTRAINTS)
    contents = schemas.record(BundleContents)
    manifest = manifest_schema()
    del manifest["$schema"]
    definitions = manifest.pop("$defs")
    return {
        "$schema": SCHEMA_DIALECT,
        "$id": f"olympus-bundle-contents-{_SCHEMA_VERSION}",
        "title": "OLYMPUS bundle contents",
        **contents,
        "required": ["schema_version", *contents["required"]],
        "properties": {"schema_version": {"const": _SCHEMA_VERSION}, **contents["properties"]},
        "$defs": {**schemas.definitions, "manifest": manifest, **definitions},
    }
