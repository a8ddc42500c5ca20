"""`olympus diff` with a revision of the repository as a side."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from olympus_cli.diff.sides import both_sides
from olympus_cli.revisions.revision import Checkouts
from olympus_cli.spec.resolve import Request
from tests.cli.conftest import Invoke
from tests.cli.diff.project import (
    CHANGED,
    PREFIX,
    PROGRAM,
    TOML,
    clean,
    edit,
    git,
    left_behind,
)


@pytest.mark.usefixtures("private_tmp")
def test_a_target_is_compared_with_a_revision(repository: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "git:HEAD", "forward"))
    edit(repository, "np.tanh", "np.sin")
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 1, result.output
    assert result.stdout == (f"git:HEAD:forward -> forward\n\n{CHANGED}\n1 operation changed\n")
    with Checkouts() as checkouts:
        pair = [
            both_sides(*sides, Request(""), checkouts)
            for sides in (("git:HEAD", "forward"), ("git:HEAD:forward", None))
        ]
        assert (
            pair[0] == pair[1] == both_sides("git:HEAD:forward", "forward", Request(""), checkouts)
        )
        assert [side.label for side in pair[0]] == ["git:HEAD:forward", "forward"]
    git(repository, "commit", "-qam", "two")
    result = invoke("diff", "git:HEAD~1:forward", "git:HEAD")
    assert (result.exit_code, "tanh -> sine" in result.stdout) == (1, True)
    assert clean(invoke("diff", "git:HEAD", "forward"))
    assert left_behind(repository) == []
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.usefixtures("private_tmp")
def test_all_targets_are_compared_with_a_revision(repository: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "git:HEAD"))
    edit(repository, "np.tanh", "np.sin")
    text = TOML.replace("[target.loop]", "[target.again]")
    (repository / "olympus.toml").write_text(text + '[target.gone]\nentry = "net:gone"\n')
    result = invoke("diff", "git:HEAD", "--output", "json=out.json", "--output", "text")
    assert result.exit_code == 1
    assert result.stdout == f"git:HEAD:forward -> forward\n\n{CHANGED}\n1 operation changed\n"
    assert result.stderr.splitlines() == [
        "note: target 'again' is new: git:HEAD does not have it",
        "note: target 'gone' is new: git:HEAD does not have it",
        "note: target 'loop' of git:HEAD does not exist any more",
        "wrote out.json",
    ]
    comparison = json.loads((repository / "out.json").read_text())
    assert [comparison[name] for name in ("added", "removed", "failed", "equal")] == [
        *(["again", "gone"], ["loop"], [], False)
    ]
    assert [(target["target"], target["equal"]) for target in comparison["targets"]] == [
        ("forward", False)
    ]
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_other_targets_are_compared_if_one_cannot_be(repository: Path, invoke: Invoke) -> None:
    edit(repository, "np.sin(y)", "np.sin(y, nothing)")
    edit(repository, "np.tanh", "np.cos")
    result = invoke("diff", "git:HEAD", "--output", "github")
    assert result.exit_code == 3
    assert result.stdout.count("::error file=net.py,line=7,title=olympus diff") == 1
    assert result.stdout.count("::error file=net.py,line=12,title=olympus diff%3A loop") == 1
    assert "target 'loop': " in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_all_targets_of_a_new_project_are_new(
    repository: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = repository / "below"
    below.mkdir()
    for name in ("net.py", "olympus.toml"):
        shutil.copy(repository / name, below)
    monkeypatch.chdir(below)
    result = invoke("diff", "git:HEAD")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "target 'forward' is new" in result.stderr
    (repository / "olympus.toml").write_text("[target")
    git(repository, "commit", "-qam", "broken")
    monkeypatch.chdir(repository)
    (repository / "olympus.toml").write_text(TOML)
    result = invoke("diff", "git:HEAD")
    assert result.exit_code == 2
    assert "revision 'HEAD' cannot be compared: HEAD:olympus.toml:1" in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_an_entry_at_a_revision(repository: Path, invoke: Invoke) -> None:
    edit(repository, "np.sin(y)", "np.cos(y)")
    for side in ("git:HEAD:net:loop", "git:HEAD"):
        result = invoke("diff", side, "net.py:loop", "--shapes", "f32[4]")
        assert result.exit_code == 1, result.output
        assert "sine -> cosine" in result.stdout
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_a_revision_in_a_project_below_the_repository(
    repository: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = repository / "below"
    below.mkdir()
    for name in ("net.py", "olympus.toml"):
        git(repository, "mv", name, f"below/{name}")
    git(repository, "commit", "-qm", "moved")
    monkeypatch.chdir(below)
    edit(below, "np.tanh", "np.sin")
    result = invoke("diff", "git:HEAD", "forward")
    assert "tanh -> sine" in result.stdout
    older = invoke("diff", "git:HEAD~1", "forward")
    assert older.exit_code == 2
    assert "revision 'HEAD~1' cannot be compared: the revision has no folder below" in older.stderr
    monkeypatch.chdir(repository)
    assert "tanh -> sine" in invoke("diff", "git:HEAD", "forward", "--project", "below").stdout
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_a_revision_that_does_not_build_is_one_message(repository: Path, invoke: Invoke) -> None:
    edit(repository, "np.tanh(x @ w)", "np.tanh(x @ w, nothing)")
    git(repository, "commit", "-qam", "broken")
    edit(repository, "np.tanh(x @ w, nothing)", "np.tanh(x @ w)")
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("error: revision 'HEAD' cannot be compared: forward raised")
    assert "HEAD:net.py:7" in result.stderr
    assert PREFIX not in result.stderr
    assert left_behind(repository) == []
    (repository / "net.py").write_text("import nothing_of_that_name\n")
    git(repository, "commit", "-qam", "worse")
    (repository / "net.py").write_text(PROGRAM)
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 2
    assert "revision 'HEAD' cannot be compared" in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (("git:nowhere", "forward"), "has no revision 'nowhere'"),
        (("git:--help", "forward"), "has no revision '--help'"),
        (("git:", "forward"), "names no revision"),
        (("git:nowhere",), "has no revision 'nowhere'"),
        (("git:",), "names no revision"),
        (("git:HEAD", "--html", "page.html"), "--html needs one target"),
        (("git:HEAD", "git:HEAD"), "names no target"),
        (("git:HEAD", "net.py"), "names no target"),
        (("git:HEAD:forwards", "forward"), "no target is named 'forwards'"),
    ],
)
def test_a_missing_revision_is_an_error(
    repository: Path, invoke: Invoke, sides: tuple[str, ...], words: str
) -> None:
    result = invoke("diff", *sides)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert left_behind(repository) == []


def test_a_project_outside_of_a_repository(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 2
    assert "is not in a git repository" in result.stderr


@pytest.mark.usefixtures("private_tmp")
def test_the_hooks_of_the_repository_do_not_run(repository: Path, invoke: Invoke) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{repository}/ran'\n")
    hook.chmod(0o755)
    assert clean(invoke("diff", "git:HEAD", "forward"))
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_worktree_is_removed_after_an_interrupt(
    repository: Path, private_tmp: Path, started: Any, number: int
) -> None:
    edit(repository, "def forward(w, x):", "def forward(w, x):\n    import time; time.sleep(600)")
    git(repository, "commit", "-qam", "slow")
    command = [sys.executable, "-m", "olympus_cli", "diff", "git:HEAD", "forward"]
    process = started(command, cwd=repository, stderr=subprocess.PIPE, text=True)
    while not any(private_tmp.glob(f"{PREFIX}*/*/net.py")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
@pytest.mark.parametrize("name", ["work ", "work\n", "work\r", b"w\xf6rk", "w\u00f6rk"])
def test_a_project_in_a_folder_of_any_name(repository: Path, name: str | bytes) -> None:
    place = repository / os.fsdecode(name)
    place.mkdir()
    for file in ("net.py", "olympus.toml", ".git"):
        (repository / file).rename(place / file)
    edit(place, "np.tanh", "np.sin")
    command = [sys.executable, "-m", "olympus_cli", "diff", "git:HEAD", "forward"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "tanh -> sine" in done.stdout
    assert not [*(place / ".git").glob("worktrees/*")]
    command[-2:] = ["git:nowhere", "forward"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, "has no revision 'nowhere'" in done.stderr) == (2, True)


def test_the_remains_of_a_killed_process_are_removed_by_the_next(
    repository: Path, private_tmp: Path, started: Any, invoke: Invoke
) -> None:
    edit(repository, "def forward(w, x):", "def forward(w, x):\n    import time; time.sleep(600)")
    git(repository, "commit", "-qam", "slow")
    edit(repository, "    import time; time.sleep(600)", "")
    command = [sys.executable, "-m", "olympus_cli", "diff", "git:HEAD", "forward"]
    processes = []
    for count in (1, 2):
        processes.append(started(command, cwd=repository, stderr=subprocess.PIPE, text=True))
        while len([*private_tmp.glob(f"{PREFIX}*/*/net.py")]) < count:
            assert processes[-1].poll() is None
            time.sleep(0.02)
    killed, living = processes
    killed.kill()
    killed.communicate(timeout=60)
    folders = set(private_tmp.glob(f"{PREFIX}*"))
    assert len(folders) == 2
    # the last child of the process holds the lock for a moment
    while len(set(private_tmp.glob(f"{PREFIX}*"))) == 2:
        assert clean(invoke("diff", "git:HEAD~1", "forward"))
    worktrees = git(repository, "worktree", "list").splitlines()
    assert len(worktrees) == 2  # including that of the running process
    assert living.poll() is None
    living.send_signal(signal.SIGINT)
    living.communicate(timeout=60)
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_a_worktree_of_the_user_on_a_missing_disk_is_not_removed(
    repository: Path, invoke: Invoke, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("disk") / "tree"
    git(repository, "worktree", "add", "-q", "--detach", str(away))
    away.rename(away.with_name("elsewhere"))
    assert clean(invoke("diff", "git:HEAD", "forward"))
    assert str(away) in git(repository, "worktree", "list")
