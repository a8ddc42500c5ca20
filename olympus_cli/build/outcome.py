"""What became of a target, in a form that can pass from one process to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from olympus_cli.isolated.failure import Failure

__all__ = ["Failure", "Outcome", "Status"]

Status = Literal["built", "fresh", "stale", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of one target; "stale" is one that --frozen kept from being built.

    One that was built, or is fresh, has a failure too if the compiler of another of its backends is
    not here.
    """

    target: str
    status: Status
    reason: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    log: str = ""
    warnings: tuple[str, ...] = ()
