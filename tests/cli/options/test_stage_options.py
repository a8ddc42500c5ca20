"""Options of lowering and compilation: profiles of the compiler, and repeated blocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from click.testing import Result

from olympus import artifact
from olympus.stages import Optimize, Repeats
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.json import read_report
from olympus_cli.text.option_values import OPTIMIZE, REPEATS

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as np


def layer(w, x):
    for _ in range(20):
        x = np.tanh(x) + 1
    return x @ w


def deep(weights, x):
    for w in weights:
        x = layer(w, x)
    return x


def plain(x):
    return np.tanh(x)
"""

TOML = """\
[target.deep]
entry = "program:deep"
args.weights = ["f32[4,4]", "f32[4,4]", "f32[4,4]", "f32[4,4]", "f32[4,4]"]
args.x = "f32[2,4]"

[target.plain]
entry = "program:plain"
args.x = "f32[8]"
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def built(work: Path, name: str) -> Report:
    return read_report(work / "build" / name)


def test_the_profiles_match_the_compiler() -> None:
    assert get_args(Optimize) == OPTIMIZE
    assert get_args(Repeats) == REPEATS


def test_a_profile_is_part_of_the_key_and_of_the_report(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "plain").exit_code == 0
    usual = built(work, "plain")
    assert usual.optimize == "default"
    assert invoke("build", "plain", "--frozen", "--optimize", "default").exit_code == 0
    assert invoke("build", "plain", "--frozen", "--optimize", "fast-build").exit_code == 7
    assert invoke("build", "plain", "--optimize", "fast-build").exit_code == 0
    assert built(work, "plain").optimize == "fast-build"
    assert "\n  optimize        fast-build\n" in (work / "build/plain/summary.txt").read_text()
    (work / "olympus.toml").write_text(TOML + 'optimize = "fast-build"\n')
    assert invoke("build", "plain", "--frozen").exit_code == 0
    assert invoke("build", "plain", "--optimize", "default").exit_code == 0
    assert built(work, "plain").backends[0].key == usual.backends[0].key
    bundle = artifact.load(work / "build/plain/plain.olympus")
    assert bundle.manifest.compiler_options == {}


@pytest.mark.parametrize("command", ["compile", "run", "bench"])
def test_commands_that_compile_have_both_options(work: Path, invoke: Invoke, command: str) -> None:
    options = ("--optimize", "fast-build", "--repeats", "off")
    result = invoke(command, "plain", *options, *(["--time-limit", "0.1"] * (command == "bench")))
    assert result.exit_code == 0, result.stderr
    for option in ("--optimize", "--repeats"):
        result = invoke(command, "plain", option, "fast")
        assert result.exit_code == 2
        assert f"'{option}': 'fast' is not one of" in result.stderr


def test_repeated_blocks_are_preserved_and_reported(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    assert built(work, "plain").backends[0].blocks == ()
    (block,) = built(work, "deep").backends[0].blocks
    assert (block.name, block.equations, block.occurrences) == ("block_1", 41, 5)
    assert block.lines == ("program.py:6", "program.py:7")
    row = "\n  repeated        41 equations x 5, kept as block_1 (program.py:6-7)\n"
    assert row in (work / "build/deep/summary.txt").read_text()
    assert "name=block_1" in (work / "build/deep/program.olympuspr").read_text()
    assert "name=block_1" in artifact.load(work / "build/deep/deep.olympus").olympuspr
    frozen = invoke("build", "--frozen", "--repeats", "off", "--json")
    status = {target["target"]: target["status"] for target in json.loads(frozen.stdout)["targets"]}
    assert status == {
        "deep": "stale",
        "plain": "fresh",
    }  # it has no repeated block with either option
    (work / "olympus.toml").write_text(
        TOML.replace("[target.plain]", 'repeats = "off"\n[target.plain]')
    )
    assert invoke("build", "deep").exit_code == 0
    assert built(work, "deep").backends[0].blocks == ()
    assert "block_1" not in (work / "build/deep/program.olympuspr").read_text()


def test_a_program_is_printed_with_its_blocks(work: Path, invoke: Invoke) -> None:
    for form, word in (("stablehlo", "inlineable"), ("olympuspr", "name=block_1")):
        printed = invoke("lower", "deep", "--format", form).stdout
        assert word in printed
        assert word not in invoke("lower", "deep", "--format", form, "--repeats", "off").stdout


def test_a_bundle_has_neither_option(work: Path, invoke: Invoke) -> None:
    for option, value in (("optimize", "fast-build"), ("repeats", "off"), ("linalg", "portable")):
        result = invoke("run", "plain.olympus", f"--{option}", value)
        assert result.exit_code == 2
        assert f"plain.olympus is built already: it takes no --{option}" in result.stderr
