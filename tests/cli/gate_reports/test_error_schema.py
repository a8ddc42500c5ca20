"""The JSON Schema of the document of a failed command."""

from __future__ import annotations

from pathlib import Path

import pytest

import olympus_cli
from olympus.artifact import indented
from olympus_cli.gate_reports.error_schema import error_document_schema

SCHEMA = Path(olympus_cli.__file__).parent / "reports/error.schema.json"


def test_the_shipped_schema_is_that_of_the_types(request: pytest.FixtureRequest) -> None:
    text = indented(error_document_schema()) + "\n"
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, "pytest --update-golden renews it"
