"""The examples have budgets and goldens that are committed, and the project's own CI holds them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from olympus_cli.check.golden_files import GOLDENS, read_program, read_saved
from olympus_cli.main import cli
from olympus_cli.spec.resolve import open_project
from tests.documents.documents import ROOT, read

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/olympus.toml"))
_ROW = r'^  "(\w+) (?:night: )?(\S+)"$'
LISTED = dict(re.findall(_ROW, read(ROOT / "tools" / "ci" / "examples"), re.MULTILINE))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_every_target_has_a_budget_and_what_it_is_relative_to(folder: Path) -> None:
    project = open_project(folder)
    assert project.has(LISTED[folder.name]), "the project's CI verifies or checks it"
    for spec in project.select():
        assert spec.budget
        relative = {key for key, limit in spec.budget.limits.items() if limit.factor is not None}
        for backend in spec.backends:
            saved = read_saved(spec.root, spec.name).figures.get(backend.backend, {})
            assert relative <= saved.keys()
            golden = read_program(spec.root, spec.name, backend.backend)
            assert (golden is not None) == spec.golden


def test_the_projects_ci_runs_them() -> None:
    assert {*LISTED} == {folder.name for folder in EXAMPLES}
    assert read(ROOT / ".ci" / "run").count("tools/ci/examples") == 2


def test_they_are_small() -> None:
    files = [file for folder in EXAMPLES for file in (folder / GOLDENS).glob("*")]
    assert sum(file.stat().st_size for file in files) < 200_000
    assert any(file.suffix == ".mlir" for file in files)


def test_an_example_keeps_to_its_budget_and_its_golden_program() -> None:
    result = CliRunner().invoke(cli, ("check", "--project", str(ROOT / "examples" / "lstm")))
    assert result.exit_code == 0, result.output
