"""The error for a module that has no Olympuspr."""

from __future__ import annotations


class UnraisableError(Exception):
    """Raised for a module that cannot be an Olympuspr; it can still be compiled unchanged."""
