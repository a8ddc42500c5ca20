"""A project to measure, and a measurement without running a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus_cli.bench.compare.attempts import Attempt
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.commands import bench
from tests.cli.bench.measurements import PROGRAM, World, against, measured, target


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(target("f", "forward"))
    return folder


@pytest.fixture
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that `olympus bench` measures, of which only `f` is worse than its other side."""
    measured_targets: list[str] = []

    def attempted(work: SamplerWork, *_: object) -> Attempt:
        measured_targets.append(work.name)
        ours = tuple(measured(work.name) for _ in range(5))
        world = World([1.5 if work.name == "f" else 1.0])
        return Attempt(work.name, measured(work.name), rounds=ours, compared=against(world))

    monkeypatch.setattr(bench, "attempted", attempted)
    return measured_targets
