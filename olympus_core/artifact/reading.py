"""The reader of a manifest with the types of the stages: targets, options and shardings."""

from __future__ import annotations

from typing import Any, ClassVar

from olympus_bundle import manifest as records
from olympus_bundle.json_value import JsonValue
from olympus_bundle.reading import ManifestReader
from olympus_core import xla
from olympus_core.artifact.manifest import Manifest, Signature, StoredExecutable
from olympus_core.artifact.reading_shardings import parse_placement, parse_shardings
from olympus_core.artifact.shardings import StoredPlacement
from olympus_core.artifact.stored_tree import Node
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.stages.interface import ArgInfo


class StagesReader(ManifestReader):
    """The reader of a manifest whose program may have several devices."""

    array: ClassVar[type[ArgInfo]] = ArgInfo
    node: ClassVar[type[Node]] = Node
    manifest: ClassVar[type[Manifest]] = Manifest
    signature: ClassVar[type[Signature]] = Signature

    def options(self, value: JsonValue) -> dict[str, str | int | bool | float]:
        """Return the compiler options, each of which a program may set."""
        try:
            return xla.checked_options(super().options(value))
        except UsageError as exc:
            raise ArtifactError(f"in its manifest, {value.where} cannot be used: {exc}") from exc

    def placement(self, value: JsonValue, signature: records.Signature) -> StoredPlacement:
        """Return the placement of a program of several devices."""
        return parse_placement(value, signature)

    def executable(
        self,
        stored: records.StoredExecutable,
        value: JsonValue,
        signature: records.Signature,
        placement: Any,
    ) -> StoredExecutable:
        """Return the record of an executable, with its shardings."""
        fields = value.entries()
        backend, device, topology = stored.backend, stored.device, stored.topology
        if topology is not None:
            _check_topology(fields["topology"], backend, device)
        try:
            may_be_own = xla.is_device_name(backend, device)
            if backend != "tpu" or not may_be_own:
                known = None if may_be_own else device
                xla.target(backend, known, None, topology)
        except UsageError as exc:
            raise ArtifactError(
                f"in its manifest, {value.where} has an unknown target: {exc}"
            ) from exc
        shardings = None
        if placement is not None:
            shardings = parse_shardings(fields["shardings"], signature, placement)
        return StoredExecutable(**vars(stored), shardings=shardings)


def _check_topology(value: JsonValue, backend: str, device: str | None) -> None:
    """Raise ArtifactError unless a device has the topology, written in the common way."""
    try:
        topology = xla.topology_of(backend, device, value.text())
    except UsageError as exc:
        raise ArtifactError(f"in its manifest, {value.where} is not usable: {exc}") from exc
    if str(topology) != value.text():
        value.refuse(f"{topology}, as it is written")
