"""The last builds of targets, from the history."""

from __future__ import annotations

import shutil
from pathlib import Path

from olympus_cli.history.last_builds import recorded_builds
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke


def test_the_history_has_the_builds_of_removed_outputs(project: Path, invoke: Invoke) -> None:
    opened = load_project(project)
    assert recorded_builds(opened, list(opened.targets)) == {}
    assert invoke("build").exit_code == 0
    for name in ("add", "forward@batch=1"):
        shutil.rmtree(project / "build" / name)
    builds = recorded_builds(opened, ["add", "forward@batch=1", "unknown"])
    assert builds.keys() == {"add", "forward@batch=1"}
    assert all(build.seconds and build.memory for build in builds.values())
    assert recorded_builds(opened, ["add"]) == {}, "a single target has no order"


def test_a_damaged_history_has_none(project: Path) -> None:
    opened = load_project(project)
    assert opened.history is not None
    opened.history.parent.mkdir(parents=True)
    opened.history.write_bytes(b"not a history")
    assert recorded_builds(opened, list(opened.targets)) == {}
