"""The join of a bundle from those of targets, as a part of a build."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Protocol

from olympus.errors import OlympusError
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.reasons import NeverBuilt, PartsChanged, PartsStale, Stated
from olympus_cli.faults.failure import Failure


class JoinedBundle(Protocol):
    """A bundle that is joined from others.

    `path` is its file, and `is_fresh` is True if it has exactly the present parts and settings.
    """

    @property
    def name(self) -> str:
        """Its name in the report of a build."""

    @property
    def path(self) -> Path:
        """Its file."""

    def is_fresh(self) -> bool:
        """Return True if it has exactly the present parts and settings."""

    def write(self) -> None:
        """Write the file and its folder; raise OlympusError if the parts do not fit."""


def ready_targets(outcomes: Iterable[Outcome]) -> set[str]:
    """Return the names of the targets whose bundles can be parts."""
    return {x.target for x in outcomes if x.status in ("built", "fresh") and x.failure is None}


def joined(bundle: JoinedBundle, *, frozen: bool) -> Outcome:
    """Write a bundle that is stale, unless `frozen`; return the outcome."""
    start = time.perf_counter()
    if bundle.is_fresh():
        return _fresh(bundle)
    reason = _reason(bundle)
    if frozen:
        return Outcome.because(bundle.name, [reason])
    try:
        bundle.write()
    except OlympusError as error:
        return Outcome(bundle.name, "failed", failure=Failure.of(error))
    seconds = time.perf_counter() - start
    return Outcome(bundle.name, "built", (Stated.of(reason),), seconds)


def explained(bundle: JoinedBundle, parts: Iterable[str], ready: Container[str]) -> Outcome:
    """Return why a bundle is stale or fresh; `ready` has the parts that are not stale."""
    stale = tuple(part for part in parts if part not in ready)
    if not bundle.path.exists() or not stale:
        is_fresh = not stale and bundle.is_fresh()
        return _fresh(bundle) if is_fresh else Outcome.because(bundle.name, [_reason(bundle)])
    return Outcome.because(bundle.name, [PartsStale(stale)])


def _fresh(bundle: JoinedBundle) -> Outcome:
    return Outcome(bundle.name, "fresh", unchanged="the files that it is joined from")


def _reason(bundle: JoinedBundle) -> NeverBuilt | PartsChanged:
    return PartsChanged() if bundle.path.exists() else NeverBuilt()
