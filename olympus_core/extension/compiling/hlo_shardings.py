"""Shardings as XLA has them, and their serialized forms."""

from __future__ import annotations

from typing import Any

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
