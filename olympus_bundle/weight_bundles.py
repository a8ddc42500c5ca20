"""Bundles with weights: a bundle and a .safetensors file in one file.

The file is a zip file with a manifest of schema version 3. The weights are mapped into memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olympus_bundle.json_value import JsonValue
from olympus_bundle.manifest import Member, parse_member

WEIGHTS_VERSION = 3
PROGRAM = "program.olympus"
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class WeightManifest:
    """The content of the manifest: the names of the program, and the SHA-256 of its two members.

    `source` is the SHA-256 of the files that the weights were read from.
    """

    name: str
    entry: str
    source: str
    members: Mapping[str, Member]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data, which `parse_weights` reads."""
        members = {name: vars(member).copy() for name, member in self.members.items()}
        return {"schema_version": WEIGHTS_VERSION, **vars(self), "members": members}


def parse_weights(document: JsonValue) -> WeightManifest:
    """Return the manifest in a JSON document of schema version 3.

    Raises:
      ArtifactError: a field is missing, unknown, or has another form.
    """
    fields = document.fields("schema_version", *WeightManifest.__dataclass_fields__)
    members = fields["members"].mapping(parse_member)
    if set(members) != {PROGRAM, WEIGHTS}:
        fields["members"].refuse(f"{PROGRAM} and {WEIGHTS}")
    return WeightManifest(
        fields["name"].name(), fields["entry"].text(), fields["source"].text(), members
    )
