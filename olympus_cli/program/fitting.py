"""The comparison of a program's bounds of memory with a device's memory."""

from __future__ import annotations

import olympus


def fits_between(least: int | None, most: int | None, device: olympus.DeviceModel) -> bool | None:
    """Return True if a need between two bounds fits a device; None if that is not certain."""
    if least is None or most is None:
        return None
    bounds = {olympus.analysis.fits(size, device).is_enough for size in (least, most)}
    return bounds.pop() if len(bounds) == 1 else None
