"""The templates of `olympus init`: the project that they write works without changes."""

from __future__ import annotations

import importlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from olympus_cli.commands.init import TEMPLATES
from olympus_cli.spec.json_schema import SCHEMA_FILE

Invoke = Callable[..., Result]

RUNS = {
    "minimal": "forward",
    "mlp": "predict@batch=1",
    "training": "step",
    "ci": "predict@batch=32",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_works_without_changes(template: str, folder: Path, invoke: Invoke) -> None:
    result = invoke("init", "--template", template)
    assert result.exit_code == 0, result.stderr
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert (
        written == {*TEMPLATES[template], SCHEMA_FILE} >= {"model.py", "olympus.toml", ".gitignore"}
    )
    for arguments in (["build"], ["check"], ["run", RUNS[template]]):
        result = invoke(*arguments)
        assert result.exit_code == 0, (arguments, result.stderr)
    assert invoke("build", "--frozen").exit_code == 0


@pytest.mark.parametrize("template", ["minimal", "training"])
def test_a_template_is_verified(template: str, folder: Path, invoke: Invoke) -> None:
    assert invoke("init", "--template", template).exit_code == 0
    result = invoke("verify")
    assert result.exit_code == 0, result.stderr


def test_the_workflow_runs_the_gates(folder: Path, invoke: Invoke) -> None:
    assert invoke("init", "--template", "ci").exit_code == 0
    workflow = yaml.safe_load((folder / ".github/workflows/olympus.yml").read_text())
    lines = [step.get("run", "") for step in workflow["jobs"]["gates"]["steps"]]
    gates = [shlex.split(line)[1:] for line in lines if line.startswith("olympus ")]
    assert [words[0] for words in gates] == ["build", "check", "verify"]
    for name, *arguments in gates:
        command = importlib.import_module(f"olympus_cli.commands.{name}").command
        command.make_context(name, arguments)


def test_existing_files_are_not_overwritten(folder: Path, invoke: Invoke) -> None:
    for name in (".gitignore", "requirements.txt"):
        (folder / name).write_text("mine\n")
    result = invoke("init", "--template", "ci", "--json")
    assert json.loads(result.stdout)["kept"] == [".gitignore", "requirements.txt"]
    assert invoke("init", "--template", "ci", "--force").exit_code == 0
    assert (folder / ".gitignore").read_text() == "mine\n"
    assert (folder / "requirements.txt").read_text() == "mine\n"
    (folder / "model.py").unlink()
    refused = invoke("init", "--template", "ci")
    assert refused.exit_code == 2 and "olympus.schema.json exist already" in refused.stderr
    assert not (folder / "model.py").exists(), "all or nothing"


def test_an_unknown_template_is_an_error_with_the_list(folder: Path, invoke: Invoke) -> None:
    result = invoke("init", "--template", "lists")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in TEMPLATES)
    assert [*folder.iterdir()] == []
