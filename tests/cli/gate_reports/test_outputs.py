"""`--output`: each form of a gate's report, to stdout and to files, for each result of the gate."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jsonschema
import pytest
from click.testing import Result

from olympus.errors import CompileError, SpecError, TraceError, UsageError
from olympus_cli.bench.compare.attempts import Attempt
from olympus_cli.diff.comparing import SideProgram, compared
from olympus_cli.diff.comparison import Comparison
from olympus_cli.diff.gate_report import comparison_report
from olympus_cli.diff.loading import read_side
from olympus_cli.diff.sides import FileSide
from olympus_cli.faults.failure import Failure
from olympus_cli.gate_reports.failures import failure_data
from olympus_cli.gate_reports.formats.github import render_github
from olympus_cli.gate_reports.formats.junit import render_junit
from olympus_cli.gate_reports.formats.markdown import render_markdown
from olympus_cli.gate_reports.formats.text import render_gate_text
from olympus_cli.gate_reports.gate_report import Case, GateReport, Remark, case_of_error
from olympus_cli.gate_reports.outputs import RENDERERS, Outputs
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.process.interrupts import Terminated
from olympus_cli.terminal import console
from olympus_cli.text.option_values import FORMATS

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as np


def dense(x, w):
    return np.tanh(x @ w)


def nan(x):
    return np.log(x - 100.0)
"""
TOML = """\
[target.dense]
entry = "program:dense"
args = ["f32[8,16]", "f32[16,32]"]
budget = { flops = "8 kFLOP", bytes = "1 MiB" }
"""
MISSING = '[target.missing]\nentry = "program:missing"\nargs = []\nbudget.flops = 1\n'

#: The elements of a JUnit file: junit-10.xsd of Jenkins' xunit plugin, as far as gates use it.
ELEMENTS = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"testcase"},
        {"name", "tests", "failures", "errors", "skipped", "time"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": (
        {"failure", "error", "skipped", "system-out"},
        {"name", "classname", "time"},
        {"name"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


#: An entry of GitLab's code quality report: the keys in its manual, "Code Quality report format".
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]+$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/.]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                        "additionalProperties": False,
                    },
                },
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    },
}


def gitlab(text: str) -> list[dict[str, Any]]:
    """The entries of a GitLab file, checked by the schema of its manual."""
    entries: list[dict[str, Any]] = json.loads(text)
    jsonschema.validate(entries, GITLAB)
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    return entries


