"""`olympus inspect` on the folder of a target and on a stored result, as text, JSON and schemas."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import olympus_cli
from olympus.artifact import indented
from olympus_cli.builder.inspection import build_contents
from olympus_cli.builder.inspection.build_contents import build_contents_schema, misfits_of
from olympus_cli.builder.inspection.entry_contents import entry_contents_schema
from tests.cli.conftest import Invoke

FOLDER = Path(olympus_cli.__file__).parent / "builder" / "inspection"
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "build_contents": build_contents_schema,
    "entry_contents": entry_contents_schema,
}


@pytest.fixture
def cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of results of its own."""
    place = folder / "cache"
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(place))
    return place


@pytest.fixture
def built(cache: Path, project: Path, invoke: Invoke) -> Path:
    """The folder of a built target."""
    assert invoke("build", "add").exit_code == 0
    return project / "build" / "add"


@pytest.fixture
def entry(built: Path, cache: Path) -> Path:
    """The stored result of the target."""
    return next(cache.rglob("*.result"))


def document(invoke: Invoke, path: Path, schema: str) -> dict[str, Any]:
    result = invoke("inspect", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    Draft202012Validator(json.loads((FOLDER / f"{schema}.schema.json").read_text())).validate(data)
    return data


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_shipped_schemas_are_those_of_the_types(
    request: pytest.FixtureRequest, name: str
) -> None:
    path = FOLDER / f"{name}.schema.json"
    text = indented(SCHEMAS[name]()) + "\n"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "pytest --update-golden renews it"
    Draft202012Validator.check_schema(json.loads(text))


def test_the_contents_of_a_build(built: Path, invoke: Invoke) -> None:
    data = document(invoke, built, "build_contents")
    manifest = json.loads((built / "olympus-build.json").read_text())
    report = json.loads((built / "report.json").read_text())
    assert (data["target"], data["entry"], data["project"]) == ("add", "model.py:add", "../..")
    assert data["sources"] == manifest["sources"]
    (backend,) = data["backends"]
    assert backend["key"] == report["backends"][0]["key"]
    assert backend["parts"] == manifest["parts"]["cpu"]
    assert (backend["executable"], backend["misfits"]) == ("cpu/executable.bin", [])
    files = {file["path"]: file for file in data["files"]}
    assert {file["state"] for file in files.values()} == {"intact"}
    assert files.keys() == {file["path"] for file in manifest["files"]}
    assert data["others"] == []
    text = invoke("inspect", str(built)).stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "add (model.py:add, build/add)" in lines
    assert f"key for cpu {backend['key']}" in lines
    assert "cpu/executable.bin cpu yes" in lines
    assert "optimize default" in lines
    program = files["program.olympuspr"]
    assert f"program.olympuspr {program['bytes']} intact {program['sha256']}" in lines


def test_damaged_missing_and_other_files(built: Path, invoke: Invoke) -> None:
    (built / "summary.txt").write_text("changed")
    (built / "program.hlo.txt").unlink()
    (built / "report.json").write_text("{")
    (built / "cpu" / "notes").mkdir()
    (built / "cpu" / "notes" / "mine.txt").touch()
    data = document(invoke, built, "build_contents")
    states = {file["path"]: file["state"] for file in data["files"]}
    assert states["summary.txt"] == states["report.json"] == "changed"
    assert states["program.hlo.txt"] == "missing"
    assert states["cpu/executable.bin"] == "intact"
    assert data["others"] == ["cpu/notes/mine.txt"]
    assert (data["entry"], data["backends"][0]["key"]) == (None, None)
    text = invoke("inspect", str(built)).stdout
    assert "not known: report.json is damaged" in text
    assert "2 changed" in text and "1 missing" in text


def test_the_reasons_why_an_executable_does_not_fit(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = json.loads((built / "olympus-build.json").read_text())
    parts = manifest["parts"]["cpu"]
    assert list(misfits_of("cpu", parts)) == []
    features = parts["processor features"]
    parts |= {"processor features": f"{features} avx99 amx_new", "package jaxlib": "0.1"}
    (built / "olympus-build.json").write_text(json.dumps(manifest))
    misfits = document(invoke, built, "build_contents")["backends"][0]["misfits"]
    assert misfits[0].startswith("it was built with jaxlib 0.1, and here jaxlib is ")
    assert misfits[1] == "it was built on a processor with amx_new, avx99, which this one lacks"
    assert f"no: {misfits[0]}; {misfits[1]}" in invoke("inspect", str(built)).stdout
    (other,) = misfits_of("cpu", {**parts, "package jaxlib": here(), "machine": "Darwin arm64"})
    assert other.startswith("it was built on Darwin arm64, and this is ")
    del parts["processor features"]
    (unknown,) = misfits_of("cpu", {**parts, "package jaxlib": here()})
    assert unknown == "what the processor that it was built on can do is not known"
    assert list(misfits_of("abacus", parts)) == ["its backend 'abacus' is not known"]
    monkeypatch.setattr(build_contents, "is_attached", lambda _kind: False)
    assert list(misfits_of("gpu:h200", parts))[-1] == "this machine has no GPU"


def here() -> str:
    from olympus_cli.program.versions import installed_version

    return installed_version("jaxlib") or ""


def test_folders_that_are_no_builds(built: Path, project: Path, invoke: Invoke) -> None:
    result = invoke("inspect", "build")
    assert result.exit_code == 2
    assert "error: build is not the output of a build\nhint: it has the folders of add" in (
        result.stderr
    )
    assert invoke("inspect", ".").exit_code == 2
    result = invoke("inspect", "build/add", "--trust", "team.pub")
    assert result.exit_code == 2 and "a build folder has none" in result.stderr
    (built / "olympus-build.json").write_text("[")
    assert invoke("inspect", "build/add").exit_code == 5
    (built / "olympus-build.json").unlink()
    assert invoke("inspect", "build/add").exit_code == 5
    assert invoke("inspect", "absent").exit_code == 2
    os.mkfifo("pipe")
    assert invoke("inspect", "pipe").exit_code == 2


def test_the_contents_of_a_stored_result(entry: Path, invoke: Invoke) -> None:
    data = document(invoke, entry, "entry_contents")
    assert data["key"] == entry.name.removesuffix(".result")
    assert (data["program"], data["backend"], data["misfits"]) == ("add", "cpu", [])
    assert data["bytes"] == entry.stat().st_size
    names = [member["name"] for member in data["members"]]
    assert names == ["executable.bin", "optimized.hlo.txt", "lines.json"]
    text = invoke("inspect", str(entry)).stdout
    assert data["key"] in text and data["members"][0]["sha256"] in text


def test_a_damaged_stored_result(entry: Path, invoke: Invoke, tmp_path: Path) -> None:
    content = entry.read_bytes()
    entry.write_bytes(content[:-1] + b"?")
    result = invoke("inspect", str(entry))
    assert result.exit_code == 5
    assert "cannot be used: its lines.json has another SHA-256" in result.stderr
    entry.write_bytes(content)
    shutil.copy(entry, tmp_path / ("0" * 64 + ".result"))
    result = invoke("inspect", "0" * 64 + ".result")
    assert result.exit_code == 5 and "it is the result for another key" in result.stderr


def test_a_stored_result_must_be_signed_if_a_key_is_given(entry: Path, invoke: Invoke) -> None:
    assert invoke("sign", "--new-key", "team").exit_code == 0
    result = invoke("inspect", str(entry), "--trust", "team.pub")
    assert result.exit_code == 5
    assert "sign" in result.stderr
