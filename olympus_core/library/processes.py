"""The processes of a program: OLYMPUS runs programs in one process."""

from __future__ import annotations

from typing import NoReturn

from olympus_core.base.errors import BackendError


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | list[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> NoReturn:
    """Raise BackendError: programs of several processes are not part of this version.

    >>> is_initialized()
    False
    """
    raise BackendError(
        "olympus.distributed.initialize needs programs of several processes, which are not part "
        "of this version",
        hint="leave the call out: one process uses all of its devices",
    )


def is_initialized() -> bool:
    """Return True if this process is one of several: always False.

    >>> is_initialized()
    False
    """
    return False


def shutdown() -> None:
    """Do nothing: this process has no connection to others.

    >>> shutdown()
    """
