"""`olympus list`: targets and the state of their outputs, without an import of the program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Invoke


def states(invoke: Invoke, *arguments: str) -> dict[str, Any]:
    result = invoke("list", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return {row["target"]: row for row in json.loads(result.stdout)["targets"]}


def test_the_states_of_targets(project: Path, invoke: Invoke) -> None:
    (project / "model.py").write_text("raise SystemExit('imported')\n")
    before = states(invoke)
    assert {row["state"] for row in before.values()} == {"never built"}
    assert list(before) == ["forward@batch=1", "forward@batch=8", "add"]
    assert list(states(invoke, "forward@batch=8", "a*")) == ["forward@batch=8", "add"]


@pytest.mark.parametrize("damage", ["short", "missing", "list", "report"])
def test_built_and_damaged_outputs(project: Path, invoke: Invoke, damage: str) -> None:
    assert invoke("build", "add").exit_code == 0
    row = states(invoke, "add")["add"]
    folder = project / "build" / "add"
    files = json.loads((folder / "olympus-build.json").read_text())["files"]
    assert (row["state"], row["bytes"]) == ("fresh", sum(file["bytes"] for file in files))
    assert (row["backends"], row["entry"]) == (["cpu"], "model.py:add")
    assert row["built"].endswith("+00:00") and Path(row["folder"]) == folder.resolve()
    text = invoke("list").stdout
    assert text.splitlines()[0].split() == ["target", "backends", "state", "built", "time", "size"]
    report = json.loads((folder / "report.json").read_text())
    assert row["seconds"] == sum(report["seconds"].values()) > 0
    if damage == "short":
        (folder / "program.olympuspr").write_text("")
    elif damage == "missing":
        (folder / "add.olympus").unlink()
    elif damage == "list":
        (folder / "olympus-build.json").write_text("{")
    else:
        (folder / "olympus-build.json").unlink()
    assert states(invoke, "add")["add"]["state"] == "damaged"
    shutil.rmtree(folder)
    assert states(invoke, "add")["add"]["state"] == "never built"


def test_a_failed_target_is_failed_until_a_build_succeeds(project: Path, invoke: Invoke) -> None:
    text = (project / "model.py").read_text()
    assert invoke("build", "add").exit_code == 0
    built = states(invoke, "add")["add"]
    (project / "model.py").write_text(f"{text}\nraise ValueError('broken')\n")
    assert invoke("build", "--frozen", "add").exit_code != 0
    assert states(invoke, "add")["add"]["state"] == "stale"
    assert invoke("build", "add", "forward@batch=1").exit_code != 0
    failed = states(invoke)
    assert failed["add"] == {**built, "state": "failed"}
    assert failed["forward@batch=1"]["state"] == "failed"
    assert failed["forward@batch=8"]["state"] == "never built"
    (project / "model.py").write_text(text)
    assert states(invoke, "add")["add"]["state"] == "failed"
    assert invoke("build", "add").exit_code == 0
    assert states(invoke, "add")["add"]["state"] == "fresh"
    assert states(invoke)["forward@batch=1"]["state"] == "failed"


def test_a_cleaned_target_is_not_failed(project: Path, invoke: Invoke) -> None:
    text = (project / "model.py").read_text()
    assert invoke("build", "add").exit_code == 0
    (project / "model.py").write_text("raise ValueError('broken')\n")
    assert invoke("build", "forward@*").exit_code != 0
    invoke("clean", "forward@batch=1")
    expected = {"forward@batch=1": "never built", "forward@batch=8": "failed", "add": "stale"}
    assert {name: row["state"] for name, row in states(invoke).items()} == expected
    invoke("clean", "add")  # no output remains, and the failure of another target does
    expected["add"] = "never built"
    assert {name: row["state"] for name, row in states(invoke).items()} == expected
    invoke("clean", "--all")
    assert {row["state"] for row in states(invoke).values()} == {"never built"}
    (project / "model.py").write_text(text)
    assert invoke("build").exit_code == 0
    assert {row["state"] for row in states(invoke).values()} == {"fresh"}


def test_fresh_and_stale_outputs(project: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    assert {row["state"] for row in states(invoke).values()} == {"fresh"}
    text = (project / "olympus.toml").read_text()
    (project / "olympus.toml").write_text(text + "[target.add.static]\nz = 3\n")
    assert states(invoke, "add")["add"]["state"] == "stale"
    (project / "olympus.toml").write_text(text)
    (project / "model.py").write_text((project / "model.py").read_text() + "# a comment\n")
    assert {row["state"] for row in states(invoke).values()} == {"stale"}
    (project / "build" / ".olympus-index.json").unlink()
    assert {row["state"] for row in states(invoke).values()} == {"built"}


def test_a_project_without_targets(folder: Path, invoke: Invoke) -> None:
    (folder / "olympus.toml").write_text("")
    result = invoke("list")
    assert result.exit_code == 2
    assert "olympus.toml has no target" in result.stderr
