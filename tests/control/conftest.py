"""Fixtures of tests with references."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import olympus as ox


@pytest.fixture
def no_reference_is_left() -> Iterator[None]:
    """Free references that programs in caches have: while any exist, functions are searched."""
    yield
    ox.clear_caches()
    gc.collect()
