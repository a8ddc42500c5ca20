"""With --json, stdout has one JSON document, also if a command fails or is interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

from olympus import errors
from olympus.errors import InternalError
from olympus_cli import main
from olympus_cli.commands import lower
from olympus_cli.process import interrupts, shortage
from olympus_cli.process.interrupts import Terminated
from olympus_cli.reports.json import error_schema

Invoke = Callable[..., Result]

VALID = Draft202012Validator(error_schema())
FAILS = ("program.py:fails", "--shapes", "f32[2]")
STAGES = ("trace", "lower", "cost", "compile", "report", "run")
ENTRY_COMMANDS = (*STAGES, "shard", "verify", "bench")
#: Arguments with which each command reads olympus.toml.
PROJECT = {
    **dict.fromkeys((*ENTRY_COMMANDS, "build", "check", "diff", "profile"), ("nosuch",)),
    "history": (),
}
#: Arguments with which each command reads a missing file.
MISSING = {
    **dict.fromkeys((*STAGES, "profile"), ("nosuch.py:f", "--shapes", "f32[2]")),
    "run": ("nosuch.olympus",),
    "inspect": ("nosuch.olympus",),
    "sign": ("nosuch.olympus", "--key", "nosuch.pem"),
    "diff": ("nosuch.olympus", "other.olympus"),
    "history": ("--import", "nosuch.csv"),
    "devices": ("--device-config", "nosuch.toml"),
    "build": ("--project", "nosuch"),
    "check": ("--project", "nosuch"),
}


def error_of(result: Result) -> dict[str, Any]:
    """The error in the only document on stdout, which matches the exit code and stderr."""
    document = json.loads(result.stdout)
    VALID.validate(document)
    error = document["error"]
    assert error["exit_code"] == result.exit_code != 0
    assert error["message"] in result.stderr
    assert isinstance(error, dict)
    return error


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text("def fails(x):\n    raise ValueError('the width is odd')\n")
    (folder / "olympus.toml").write_text('[target.f]\nentri = "program.py:fails"\n')
    return folder


@pytest.mark.parametrize("command", main.COMMANDS)
def test_a_usage_error_is_a_document(work: Path, invoke: Invoke, command: str) -> None:
    error = error_of(invoke(command, "--json", "--nosuch"))
    assert (error["kind"], error["exit_code"]) == ("UsageError", 2)
    assert error["message"] == f"olympus {command} has no option '--nosuch'"
    assert error["hint"]
    plain = invoke(command, "--nosuch")
    assert (plain.exit_code, plain.stdout) == (2, "")


@pytest.mark.parametrize("args", [("nosuch", "--json"), ("--json", "build"), ("--json",)])
def test_a_usage_error_before_the_command(work: Path, invoke: Invoke, args: Any) -> None:
    assert error_of(invoke(*args))["kind"] == "UsageError"


@pytest.mark.parametrize("command", PROJECT)
def test_a_spec_error_is_a_document(work: Path, invoke: Invoke, command: str) -> None:
    error = error_of(invoke(command, *PROJECT[command], "--json"))
    assert (error["kind"], error["exit_code"]) == ("SpecError", 2)
    assert error["location"] == "olympus.toml:2"
    assert "did you mean entry?" in error["hint"]


@pytest.mark.parametrize("command", MISSING)
def test_a_missing_file_is_a_document_with_the_error(
    work: Path, invoke: Invoke, command: str
) -> None:
    (work / "olympus.toml").write_text("")
    error = error_of(invoke(command, *MISSING[command], "--json"))
    assert error["exit_code"] in (2, 5)
    assert "nosuch" in error["message"]


@pytest.mark.parametrize("command", STAGES)
def test_a_trace_error_is_a_document(work: Path, invoke: Invoke, command: str) -> None:
    (work / "olympus.toml").write_text("")
    error = error_of(invoke(command, *FAILS, "--json"))
    assert (error["kind"], error["exit_code"]) == ("TraceError", 3)
    assert error["location"] == f"{work}/program.py:2"
    assert "the width is odd" in error["message"]


@pytest.mark.parametrize("form", [("--output", "json"), ("--output=json",)])
def test_another_form_of_the_json_option(work: Path, invoke: Invoke, form: tuple[str, ...]) -> None:
    assert error_of(invoke("build", *form))["kind"] == "SpecError"
    assert error_of(invoke("build", *form, "--nosuch"))["kind"] == "UsageError"


def test_arguments_after_a_double_dash_are_no_options(work: Path, invoke: Invoke) -> None:
    result = invoke("trace", "--", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("end", "kind", "code"),
    [
        (KeyboardInterrupt(), "Interrupted", interrupts.EXIT_CODE),
        (Terminated(), "Terminated", 143),
        (MemoryError(), "CompileError", shortage.EXIT_CODE),
        (InternalError("a rule is broken"), "InternalError", 70),
    ],
    ids=["Ctrl-C", "SIGTERM", "no memory", "a defect"],
)
def test_other_exceptions_have_a_kind_and_an_exit_code(
    work: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    end: BaseException,
    kind: str,
    code: int,
) -> None:
    def ends(*_args: object, **_options: object) -> None:
        raise end

    monkeypatch.setattr(lower, "call", ends)
    error = error_of(invoke("lower", *FAILS, "--json"))
    assert (error["kind"], error["exit_code"]) == (kind, code)


def test_the_schema_has_the_classes_and_the_exit_codes_of_errors() -> None:
    Draft202012Validator.check_schema(error_schema())
    properties = error_schema()["$defs"]["error"]["properties"]
    classes = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.OlympusError)
    }
    assert set(properties["kind"]["enum"]) == {*classes, "Interrupted", "Terminated"}
    codes = {error_class.exit_code for error_class in classes.values()} | {
        interrupts.EXIT_CODE,
        143,
    }
    assert set(properties["exit_code"]["enum"]) == codes


@pytest.mark.parametrize(
    "change",
    [
        lambda error: error.pop("hint"),
        lambda error: error.update(kind="NewerSchema"),
        lambda error: error.update(exit_code=0),
        lambda error: error.update(location="model.py"),
        lambda error: error.update(trace=""),
    ],
)
def test_the_schema_rejects_an_invalid_error(
    work: Path, invoke: Invoke, change: Callable[[dict[str, Any]], object]
) -> None:
    error_of(invoke("build", "--json"))
    document = json.loads(invoke("build", "--json").stdout)
    assert document["failed"] == [{"target": None, "error": document["error"]}]
    for error in (document["error"], document["failed"][0]["error"]):
        original = dict(error)
        change(error)
        assert not VALID.is_valid(document)
        error.clear()
        error.update(original)
    VALID.validate(document)


def test_an_error_class_of_the_command_line_has_the_kind_of_its_base(
    work: Path, invoke: Invoke
) -> None:
    entry = 'entry = "program.py:fails"\nargs = ["f32[]"]'
    (work / "olympus.toml").write_text(f"[target.f]\n{entry}\n")
    (work / "baselines").mkdir()
    (work / "baselines" / "main.json").write_text('{"schema_version": 99, "targets": {}}')
    error = error_of(invoke("bench", "f", "--baseline", "main", "--json"))
    assert (error["kind"], error["exit_code"]) == ("ArtifactError", 5)


def test_no_second_document_follows_a_written_one(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text('[target.f]\nentry = "program.py:fails"\nargs = ["f32[]"]\n')
    document = json.loads(invoke("build", "--json").stdout)
    (failed,) = (target["error"] for target in document["targets"])
    assert failed["exit_code"] == 3
    VALID.validate({"error": failed})
    assert "error" not in document
