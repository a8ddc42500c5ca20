"""The command line, as its own tests run it."""

from __future__ import annotations

from tests.cli.conftest import folder, forked, invoke, start

__all__ = ["folder", "forked", "invoke", "start"]
