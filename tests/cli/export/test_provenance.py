"""`olympus export --format provenance`: the inputs of a build as a statement of SLSA."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


def sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def provenance(invoke: Invoke, *args: str) -> Any:
    result = invoke("export", *args, "--format", "provenance", "-o", "-")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def dependencies(document: Any) -> dict[str, Any]:
    definition = document["predicate"]["buildDefinition"]
    return {x["uri"]: x for x in definition["resolvedDependencies"]}


def test_the_subject_is_the_bundle_of_a_build(project: Path, invoke: Invoke) -> None:
    document = provenance(invoke, "add")
    assert invoke("build", "add", "--no-cache").exit_code == 0
    digest = sha256("build/add/add.olympus")
    assert document["subject"] == [{"name": "add.olympus", "digest": {"sha256": digest}}]
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://slsa.dev/provenance/v1"
    definition = document["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["entry"] == "model.py:add"
    assert list(definition["externalParameters"]["arguments"].values()) == ["float32[2]"] * 2
    assert {"olympus", "jaxlib", "python"} <= document["predicate"]["runDetails"]["builder"][
        "version"
    ].keys()


def test_inputs_have_digests(project: Path, invoke: Invoke) -> None:
    (project / "data.txt").write_text("2")
    (project / "reads.py").write_text(
        "import numpy\nN = int(open('data.txt').read())\ndef f(x):\n    return x * N\n"
    )
    found = dependencies(provenance(invoke, "reads:f", "--shapes", "f32[2]"))
    for name in ("data.txt", "reads.py"):
        assert found[f"file:{name}"]["digest"] == {"sha256": sha256(project / name)}
    assert "file:model.py" not in found
    assert str(project) not in json.dumps(found)
    assert "file:olympus.toml" in dependencies(provenance(invoke, "add"))


def test_equal_builds_have_equal_statements(project: Path, invoke: Invoke) -> None:
    assert provenance(invoke, "add") == provenance(invoke, "add")


def test_the_commit_and_its_changes(project: Path, invoke: Invoke) -> None:
    def git(*args: str) -> str:
        setting = ["-c", "user.name=t", "-c", "user.email=t@t"]
        done = subprocess.run(
            ["git", *setting, *args], cwd=project, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert "git:." not in dependencies(provenance(invoke, "add"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    commit = dependencies(provenance(invoke, "add"))["git:."]
    assert commit["digest"] == {"gitCommit": git("rev-parse", "HEAD")}
    assert commit["annotations"] == {"hasChanges": False}
    (project / "model.py").write_text((project / "model.py").read_text() + "\n")
    assert dependencies(provenance(invoke, "add"))["git:."]["annotations"]["hasChanges"]


def test_flags_of_the_environment(
    project: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    document = provenance(invoke, "add")
    parameters = document["predicate"]["buildDefinition"]["internalParameters"]
    assert parameters["environment"] == {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}


def test_a_bundle_has_none(project: Path, invoke: Invoke) -> None:
    assert invoke("build", "add").exit_code == 0
    result = invoke("export", "build/add/add.olympus", "--format", "provenance")
    assert result.exit_code == 2
    assert "is built already: its provenance is that of the target" in result.stderr


def test_the_default_file(project: Path, invoke: Invoke) -> None:
    result = invoke("export", "add", "--format", "provenance", "--json")
    assert json.loads(result.stdout)["output"] == "add.provenance.json"
    assert json.loads(Path("add.provenance.json").read_text())["subject"]
