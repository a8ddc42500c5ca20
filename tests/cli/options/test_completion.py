"""Completion in a shell: the script in bash, and the answers to each shell from a new process."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from olympus_cli.main import COMMANDS
from olympus_cli.options.completed_values import target_items
from olympus_cli.options.completion import FLAGS, SHELLS, TARGETS, script
from olympus_cli.spec.project import load_project

ROOT = Path(__file__).parents[3]
TOML = """
[target.mlp]
entry = "model:predict"
args.x = "f32[8]"

[target.unet]
entry = "model:unet"
args.x = "f32[{batch},8]"
matrix.batch = [1, 32]

[target."un\\u001b[31m"]
entry = "model:evil"
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "olympus.toml").write_text(TOML)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "olympus"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m olympus_cli "$@"')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def in_bash(line: str) -> list[str]:
    """The answers of a fresh bash to a Tab at the end of `line`."""
    code = (
        'eval "$(olympus completion bash)"\n'
        "compopt() { :; }\n"
        'COMP_LINE="$1" COMP_POINT=${#1}\n'
        "_olympus_completion olympus\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "--norc", "-c", code, "bash", line], capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return result.stdout.split()


def answered(shell: str, words: str, word: str) -> list[str]:
    environment = {
        **os.environ,
        "_OLYMPUS_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": word,
    }
    result = subprocess.run(
        ["olympus"], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.usefixtures("work")
def test_bash_completes_targets() -> None:
    assert in_bash("olympus build ") == ["mlp", "unet", "unet@batch=1", "unet@batch=32"]
    assert in_bash("olympus run ") == ["mlp", "unet@batch=1", "unet@batch=32"], "one program"
    assert in_bash("olympus build mlp --force un") == ["unet", "unet@batch=1", "unet@batch=32"]
    assert in_bash("olympus run unet@batch=") == ["1", "32"], "bash replaces the part after ="
    assert in_bash("olympus build unet@") == ["batch=1", "batch=32"]


@pytest.mark.usefixtures("work")
def test_bash_completes_commands_and_options() -> None:
    assert in_bash("olympus ch") == ["check"]
    assert in_bash("olympus check --proj") == ["--project"]
    assert in_bash("olympus build --repeats o") == ["off"]


@pytest.mark.parametrize("option", ["--project {}", "--project={}", "--project {}/olympus.toml"])
def test_the_project_may_be_in_another_folder(
    work: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    assert in_bash(f"olympus check {option.format(work / 'project')} m") == ["mlp"]


@pytest.mark.usefixtures("work")
def test_zsh_and_fish_show_targets_with_their_entries() -> None:
    assert answered("zsh", "olympus check m", "2") == ["plain", "mlp", "model:predict"]
    lines = answered("fish", "olympus check m", "m")
    assert "mlp" in "".join(lines) and "unet" not in "".join(lines)


def test_an_invalid_project_completes_nothing(work: Path) -> None:
    for text in (
        "[target",
        "target = 3",
        "[target]\nx = 3",
        "a = " + "[" * 5000,
        "a = " + "9" * 9999,
    ):
        (work / "project" / "olympus.toml").write_text(text)
        assert in_bash("olympus build x") == []
    (work / "project" / "olympus.toml").write_bytes(b"\xff")
    assert in_bash("olympus build x") == []


def test_other_names_and_more_than_a_screen_are_left_out(work: Path) -> None:
    file = work / "project" / "olympus.toml"
    assert [item.value for item in target_items(file, False)] == [
        "mlp",
        "unet@batch=1",
        "unet@batch=32",
    ]
    axes = "\n".join(f"matrix.a{i} = {[*range(1000)]}" for i in range(4))
    file.write_text(f'[target.x]\nentry = "m:f"\n{axes}\n')
    assert len(target_items(file, True)) == 2000


def test_targets_are_completed_without_the_compiler(work: Path) -> None:
    code = (
        "import os, sys\nsys.argv = ['olympus']\nfrom olympus_cli.main import main\n"
        "try: main()\nexcept SystemExit as leave: assert leave.code == 0\n"
        "heavy = {'rich', 'numpy', 'olympus', 'olympus_core', 'jaxlib'}\n"
        "print(heavy & {name.partition('.')[0] for name in sys.modules})\n"
    )
    for words in ("olympus ", "olympus build ", "olympus bench --json m"):
        environment = {"_OLYMPUS_COMPLETE": "bash_complete", "COMP_WORDS": words}
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        *names, heavy = result.stdout.splitlines()
        assert heavy == "set()" and names


def test_commands_and_flags_match_the_command_line() -> None:
    flags, valued, targets = set(), set(), set()
    for name in COMMANDS:
        for parameter in importlib.import_module(f"olympus_cli.commands.{name}").command.params:
            if isinstance(parameter, click.Option):
                kind = flags if parameter.is_flag else valued
                kind.update((*parameter.opts, *parameter.secondary_opts))
            elif "TARGET" in (parameter.metavar or "") or parameter.metavar in ("A", "[B]"):
                targets.add(name)
    assert flags - valued == {*FLAGS}
    assert targets == {*TARGETS}


@pytest.mark.usefixtures("work")
def test_a_shell_without_completion_is_an_error() -> None:
    environment = {**os.environ, "_OLYMPUS_COMPLETE": "tcsh_source"}
    result = subprocess.run(["olympus"], env=environment, capture_output=True, text=True)
    assert result.returncode == 2 and "bash_source, zsh_source, fish_source" in result.stderr


MATRIX = """
extends = "base/base.toml"
[defaults]
matrix.batch = [1, 2]

[target.train]
entry = "model:step"
matrix.dtype = ["f32", "bf16"]

[target.plain]
matrix.batch = [4]
matrix.dtype = ["f32"]

[device.our-gpu]
like = "h200"
"""


def test_parts_of_a_matrix_and_inherited_keys_are_completed(work: Path) -> None:
    project = work / "project"
    (project / "olympus.toml").write_text(MATRIX)
    (project / "base").mkdir()
    (project / "base/base.toml").write_text(
        '[defaults]\nentry = "base:f"\nmatrix.dtype = ["f64"]\n[device.base-gpu]\nlike = "h200"\n'
    )
    names = [*load_project(project / "olympus.toml").targets]
    assert names[0] == "train@dtype=f32,batch=1"
    assert in_bash("olympus run t") == [name for name in names if name.startswith("train")]
    items = target_items(project / "olympus.toml", True)
    help_of = {item.value: item.help for item in items}
    assert help_of["train"] == "model:step" and help_of["plain"] == "base:f"
    assert {"train@batch=1", "train@batch=2", "train@dtype=f32", "plain@batch=4"} <= {*help_of}
    assert [item.value for item in target_items(project / "olympus.toml", False)] == names
    assert in_bash("olympus cost plain --device our") == ["our-gpu"]
    assert in_bash("olympus cost plain --device base") == ["base-gpu"]


def test_targets_of_a_pyproject_toml_are_completed(work: Path) -> None:
    project = work / "project"
    (project / "olympus.toml").unlink()
    (project / "pyproject.toml").write_text('[tool.olympus.target.own]\nentry = "m:f"\n')
    assert in_bash("olympus build ") == ["own"]


@pytest.mark.usefixtures("work")
def test_devices_metrics_and_revisions_are_completed(work: Path) -> None:
    assert in_bash("olympus cost mlp --device h20") == ["h200"]
    assert in_bash("olympus cost mlp --device 8xh20") == ["8xh200"]
    assert in_bash("olympus devices v6") == ["v6e"]
    assert in_bash("olympus build --backend gpu:h20") == ["h200"], "bash replaces the part after :"
    assert in_bash("olympus build --backend c") == ["cpu"]
    assert in_bash("olympus history --metric steady-") == ["steady-call", "steady-cpu"]
    assert in_bash("olympus build --changed-since ") == []
    for words in (("init", "-q", "-b", "main"), ("commit", "-qm", "x", "--allow-empty")):
        own = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *own, *words], check=True)
    assert in_bash("olympus build --changed-since git:m") == ["main"]
    assert in_bash("olympus completion z") == ["zsh"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(work: Path, shell: str) -> None:
    environment = {**os.environ, "_OLYMPUS_COMPLETE": f"{shell}_source"}
    sources = [
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        for command, env in (
            (["olympus"], environment),
            (["olympus", "completion", shell], {**os.environ}),
        )
    ]
    assert [source.rstrip() for source in sources] == [script(shell).rstrip()] * 2
    assert "_OLYMPUS_COMPLETE" in sources[0]
