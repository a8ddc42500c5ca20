"""The error for a module that cannot be raised to an Olympuspr."""

from __future__ import annotations


class UnraisableError(Exception):
    """A module cannot be raised to an Olympuspr; it can still be compiled unchanged."""
