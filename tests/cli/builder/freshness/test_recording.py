"""The recording of a trace has every file, variable and source without a state that it reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builder.freshness import reading_programs as programs

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reads").resolve()
    programs.write_project(folder)
    return folder


@pytest.fixture(scope="module")
def reads(project: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", programs.__name__, str(project)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def entries(found: list[str], field: str, project: Path) -> list[str]:
    return found if field == "variables" else [os.path.relpath(name, project) for name in found]


@pytest.mark.parametrize("name", programs.ALWAYS)
def test_a_source_without_a_state_has_its_line(name: str, reads: dict[str, Any]) -> None:
    _, source, line = programs.ALWAYS[name]
    assert [source, f"case_{name}.py:{line}" if line else ""] in reads[name]["always"]


@pytest.mark.parametrize("name", programs.STEADY)
def test_a_program_that_is_the_same_every_time(name: str, reads: dict[str, Any]) -> None:
    assert reads[name]["always"] == []


@pytest.mark.parametrize("name", programs.READS)
def test_reads_are_recorded(name: str, reads: dict[str, Any], project: Path) -> None:
    _, field, expected = programs.READS[name]
    found = reads[name][field]
    real = [path if field == "variables" else os.path.realpath(path) for path in found]
    assert set(expected) <= {*entries(list(found), field, project), *entries(real, field, project)}


@pytest.mark.parametrize("name", programs.NOT_READ)
def test_results_of_the_program_are_not_inputs(
    name: str, reads: dict[str, Any], project: Path
) -> None:
    _, field, own = programs.NOT_READ[name]
    assert own not in entries(reads[name][field], field, project)


def test_the_whole_environment_is_recorded_as_such(reads: dict[str, Any]) -> None:
    assert reads["whole_environment"]["whole_environment"] is True
    assert reads["library_environment"]["whole_environment"] is True
    assert reads["number_of_variables"]["whole_environment"] is True
    assert reads["plain"]["whole_environment"] is False


@pytest.mark.parametrize("name", ["open", "exists", "getcwd"])
def test_a_relative_path_depends_on_the_working_directory(name: str, reads: dict[str, Any]) -> None:
    assert reads[name]["working_directory"] is True
    assert reads["absolute"]["working_directory"] is False


# in a process of its own: the audit hook of a recording cannot be removed
RETAINED = """
import os, random, time
from olympus_cli.builder.freshness.recording import prepare_recording, recording

prepare_recording()
before = time.time, os.stat, random.random
with recording("/absent"):
    retained = time.time, os.stat, random.random
    print([one is other for one, other in zip(retained, before)])
print((time.time, os.stat, random.random) == before)
retained[0](), retained[1]("/"), retained[2]()
"""


def test_functions_are_put_back_and_a_retained_replacement_still_works() -> None:
    ran = subprocess.run([sys.executable, "-c", RETAINED], capture_output=True, text=True, cwd=ROOT)
    assert (ran.stdout, ran.stderr) == ("[False, False, False]\nTrue\n", "")
