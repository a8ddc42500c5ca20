"""Damaged StableHLO bytecode, some of which crashes MLIR's reader: exit code 5 and the file's name.

The files in `damaged` are mutations of real bytecode.  On the files `crash*`, the reader always
aborts.  On `stray*` it reads memory out of bounds, so it may end by a signal or read a program.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke
from tests.fuzz.bundle_mutations import PROGRAM, packed, unpacked

DAMAGED = sorted((Path(__file__).parent / "damaged").glob("crash*.mlirbc"))
STRAY = sorted((Path(__file__).parent / "damaged").glob("stray*.mlirbc"))
TOML = """\
[target.f]
entry = "program.py:f"
args = ["f32[4]"]
golden = true
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(
        "import olympus.numpy as np\n\n\ndef f(x):\n    return np.sin(x)\n"
    )
    (folder / "olympus.toml").write_text(TOML)
    return folder


def check_refused(invoke: Invoke, name: str, *command: str) -> None:
    result = invoke(*command)
    assert result.exit_code == 5, (command, result.output)
    assert result.stdout == ""
    assert name in result.stderr


def test_damaged_files_exist() -> None:
    assert len(DAMAGED) >= 4
    assert STRAY


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda path: path.stem)
def test_a_diff_names_the_damaged_file(work: Path, invoke: Invoke, damaged: Path) -> None:
    shutil.copy(damaged, work / "broken.mlirbc")
    assert invoke("lower", "f", "-o", "whole.mlir").exit_code == 0
    check_refused(invoke, "broken.mlirbc", "diff", "whole.mlir", "broken.mlirbc")


@pytest.mark.parametrize("damaged", STRAY, ids=lambda path: path.stem)
def test_a_diff_reads_or_names_the_damaged_file(work: Path, invoke: Invoke, damaged: Path) -> None:
    shutil.copy(damaged, work / "broken.mlirbc")
    assert invoke("lower", "f", "-o", "whole.mlir").exit_code == 0
    result = invoke("diff", "whole.mlir", "broken.mlirbc")
    assert result.exit_code in (1, 5), result.output
    assert "broken.mlirbc" in (result.stdout if result.exit_code == 1 else result.stderr)


@pytest.mark.parametrize("damaged", DAMAGED[:2], ids=lambda path: path.stem)
def test_a_check_names_the_damaged_golden_program(
    work: Path, invoke: Invoke, damaged: Path
) -> None:
    assert invoke("check", "--update").exit_code == 0
    shutil.copy(damaged, work / "goldens" / "f.cpu.mlir")
    check_refused(invoke, "goldens/f.cpu.mlir", "check", "--output", "junit=check.xml")


def test_commands_name_the_damaged_bundle(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    members = unpacked((work / "build" / "f" / "f.olympus").read_bytes())
    effort = ("--rounds", "1", "--time-limit", "0.2")
    for damaged in DAMAGED[:3]:
        (work / "broken.olympus").write_bytes(packed({**members, PROGRAM: damaged.read_bytes()}))
        assert zipfile.is_zipfile("broken.olympus")
        for command in (("run",), ("profile",), ("diff", "f"), ("bench", *effort)):
            check_refused(invoke, "broken.olympus", command[0], "broken.olympus", *command[1:])


@pytest.mark.parametrize(
    "command", ["trace", "lower", "cost", "compile", "report", "run", "verify", "bench --rounds 1"]
)
def test_a_command_names_the_entry_whose_reader_dies(
    work: Path, invoke: Invoke, command: str
) -> None:
    shutil.copy(DAMAGED[0], work / "broken.mlirbc")
    result = invoke(*command.split(), "broken.mlirbc")
    assert result.exit_code == 5, result.output
    assert "broken.mlirbc cannot be read: the process that reads it was ended by" in result.stderr
    assert "terminate" not in result.stderr
