"""The stages of a program, in the order in which `Program.of` runs them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from olympus.errors import UsageError
from olympus_cli.program.stages import Program, Stage
from olympus_cli.spec.resolve import Request

STAGES = ["import", "trace", "lower for cpu", "compile for cpu"]


@pytest.mark.parametrize(("until", "count"), [("trace", 2), ("lower", 3), ("compile", 4)])
def test_a_program_has_the_stages_up_to_the_last(project: Path, until: Stage, count: int) -> None:
    stages: list[str] = []
    program = Program.of(Request("add").spec(), stages.append, until=until)
    assert stages == STAGES[:count]
    assert list(program.clock.seconds) == ["load", "trace"]
    assert program.traced is not None
    assert len(program.units) == (until != "trace")
    assert all((unit.compiled is not None) == (until == "compile") for unit in program.units)


def test_a_program_is_lowered_only_for_the_named_backends(project: Path) -> None:
    spec = Request("add", backend="gpu", device="h200").spec()
    (label,) = spec.labels
    stages: list[str] = []
    (unit,) = Program.of(spec, stages.append, until="lower", labels=[label]).units
    assert (unit.label, stages[-1]) == (label, f"lower for {label}")
    assert Program.of(spec, until="lower", labels=[]).units == []


def test_trips_are_checked_before_the_compilation(project: Path) -> None:
    toml = project / "olympus.toml"
    toml.write_text(f'{toml.read_text()}\n[target.add.trips]\n"nowhere.py:1" = 3\n')
    spec, stages = Request("add").spec(), list[str]()
    with pytest.raises(UsageError, match=r"nowhere\.py:1"):
        Program.of(spec, stages.append, until="compile")
    assert stages == STAGES[:3]


def test_a_program_has_the_warnings_of_the_function(folder: Path) -> None:
    (folder / "noisy.py").write_text(
        "import warnings\ndef f(x):\n    warnings.warn('slow path')\n    return x\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = Program.of(Request("noisy:f", "f32[2]").spec(), until="trace")
    assert program.warnings == ["slow path, at noisy.py:3"]
