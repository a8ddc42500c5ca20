"""A bundle of the program of tests/artifact."""

from tests.artifact.conftest import bundle, bundle_bytes

__all__ = ["bundle", "bundle_bytes"]
