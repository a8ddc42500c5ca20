"""`olympus trace`, `lower`, `init` and `doctor` on valid projects."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


def test_trace_prints_the_olympuspr(project: Path, invoke: Invoke) -> None:
    for args in (["add"], ["model:add", "--shapes", "f32[2], f32[2]"]):
        result = invoke("trace", *args)
        assert result.exit_code == 0, result.stderr
        assert "c:f32[2] = add a b" in result.stdout
        assert result.stderr == ""


def test_a_target_of_a_project_in_another_folder(
    project: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    result = invoke("trace", "add")
    monkeypatch.chdir("/")
    for place in (project, project / "olympus.toml"):
        named = invoke("trace", "add", "--project", str(place))
        assert (named.exit_code, named.stdout) == (0, result.stdout)
        entry = ("model:add", "--shapes", "f32[2], f32[2]")
        assert invoke("trace", *entry, "--project", str(place)).stdout == result.stdout


def test_trace_prints_json(project: Path, invoke: Invoke) -> None:
    result = invoke("trace", "forward@batch=8", "--static", "scale=2", "--json")
    document = json.loads(result.stdout)
    assert document["target"] == "forward@batch=8"
    assert document["entry"] == "model:forward"
    assert document["static"] == {"scale": 2}
    assert document["arguments"] == [
        {"name": "params['b']", "dtype": "float32", "shape": [4]},
        {"name": "params['w']", "dtype": "float32", "shape": [3, 4]},
        {"name": "x", "dtype": "float32", "shape": [8, 3]},
    ]
    assert document["results"] == [{"name": "result", "dtype": "float32", "shape": [8, 4]}]
    assert "dot_general" in document["olympuspr"]


def test_output_of_the_program_goes_to_stderr(project: Path, invoke: Invoke) -> None:
    (project / "loud.py").write_text("print('one')\ndef f(x):\n    print('two')\n    return x\n")
    result = invoke("trace", "loud:f", "--shapes", "f32[]")
    assert result.stderr == "one\ntwo\n"
    assert result.stdout.startswith("{ lambda ; a:f32[].")


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("stablehlo", "stablehlo.add"),
        ("hlo", "HloModule"),
        ("olympuspr", "c:f32[2] = add a b"),
        ("dot", "digraph"),
    ],
)
def test_lower_in_every_form(project: Path, invoke: Invoke, form: str, word: str) -> None:
    result = invoke("lower", "add", "--format", form)
    assert result.exit_code == 0, result.stderr
    assert word in result.stdout
    document = json.loads(invoke("lower", "add", "--format", form, "--json").stdout)
    assert word in document["text"]
    assert (document["format"], document["backend"]) == (form, "cpu")


def test_lower_gives_stablehlo_with_locations_on_request(project: Path, invoke: Invoke) -> None:
    assert "model.py" not in invoke("lower", "add").stdout
    assert "model.py" in invoke("lower", "add", "--debug-info").stdout


def test_bytecode_goes_to_a_pipe_or_a_file(project: Path, invoke: Invoke) -> None:
    piped = invoke("lower", "add", "--format", "bytecode")
    assert piped.stdout_bytes.startswith(b"ML\xefR")
    written = invoke("lower", "add", "--format", "bytecode", "-o", "add.mlirbc")
    assert (written.stdout, written.stderr) == ("", "wrote add.mlirbc\n")
    assert Path("add.mlirbc").read_bytes() == piped.stdout_bytes
    document = json.loads(invoke("lower", "add", "--format", "bytecode", "--json").stdout)
    assert base64.b64decode(document["base64"]) == piped.stdout_bytes


def test_an_output_file_is_replaced_atomically(project: Path, invoke: Invoke) -> None:
    Path("out.mlir").write_text("old")
    result = invoke("lower", "add", "-o", "out.mlir", "--json")
    assert json.loads(result.stdout)["output"] == "out.mlir"
    assert Path("out.mlir").read_text() == invoke("lower", "add").stdout
    assert sorted(path.name for path in project.glob(".*")) == []


def test_an_output_remains_a_link_or_a_pipe(project: Path, invoke: Invoke) -> None:
    (project / "private.txt").touch(0o600)
    (project / "link.txt").symlink_to("private.txt")
    (project / "new.txt").symlink_to("fresh.txt")
    for name in ("link.txt", "new.txt"):
        assert invoke("trace", "add", "-o", name).exit_code == 0
        assert (project / name).is_symlink()
    assert (project / "private.txt").stat().st_mode & 0o777 == 0o600
    text = invoke("trace", "add").stdout
    assert (project / "private.txt").read_text() == (project / "fresh.txt").read_text() == text
    os.mkfifo("pipe")
    refused = invoke("trace", "add", "-o", "pipe")  # which would wait for a reader
    assert refused.exit_code == 2
    assert "pipe cannot be written: it is not a regular file" in refused.stderr
    assert invoke("trace", "add", "-o", "/dev/null").exit_code == 0
    (project / "loop").symlink_to("loop")
    assert invoke("trace", "add", "-o", "loop").exit_code == 2


def test_init_writes_a_project_that_lowers_and_builds(folder: Path, invoke: Invoke) -> None:
    result = invoke("init", "new/one")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "olympus build --project new/one" in result.stderr
    lowered = invoke("lower", "predict@batch=32", "--project", "new/one")
    assert lowered.exit_code == 0, lowered.stderr
    assert "tensor<32x784xf32>" in lowered.stdout
    top = invoke("trace", "predict@batch=1", "--project", "new/one", "--static", "top=true")
    assert "argmax" in top.stdout
    built = invoke("build", "--project", "new/one", "--json")
    assert built.exit_code == 0, built.stderr
    assert (folder / "new/one/build/predict@batch=32/report.json").is_file()


def test_init_overwrites_only_with_force(folder: Path, invoke: Invoke) -> None:
    (folder / "model.py").write_text("mine")
    refused = invoke("init")
    assert refused.exit_code == 2
    assert "model.py exists already" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["model.py"]
    forced = invoke("init", "--force", "--json")
    written = ["model.py", "olympus.toml", ".gitignore", "olympus.schema.json"]
    assert json.loads(forced.stdout) == {"written": written, "kept": []}
    assert "forward" in (folder / "model.py").read_text()


def test_doctor_reports_the_environment(project: Path, invoke: Invoke) -> None:
    (project / "build" / "add").mkdir(parents=True)
    (project / "build" / "add" / "report.json").write_text("{}")
    document = json.loads(invoke("doctor", "--json").stdout)
    assert {"olympus", "python", "jaxlib", "numpy"} <= document["versions"].keys()
    cpu = next(backend for backend in document["backends"] if backend["name"] == "cpu")
    assert cpu["available"]
    assert document["cache"] == {"path": str(project / "build"), "programs": 1, "bytes": 2}
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "cpu" in result.stdout
    assert "build: 1 program, 2 B" in result.stdout
    for backend in document["backends"]:
        assert (backend["install"] or "") in result.stdout


def test_doctor_continues_with_a_wrong_project(folder: Path, invoke: Invoke) -> None:
    (folder / "olympus.toml").write_text("a = 1")
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "no key 'a'" in result.stdout
    (folder / "pyproject.toml").write_text("[tool.olympus]\n")
    text = "pyproject.toml has a table [tool.olympus], which olympus.toml replaces"
    assert text in invoke("doctor").stdout
    (folder / "olympus.toml").unlink()
    assert text not in invoke("doctor").stdout
