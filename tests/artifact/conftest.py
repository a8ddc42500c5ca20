"""A bundle of a small program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.artifact.bundles import save, traced_mlp


@pytest.fixture(scope="session")
def bundle_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a bundle of `mlp`."""
    path = tmp_path_factory.mktemp("bundle") / "mlp.olympus"
    return save(path, traced_mlp(), static={"layers": [1, 2], "train": False}).read_bytes()


@pytest.fixture
def bundle(tmp_path: Path, bundle_bytes: bytes) -> Path:
    """A bundle of `mlp`, which a test may change."""
    path = tmp_path / "mlp.olympus"
    path.write_bytes(bundle_bytes)
    return path