def junit(text: str) -> Element:
    """The root of a JUnit file, checked by the schema."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        children, attributes, required = ELEMENTS[element.tag]
        assert {child.tag for child in element} <= children
        assert required <= {*element.attrib} <= attributes
        if "time" in element.attrib:
            assert re.fullmatch(r"[0-9]*(\.[0-9]*)?", element.attrib["time"])
    for suite in root:
        elements = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        assert suite.attrib["tests"] == str(len(suite.findall("testcase")))
        for name, tag in elements.items():
            assert suite.attrib[name] == str(len(suite.findall(f"testcase/{tag}")))
    return root


@pytest.fixture
def work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def test_every_form_has_a_renderer() -> None:
    assert tuple(RENDERERS) == FORMATS


def test_all_forms_of_a_gate_that_fails(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = work / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = [f"{form}={form}.out" for form in FORMATS]
    options = [part for file in files for part in ("--output", file)]
    result = invoke("check", *options, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == json.loads((work / "json.out").read_text())
    assert "error: target 'dense' on cpu: flops is " in result.stderr
    texts = {form: (work / f"{form}.out").read_text() for form in FORMATS}
    assert "dense   cpu      flops   8.7 k" in re.sub("8.[0-9]+ k", "8.7 k", texts["text"])
    assert texts["github"].startswith(
        "::error file=program.py,line=5,title=olympus check%3A dense%3A budget flops on cpu::"
    )
    assert texts["github"].count("\n") == 1
    (entry,) = gitlab(texts["gitlab"])
    assert entry["location"] == {"path": "program.py", "lines": {"begin": 5}}
    assert (entry["severity"], len(entry["fingerprint"])) == ("major", 64)
    (suite,) = junit(texts["junit"])
    assert suite.attrib["name"] == "dense"
    case = next(case for case in suite if case.attrib["name"] == "budget flops on cpu")
    (failure,) = case.findall("failure")
    assert "program.py:5" in (failure.text or "")
    figures = json.loads(case.findtext("system-out") or "")
    (verdict, _) = json.loads(texts["json"])["targets"][0]["verdicts"]
    assert figures == {name: verdict[name] for name in figures}
    assert "| failed | dense | budget flops on cpu | program.py:5 |" in texts["markdown"]
    assert summary.read_text() == "before\n" + texts["markdown"]


def test_a_target_that_fails_is_an_error_in_every_form(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(MISSING)
    result = invoke("check", "--output", "junit=out.xml", "--output", "github")
    assert result.exit_code == 2
    (suite,) = junit((work / "out.xml").read_text())
    assert suite.attrib["errors"] == "1"
    assert result.stdout.startswith(
        "::error file=olympus.toml,line=2,title=olympus check%3A missing%3A check run::"
    )
    (work / "olympus.toml").write_text(MISSING + TOML.replace("8 kFLOP", "1 GFLOP"))
    result = invoke("check", "--output", "junit=out.xml", "--json")
    assert result.exit_code == 2
    root = junit((work / "out.xml").read_text())
    assert root.attrib == {"name": "olympus check", "tests": "3", "failures": "0", "errors": "1"}
    (failed,) = json.loads(result.stdout)["failed"]
    assert failed["target"] == "missing"
    assert failed["error"]["exit_code"] == 2


def test_a_command_that_cannot_start_writes_a_report(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML + "budjet = 3\n")
    result = invoke("check", "--output", "junit=out.xml", "--output", "github")
    assert result.exit_code == 2
    assert junit((work / "out.xml").read_text()).attrib["errors"] == "1"
    assert result.stdout.startswith("::error file=olympus.toml,line=5,title=")


def test_a_program_that_does_not_trace_is_annotated(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text("def dense(x, w):\n    y = x @ w\n    return y if y else x\n")
    for command in ("check", "build"):
        result = invoke(command, "--output", "github")
        assert result.exit_code == 3
        assert result.stdout.startswith("::error file=program.py,line=3,title="), command


def test_verify_has_a_case_for_each_comparison(work: Path, invoke: Invoke) -> None:
    sides = ("program:nan", "--shapes", "x=f32[4]")
    result = invoke("verify", *sides, "--output", "junit", "--output", "github=out")
    assert result.exit_code == 1
    (suite,) = junit(result.stdout)
    assert [case.attrib["name"] for case in suite] == ["verify result against op-by-op"]
    assert "'log' made the first NaN" in ElementTree.tostring(suite, encoding="unicode")
    assert (work / "out").read_text().startswith("::error file=program.py,line=9,title=")
    text = invoke("verify", *sides)
    assert text.stdout.splitlines()[1].split() == [
        *("result", "against", "ulps", "error", "differ", "verdict")
    ]
    assert text.stdout.count("op-by-op") == 1


def test_diff_has_a_case_for_each_change(work: Path, invoke: Invoke) -> None:
    (work / "other.py").write_text(PROGRAM.replace("tanh", "sin"))
    sides = ("program:dense", "other:dense", "--shapes", "f32[8,16], f32[16,32]")
    result = invoke("diff", *sides, "--output", "junit", "--output", "github=out")
    assert result.exit_code == 1
    (suite,) = junit(result.stdout)
    assert [case.attrib["name"] for case in suite] == ["diff operation sine changed"]
    assert (work / "out").read_text().startswith("::error file=other.py,line=5,title=")


def test_diff_of_equal_programs_has_a_case_that_passed(work: Path) -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    (work / "a.mlir").write_text(text)
    data = read_side(lambda _stage: None, FileSide("a.mlir", work / "a.mlir"))
    side = SideProgram.from_data(data)
    comparison = Comparison.from_data(compared(lambda _stage: None, side, side))
    report_of_equal = comparison_report(comparison, work)
    (suite,) = junit(render_junit(report_of_equal))
    assert (len(suite), suite.attrib["failures"]) == (1, "0")


@pytest.mark.parametrize("words", [("check",), ("build", "--frozen"), ("bench",)], ids=" ".join)
def test_the_report_is_written_before_the_history(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    place = "history.recording" if words[0] == "build" else f"commands.{words[0]}"
    module = importlib.import_module(f"olympus_cli.{place}")
    reports: list[object] = []

    def record(*_given: object) -> None:
        reports.append(json.loads((work / "found.json").read_text()))

    monkeypatch.setattr(module, f"record_{words[0]}", record)
    if words[0] == "bench":
        failed = Attempt("dense", failure=Failure.of(CompileError("out of memory")))
        monkeypatch.setattr(module, "attempted", lambda *_: failed)
    invoke(*words, "--output", "json=found.json")
    assert len(reports) == 1


def test_build_annotates_warnings_and_frozen_targets(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text(
        "import warnings\n\n\ndef dense(x, w):\n    warnings.warn('too wide')\n    return x @ w\n"
    )
    result = invoke("build", "--frozen", "--output", "junit")
    assert (result.exit_code, junit(result.stdout).attrib["failures"]) == (7, "1")
    result = invoke("build", "--output", "github")
    assert result.exit_code == 0
    assert result.stdout == (
        "::warning file=program.py,line=5,title=olympus build::"
        "target 'dense': too wide, at program.py:5\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--output", "xml"), "no form of a report is named 'xml'; forms are github, gitlab"),
        (("--output", "markdwon"), "did you mean markdown"),
        (("--output", "junit="), "'junit=' has no file after '='"),
        (("--output", "junit", "--output", "github"), "junit and github cannot both go to stdout"),
        (("--output", "text", "--json"), "text and json cannot both go to stdout"),
        (("--output", "junit=a", "--output", "json=./a"), "two forms would be written to a"),
        (("--output", "junit=a", "--output", "junit=a"), "two forms would be written to a"),
        (("--output", "junit=/dev/stdout", "--json"), "junit and json cannot both go to stdout"),
        (("--output", "junit=no/a"), "no/a cannot be written: the folder no does not exist"),
        (("--output", "junit=."), ". cannot be written: it is a folder"),
        (("--output", "junit=pipe"), "pipe cannot be written: it is not a regular file"),
        (("--output", "junit=loop"), "loop cannot be written: Too many levels"),
        (("--output", f"junit={'x' * 300}"), "cannot be written: File name too long"),
    ],
)
def test_impossible_outputs_are_an_error_before_the_work(
    work: Path, invoke: Invoke, options: tuple[str, ...], message: str
) -> None:
    os.mkfifo(work / "pipe")
    (work / "loop").symlink_to("loop")
    result = invoke("check", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_repeated_form_is_written_once(work: Path, invoke: Invoke) -> None:
    result = invoke("check", "--output", "json", "--json")
    assert json.loads(result.stdout)["targets"]


def test_other_outputs_are_written_if_one_cannot_be(work: Path, invoke: Invoke) -> None:
    result = invoke("check", "--output", "junit=/dev/full", "--json")
    assert result.exit_code == 1
    assert "/dev/full cannot be written: No space left on device" in result.stderr
    assert "flops is " in result.stderr
    assert json.loads(result.stdout)["targets"]
    (work / "olympus.toml").write_text(TOML.replace("8 kFLOP", "1 GFLOP"))
    assert invoke("check", "--output", "junit=/dev/full").exit_code == 2


def test_a_summary_that_is_no_file_is_a_warning(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(work / "pipe")
    (work / "olympus.toml").write_text(TOML.replace("8 kFLOP", "1 GFLOP"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(work / "pipe"))
    result = invoke("check", "--output", "github")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "warning: GITHUB_STEP_SUMMARY cannot be written" in result.stderr


# --- reports with hostile text -------------------------------------------------------------------

EVIL = "a\x1b[31m\r\n::error::owned, |`<b>*x*</b>` 100% ]]>&\ufffe\u2028\ud800\x00$x$"


def report(text: str = EVIL) -> GateReport:
    return GateReport(
        "check",
        (
            Case(text, "budget", text, "failed", text, (f"{text}:3", "\ud800\0:4", "program.py:5")),
            Case(text, "bench", text, "inconclusive", text, seconds=1.25),
            Case("other", "golden", "program", "passed", figures={text: text}),
        ),
        ((text, (text, "b"), ((text, text),)),),
        {"targets": [text]},
        (text,),
        (Remark(text, ("program.py:1",)),),
        seconds={"other": 0.5},
    )


def test_names_cannot_forge_a_command_of_github(work: Path) -> None:
    lines = render_github(report()).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        "::error",
        "::notice",
        "::warning",
        "::notice",
    ]
    for line in lines:
        assert re.fullmatch(r"[^\x00-\x1f\u2028\ud800]+", line)
        head, _, _ = line[2:].partition("::")
        properties = head.partition(" ")[2]
        assert {part.partition("=")[0] for part in properties.split(",")} <= {
            *("file", "line", "title")
        }
    assert "file=program.py,line=5," in lines[0]
    assert r"%0A\u003a:error::owned, |" in lines[0]
    assert "100%25" in lines[0]


def test_characters_that_are_invalid_in_xml_are_escaped() -> None:
    root = junit(render_junit(report()))
    assert root.attrib["tests"] == "3"
    failure = root[0][0][0]
    assert failure.text is not None
    assert r"a\u001b[31m\u000d" in failure.text
    assert r"&\ufffe\u2028\ud800\u0000$x$" in failure.text
    assert root[0].attrib["skipped"] == "1"
    assert (root[0][1].attrib["time"], root[1].attrib["time"]) == ("1.250", "0.500")


def test_names_are_escaped_in_markdown() -> None:
    markdown = render_markdown(report())
    lines = markdown.splitlines()
    assert lines[0] == "## olympus check: 1 failed, 1 inconclusive, 1 passed"
    assert not re.search(r"(?<!\\)[`\[$*]", markdown)
    assert "<b>" not in markdown
    tables = [line for line in lines if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {6, 3}
    assert "program.py:5" in tables[2]


def test_text_and_json_escape_control_characters(work: Path) -> None:
    for form in ("text", "json", "gitlab"):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u2028\ud800]", RENDERERS[form](report()))
    assert "warning: a" in render_gate_text(report())


@pytest.mark.parametrize("blanks", ["", "  ", "\t\u3000"])
def test_no_line_of_output_is_a_command_of_github(work: Path, invoke: Invoke, blanks: str) -> None:
    evil = f"boom\n{blanks}::error::pwned\nand ##[error]pwned"
    (work / "program.py").write_text(f"def dense(x, w):\n    raise ValueError({evil!r})\n")
    result = invoke("check", "--output", "github", "--output", "text=out.txt", "-v")
    assert result.exit_code == 3
    assert result.stdout.startswith("::error file=program.py,line=2,")
    assert result.stdout.count("\n") == 1
    for text in (result.stderr, (work / "out.txt").read_text(), result.stdout[2:]):
        assert "##[" not in text
        assert "u003a:error::pwned" in text
        assert not [line for line in text.splitlines() if line.strip().startswith("::")]


def test_a_folded_cell_is_not_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for length in range(236, 244):
        console.table(("name",), [("a" * length + "::error::pwned",)])
    assert not re.search("(?m)^\\s*::", capsys.readouterr().out)


def test_text_has_the_source_line_of_an_error(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text("def dense(x, w):\n    raise ValueError('no')\n")
    result = invoke("check", "--output", "text=text.out")
    assert result.exit_code == 3
    quoted = "  program.py:2\n    raise ValueError('no')\n"
    assert quoted in result.stderr
    assert quoted in (work / "text.out").read_text()


def test_a_hint_in_the_message_is_not_repeated() -> None:
    error = TraceError("no such thing; use that", hint="use that")
    assert case_of_error("dense", "check", error).message == "no such thing; use that"
    assert failure_data(Failure.of(error))["hint"] is None
    assert failure_data(Failure.of(TraceError("no", hint="use that")))["hint"] == "use that"


def test_errors_are_counted_in_the_plural() -> None:
    cases = tuple(Case("a", "budget", str(i), "error") for i in range(2))
    assert render_markdown(GateReport("check", cases, (), {})).startswith(
        "## olympus check: 2 errors\n"
    )
    assert render_markdown(GateReport("check", cases[:1], (), {})).startswith(
        "## olympus check: 1 error\n"
    )


def test_a_stream_by_path_is_written_and_not_replaced(work: Path) -> None:
    (work / "olympus.toml").write_text(TOML.replace("8 kFLOP", "1 GFLOP"))
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        out.write(b"before\n")
        out.flush()
        words = ("check", "--output", "text=/dev/stdout", "--output", "markdown=/dev/stderr")
        done = subprocess.run(
            [sys.executable, "-m", "olympus_cli", *words], stdout=out, stderr=err, check=False
        )
    assert done.returncode == 0
    assert (work / "out.txt").read_text().startswith("before\ntarget ")
    text = (work / "err.txt").read_text()
    assert "## olympus check: 2 passed" in text
    assert text.endswith("wrote err.txt\n")


def test_a_long_summary_is_cut_at_the_end_of_a_line() -> None:
    rows = tuple(("é" * 50, str(number)) for number in range(1000))
    report_of_rows = GateReport("check", (), (("", ("a", "b"), rows),), {})
    cut = render_markdown(report_of_rows, 5000)
    assert len(cut.encode()) <= 5000
    assert cut.endswith("|\n\n\nThe report is cut off here: it is too long.\n")
    assert render_markdown(report_of_rows, 10) == ""
    assert render_markdown(report_of_rows, 10**6) == render_markdown(report_of_rows)


@pytest.mark.parametrize(
    ("error", "verdict", "places"),
    [
        (SpecError("a/olympus.toml:3: args is wrong"), "error", ("a/olympus.toml:3",)),
        (SpecError("olympus.toml:3:7: not TOML"), "error", ("olympus.toml:3",)),
        (TraceError("no", location="/w/model.py:7"), "error", ("/w/model.py:7",)),
        (CompileError("it ended: at 3:4"), "error", ()),
    ],
)
def test_the_location_of_an_error(error: UsageError, verdict: str, places: tuple[str, ...]) -> None:
    case = case_of_error("dense", "check", error)
    assert (case.verdict, case.places) == (verdict, places)


@pytest.mark.parametrize(
    ("end", "kind", "message", "code"),
    [
        (KeyboardInterrupt, "Interrupted", "it was interrupted", 130),
        (Terminated, "Terminated", "it was terminated", 143),
    ],
)
def test_an_interrupted_target_is_an_error(
    end: type[KeyboardInterrupt], kind: str, message: str, code: int
) -> None:
    target_runs = TargetRuns("check", 2)
    with pytest.raises(end), target_runs.record("dense"):
        raise end
    assert [(case.verdict, case.message) for case in target_runs.cases] == [("error", message)]
    error = {"kind": kind, "message": message, "hint": None, "location": None, "exit_code": code}
    assert failure_data(target_runs.failed) == [{"target": "dense", "error": error}]


@pytest.mark.parametrize("end", [KeyboardInterrupt, Terminated])
def test_an_interrupted_verification_is_reported(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, end: type[KeyboardInterrupt]
) -> None:
    def ends(*_args: object, **_options: object) -> None:
        raise end

    monkeypatch.setattr("olympus_cli.commands.verify.call", ends)
    result = invoke("verify", "--json")
    code = {KeyboardInterrupt: 130, Terminated: 143}[end]
    assert result.exit_code == code
    failed = json.loads(result.stdout)["failed"]
    assert [target["error"]["exit_code"] for target in failed] == [code]


def test_a_verification_may_be_interrupted_between_processes(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_args: object, **_options: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("olympus_cli.commands.verify.call", ends)
    result = invoke("verify", "--json")
    assert result.exit_code == 143
    (failed,) = json.loads(result.stdout)["failed"]
    assert failed["error"]["kind"] == "Terminated"


def test_failures_come_before_the_result_of_a_gate() -> None:
    target_runs = TargetRuns("check", 2)
    target_runs.add_failure("dense is wrong")
    with target_runs.record("other"):
        raise CompileError("it died")
    with pytest.raises(CompileError, match="2 of 2 targets failed"):
        target_runs.raise_failures(False)


def test_an_unknown_exception_is_reported_as_a_defect(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Outputs("check", [("junit", tmp_path / "x")]):
        raise ZeroDivisionError("no")
    assert junit((tmp_path / "x").read_text()).attrib["errors"] == "1"


def test_a_target_that_is_not_judged_fails_in_every_form(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text('[target.free]\nentry = "model:dense"\nargs = ["f32[2]"]\n')
    forms = ("text", "junit", "github", "gitlab", "markdown")
    result = invoke("check", "free", *(f"--output={form}={form}" for form in forms))
    assert result.exit_code == 2
    texts = {form: (work / form).read_text() for form in forms}
    assert "not judged: free: check rules: target 'free' is not judged" in texts["text"]
    assert junit(texts["junit"]).find(".//testcase/error") is not None
    assert texts["github"].startswith("::error file=olympus.toml,line=1,")
    (entry,) = gitlab(texts["gitlab"])
    assert entry["severity"] == "critical"
    assert texts["markdown"].startswith("## olympus check: 1 not judged\n")
