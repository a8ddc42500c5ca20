"""Whether the memory that a program needs fits a device, where bounds of the need are known."""

from __future__ import annotations

import olympus

__all__ = ["fits_between"]


def fits_between(least: int | None, most: int | None, device: olympus.DeviceModel) -> bool | None:
    """Whether a need between two bounds fits a device; None where its memory is between them."""
    if least is None or most is None:
        return None
    bounds = {olympus.analysis.fits(size, device).is_enough for size in (least, most)}
    return bounds.pop() if len(bounds) == 1 else None
