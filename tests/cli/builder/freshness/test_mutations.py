"""Whatever changes, a build with the index has the outputs of one that traces every target."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.builder.freshness import mutations

ROOT = Path(__file__).parents[4]


def mutated(folder: Path, seed: int, steps: int) -> int:
    """Run `steps` random changes; return the number of targets that the index found fresh."""
    command = [sys.executable, "-m", mutations.__name__, str(folder), str(seed), str(steps)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    skipped: int = json.loads(run.stdout)["skipped"]
    return skipped


def test_a_few_random_changes(tmp_path: Path) -> None:
    assert mutated(tmp_path, 1, 8) > 0


@pytest.mark.night
@pytest.mark.parametrize("seed", range(2, 22))
def test_two_thousand_random_changes(seed: int, tmp_path: Path) -> None:
    assert mutated(tmp_path, seed, 100) > 20
