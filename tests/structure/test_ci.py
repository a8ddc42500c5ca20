"""CI systems read the files of ci/, and the commands in them exist."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from olympus_cli.main import COMMANDS
from tests.documents.documents import ROOT, blocks, read
from tests.documents.preloaded import preloaded

CI = ROOT / "ci"
DOCUMENT = ROOT / "docs" / "how-to" / "ci.md"
FILES = sorted([*CI.rglob("*.yml"), *CI.rglob("*.yaml"), ROOT / ".pre-commit-hooks.yaml"])
_VARIABLE = re.compile(r"\$\{?\w+\}?")


def parsed(path: Path) -> Any:
    return yaml.safe_load(read(path))


def texts(node: Any) -> Iterator[str]:
    """All strings of a document."""
    if isinstance(node, dict):
        node = [*node.values()]
    if isinstance(node, list):
        for each in node:
            yield from texts(each)
    elif isinstance(node, str):
        yield node


def commands(lines: str) -> Iterator[list[str]]:
    """The words of each olympus command in a text, as a shell takes them.

    A variable is a text that every option takes, a threshold too.
    """
    for line in lines.splitlines():
        line = _VARIABLE.sub("5%", re.split(" (?:\\|\\||>) ", line)[0])
        if line.startswith("olympus "):
            yield shlex.split(line, comments=True)[1:]


def is_accepted(words: list[str]) -> bool:
    name, *arguments = words
    assert name in COMMANDS
    command = importlib.import_module(f"olympus_cli.commands.{name}").command
    command.make_context(name, arguments)  # which raises what is wrong
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_commands_are_accepted(path: Path) -> None:
    found = [words for text in texts(parsed(path)) for words in commands(text)]
    assert all(is_accepted(words) for words in found)
    assert found or path.name == "example.yml"


def test_the_commands_of_the_document_are_accepted() -> None:
    shown = [block.text for block in blocks(DOCUMENT) if block.language == "sh"]
    assert [is_accepted(words) for text in shown for words in commands(text)] == [True] * 4


def test_the_workflow_takes_what_the_example_gives() -> None:
    workflow = parsed(CI / "github" / "olympus.yml")
    inputs = workflow[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` as true
    job = parsed(CI / "github" / "example.yml")["jobs"]["olympus"]
    assert job["with"].keys() <= inputs.keys()
    assert Path(job["uses"]).name == "olympus.yml"
    described = re.findall(r"^\| `([\w-]+)` \|.*\|.*\|$", read(DOCUMENT), re.M)
    assert {*inputs} <= {*described}
    used = re.findall(r"inputs\.([\w-]+)", read(CI / "github" / "olympus.yml"))
    assert {*used} == {*inputs}


def test_no_input_of_the_workflow_is_code() -> None:
    """A ${{ }} in a script is replaced by text before a shell reads it."""
    (job,) = parsed(CI / "github" / "olympus.yml")["jobs"].values()
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    assert len(scripts) == 6
    assert not [script for script in scripts if "${{" in script]
    assert all("if" in step for step in job["steps"] if step.get("name") in COMMANDS)


def test_bench_is_a_gate_against_a_revision_on_request() -> None:
    workflow = parsed(CI / "github" / "olympus.yml")
    inputs = workflow[True]["workflow_call"]["inputs"]
    assert "bench" not in inputs["commands"]["default"].split()
    (job,) = workflow["jobs"].values()
    checkout, *steps = job["steps"]
    assert checkout["with"]["fetch-depth"].startswith("${{ inputs.baseline == '' && ")
    assert checkout["with"]["fetch-depth"].endswith(" && 1 || 0 }}")  # 0 is false there
    (github,) = [step["run"] for step in steps if step.get("name") == "bench"]
    gitlab = parsed(CI / "gitlab" / "olympus.yml")["olympus"]
    assert gitlab["variables"]["BASELINE"] == ""
    (line,) = [line for line in gitlab["script"] if "olympus bench" in line]
    assert line.startswith('[ -z "$BASELINE" ] ||\n')
    for script in (github, line):
        assert '--baseline "git:$BASELINE"' in script


@pytest.mark.parametrize(
    ("commands", "baseline", "code"),
    [("bench", "main", 0), ("bench", "", 2), ("build check diff", "", 0), ("run", "main", 2)],
)
def test_the_workflow_refuses_what_it_cannot_run(
    tmp_path: Path, commands: str, baseline: str, code: int
) -> None:
    (job,) = parsed(CI / "github" / "olympus.yml")["jobs"].values()
    (script,) = [step["run"] for step in job["steps"] if step.get("name") == "install"]
    given = {"COMMANDS": commands, "BASELINE": baseline, "INSTALL": "true"}
    environment = {**os.environ, **given, "RESULTS": str(tmp_path / "results")}
    found = subprocess.run(
        ["bash", "-e", "-c", script], env=environment, check=False, capture_output=True
    )
    assert found.returncode == code
    assert (b"::error::" in found.stdout) == (code != 0)


PROGRAM = "import olympus.numpy as np\n\n\ndef dense(x, w):\n    return np.tanh(x @ w)\n"
TOML = """\
[target.dense]
entry = "program:dense"
args = ["f32[8,16]", "f32[16,32]"]
budget.flops = "1 MFLOP"
"""


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables with which `olympus` is a fork of a process with all imports."""
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    with preloaded(tmp_path_factory.mktemp("ci"), there) as found:
        yield found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Path:
    """A repository whose project `models` differs from the branch `main`; `olympus` is found."""
    models, tools = tmp_path / "work" / "models", tmp_path / "bin"
    models.mkdir(parents=True)
    tools.mkdir()
    command = f'-I -S "{ROOT / "tests/documents/command.py"}"' if variables else "-m olympus_cli"
    (tools / "olympus").write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
    (tools / "olympus").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    for name, value in {"PYTHONPATH": str(ROOT), **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (models / "program.py").write_text(PROGRAM)
    (models / "olympus.toml").write_text(TOML)
    for words in (
        ("init", "-qb", "main"),
        ("add", "."),
        ("-c", "user.name=n", "-c", "user.email=n@n", "commit", "-qm", "one"),
    ):
        subprocess.run(["git", *words], cwd=models.parent, check=True)
    (models / "program.py").write_text(PROGRAM.replace("tanh", "sin"))
    return models.parent


def ran(script: str, folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """A script as a CI system runs it, in a repository's folder."""
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **given},
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_steps_of_the_workflow_run_as_they_are_written(repository: Path) -> None:
    (job,) = parsed(CI / "github" / "olympus.yml")["jobs"].values()
    scripts = {step.get("name"): step["run"] for step in job["steps"] if "run" in step}
    given = {
        "PROJECT": "models",
        "INSTALL": "true",
        "COMMANDS": "build check verify diff",
        "BASE": "main",
        "BASELINE": "",
        "RESULTS": str(repository / "results"),
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_STEP_SUMMARY": str(repository / "summary.md"),
    }
    for name in ("install", "build", "check", "verify", "diff"):
        done = ran(scripts[name], repository, **given)
        assert done.returncode == 0, done.stderr
        assert "::error" not in done.stdout
    summary = (repository / "summary.md").read_text()
    titles = [line for line in summary.splitlines() if line.startswith("## ")]
    assert [title.split()[2].rstrip(":") for title in titles] == given["COMMANDS"].split()
    assert "changed  tanh -> sine  f32[8,32]" in summary
    assert "    + program.py:5  return np.sin(x @ w)" in summary
    assert "changed  tanh -> sine" in done.stderr
    assert {path.name for path in (repository / "results").iterdir()} == {
        *("build.xml", "check.xml", "verify.xml", "diff.json")
    }
    skipped = ran(scripts["diff"], repository, **{**given, "BASE": ""})
    assert (skipped.returncode, skipped.stdout[:10]) == (0, "::notice::")
    failed = ran(scripts["diff"], repository, **{**given, "BASE": "nowhere"})
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "has no revision 'nowhere'" in failed.stderr


@pytest.mark.parametrize(("revision", "code"), [("", 0), ("main", 0), ("nowhere", 2)])
def test_the_gitlab_job_reports_the_differences(repository: Path, revision: str, code: int) -> None:
    job = parsed(CI / "gitlab" / "olympus.yml")["olympus"]
    (line,) = [line for line in job["script"] if "olympus diff" in line]
    script = "\n".join(["mkdir -p olympus-results", "code=0", line, "exit $code"])
    done = ran(script, repository, PROJECT="models", DIFF=revision)
    assert done.returncode == code, done.stderr
    assert ("changed  tanh -> sine" in done.stdout) is (revision == "main")
    assert (repository / "olympus-results" / "diff.md").exists() is (revision != "")


def test_the_gitlab_job_keeps_its_results() -> None:
    job = parsed(CI / "gitlab" / "olympus.yml")["olympus"]
    example = parsed(CI / "gitlab" / "example.yml")
    assert example["olympus"]["variables"].keys() <= job["variables"].keys()
    written = {
        word.partition("=")[2]
        for words in commands("\n".join(job["script"]))
        for word in words
        if word.startswith(("junit=", "gitlab="))
    }
    reports = job["artifacts"]["reports"]
    assert {Path(file).match(reports["junit"]) for file in written if file.endswith("xml")} == {
        True
    }
    assert reports["codequality"] in written
    assert job["artifacts"]["when"] == "always"


def test_the_hooks_are_those_of_pre_commit() -> None:
    hooks = parsed(ROOT / ".pre-commit-hooks.yaml")
    (local,) = parsed(CI / "pre-commit-config.yaml")["repos"][0]["hooks"]
    for hook in [*hooks, local]:
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert re.search(hook["files"], "models/olympus.toml")
        assert hook["pass_filenames"] is False


def newer_tests() -> list[str]:
    """Return the paths of the tests that `.ci/run` runs on the newer Python."""
    lines = read(ROOT / ".ci" / "run").partition("newer_tests=(")[2].partition(")\n")[0]
    script = f"newer_tests=({lines}); printf '%s\\n' \"${{newer_tests[@]}}\""
    return subprocess.run(
        ["bash", "-euc", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_the_tests_on_the_newer_python_exist() -> None:
    paths = newer_tests()
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_night_runs_what_the_day_leaves_out() -> None:
    script = read(ROOT / ".ci" / "night")
    assert '/run" --night' in script
    assert '/torch"' in script
    assert "pytest --torch -m torch" in read(ROOT / "tools" / "ci" / "torch")
    script = read(ROOT / ".ci" / "run")
    night = script.partition('if [ "${1:-}" = --night ]; then\n')[2].partition("\nfi\n")[0]
    lines = ["options+=(--night --fuzz=20)", "newer_tests=(tests)", "newer_options=()"]
    assert [line.strip() for line in night.splitlines()] == lines
    runs = [line for line in script.splitlines() if re.search(r"\bpytest [^']", line)]
    assert len(runs) == 2
    assert all('pytest "${options[@]}"' in line for line in runs)
