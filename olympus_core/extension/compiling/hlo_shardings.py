"""Shardings as XLA has them, and their serialized forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import xla
from olympus_core.base.errors import ArgumentError, ShardingError
from olympus_core.placement.chosen_sharding import TiledSharding
from olympus_core.placement.sharding import Tiling, checked_memory_kind
from olympus_core.xla.bindings import _hlo


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return XLA's OpSharding of a serialized one.

    >>> get_op_sharding_from_serialized_proto(b"").type.name
    'REPLICATED'
    """
    proto = _hlo.OpSharding()
    proto.ParseFromString(sharding)
    return proto


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """Return XLA's HloSharding of a serialized OpSharding.

    >>> get_hlo_sharding_from_serialized_proto(b"").is_replicated()
    True
    """
    return _hlo.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """Return an HloSharding as a serialized OpSharding.

    >>> get_serialized_proto_from_hlo_sharding(get_hlo_sharding_from_serialized_proto(b""))
    b''
    """
    serialized: bytes = sharding.to_proto().SerializeToString()
    return serialized


class GSPMDSharding(TiledSharding):
    """A sharding in the form of XLA: the part of an array that each of `devices` holds.

    `op_sharding` is an OpSharding or an HloSharding of XLA; `memory_kind` is as for NamedSharding.
    The arrays have one rank, unless the sharding is whole on each device.

    Raises ArgumentError for another `op_sharding`, and ShardingError for another kind of memory.

    >>> GSPMDSharding.get_replicated(olympus.devices()[:1])
    GSPMDSharding({replicated}, memory_kind=device)
    """

    __slots__ = ("_hlo_sharding", "_memory_kind")

    def __init__(
        self, devices: Sequence[Any], op_sharding: Any, *, memory_kind: str | None = None
    ) -> None:
        if isinstance(op_sharding, _hlo.OpSharding):
            op_sharding = _hlo.HloSharding.from_proto(op_sharding)
        if not isinstance(op_sharding, _hlo.HloSharding):
            raise ArgumentError(
                f"GSPMDSharding needs an OpSharding or an HloSharding, and got {op_sharding!r:.80}",
                hint="use NamedSharding(mesh, spec)",
            )
        self._devices = tuple(devices)
        self._hlo_sharding = op_sharding
        self._memory_kind = checked_memory_kind(memory_kind, self._devices)

    @classmethod
    def get_replicated(
        cls, device_assignment: Sequence[Any], *, memory_kind: str | None = None
    ) -> GSPMDSharding:
        """Return the sharding of arrays that are whole on each device."""
        return cls(device_assignment, _hlo.OpSharding(), memory_kind=memory_kind)

    @property
    def memory_kind(self) -> str:
        return self._memory_kind

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return GSPMDSharding(self._devices, self._hlo_sharding, memory_kind=kind)

    @property
    def is_fully_replicated(self) -> bool:
        return len(self._devices) == 1 or bool(self._hlo_sharding.is_replicated())

    def tiling(self, ndim: int) -> Tiling:
        if not self.is_fully_replicated:
            sharding = self._hlo_sharding
            others = len(sharding.subgroup_types()) + sharding.replicate_on_last_tile_dim()
            rank = len(sharding.tile_assignment_dimensions()) - others
            if rank != ndim:
                raise ShardingError(f"{self!r} is for arrays of {rank} dimensions, not of {ndim}")
        return xla.tiling_of(self._hlo_sharding.to_proto(), ndim, len(self._devices))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo_sharding!r}, memory_kind={self.memory_kind})"

    @property
    def _key(self) -> tuple[Any, ...]:
        return self._devices, str(self._hlo_sharding), self._memory_kind

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, GSPMDSharding) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)
