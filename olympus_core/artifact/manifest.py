"""The manifest of a bundle with the types of the stages, and its JSON data.

`bundle.schema.json` describes the JSON; `reading` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from olympus_bundle import manifest as records
from olympus_bundle.host_functions import HostFunction
from olympus_bundle.manifest import ARRAY_FIELDS, CONSTANTS_VERSION, SCHEMA_VERSION, ArrayInfo
from olympus_core import xla
from olympus_core.artifact.jsontext import indented
from olympus_core.artifact.shardings import StoredPlacement, StoredShardings
from olympus_core.artifact.stored_tree import Node
from olympus_core.base.dtypes import long_name
from olympus_core.base.json_records import to_data
from olympus_core.stages.interface import ArgInfo


class Signature(records.Signature):
    """The calling convention of the program: flat arguments and results, and their trees.

    `argument_tree` is that of the pair (args, kwargs), without the static arguments, whose values
    `static` has by name.
    """

    arguments: tuple[ArgInfo, ...]
    argument_tree: Node
    results: tuple[ArgInfo, ...]
    result_tree: Node

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data."""
        return {
            "arguments": [{**_type(a), "donated": a.donated} for a in self.arguments],
            "argument_tree": self.argument_tree.to_data(),
            "results": [_type(result) for result in self.results],
            "result_tree": self.result_tree.to_data(),
            "static": self.static,
        }


def _callback(function: HostFunction) -> dict[str, Any]:
    tree: Any = function.argument_tree
    return {
        **vars(function),
        "arguments": list(map(_type, function.arguments)),
        "argument_tree": tree.to_data(),
        "results": list(map(_type, function.results)),
    }


def _type(array: ArrayInfo) -> dict[str, Any]:
    values = array.name, long_name(array.dtype), array.shape, array.weak_type
    return dict(zip(ARRAY_FIELDS, values, strict=True))


@dataclass(frozen=True)
class StoredExecutable(records.StoredExecutable):
    """One compiled form of the program: its member, its target, and the machine that built it.

    `topology` is the number of hosts and devices, or the torus of chips; None for a target without
    it. `shardings` are those of a program of several devices: the program's own, and the compiler's
    choice.
    """

    shardings: StoredShardings | None = None

    @property
    def target(self) -> xla.Target:
        """The target of the compilation."""
        topology = self.topology and xla.topology_of(self.backend, self.device, self.topology)
        return xla.Target(self.backend, self.device, topology=topology or None)


class Manifest(records.Manifest):
    """The content of a bundle's manifest.

    `programs` names, for each backend lowered for, the member with the StableHLO. `members` are all
    files of the bundle except the manifest. `placement` is that of a program of several devices.
    """

    signature: Signature
    executables: tuple[StoredExecutable, ...]
    placement: StoredPlacement | None
    callbacks: tuple[HostFunction, ...]
    constants: Mapping[str, tuple[ArgInfo, ...]]

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1 if self.placement is None else self.placement.num_devices

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `bundle.schema.json`.

        Fields that only programs of several devices, with calls of Python functions or with
        constants have are omitted for others, so that older readers accept them.
        """
        data = {
            "schema_version": CONSTANTS_VERSION if self.constants else SCHEMA_VERSION,
            **vars(self),
            "signature": self.signature.to_data(),
            "executables": [self._executable(stored) for stored in self.executables],
            "members": {name: vars(member).copy() for name, member in self.members.items()},
        }
        del data["placement"], data["callbacks"], data["constants"]
        if self.constants:
            constants = self.constants.items()
            data["constants"] = {backend: list(map(_type, group)) for backend, group in constants}
        if self.callbacks:
            data["callbacks"] = [_callback(function) for function in self.callbacks]
        if self.placement is not None:
            data["placement"] = self.placement.to_data()
        return data

    def _executable(self, stored: StoredExecutable) -> dict[str, Any]:
        data: dict[str, Any] = to_data(replace(stored, shardings=None))
        del data["shardings"]
        if stored.topology is None:
            del data["topology"]
        if stored.shardings is not None and self.placement is not None:
            data["shardings"] = stored.shardings.to_data(self.placement.meshes)
        return data

    def to_bytes(self) -> bytes:
        """Return the bytes of `manifest.json`, equal for equal content."""
        return f"{indented(self.to_data(), sort_keys=True)}\n".encode("ascii")
