"""`olympus clean`: it removes what builds wrote, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from olympus_cli.builder.output_place import locked
from tests.cli.conftest import Invoke

TOML = """
[target.a]
entry = "m:f"
args.x = "f32[{n}]"
matrix.n = [1, 2]

[target.b]
entry = "m:f"
args.x = "f32[3]"
"""
NAMES = ["a@n=1", "a@n=2", "b"]


@pytest.fixture
def built(folder: Path, invoke: Invoke) -> Path:
    (folder / "m.py").write_text("def f(x):\n    return x + 1\n")
    (folder / "olympus.toml").write_text(TOML)
    assert invoke("build").exit_code == 0
    return folder


def folders(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "build").iterdir() if path.is_dir())


def cleaned(invoke: Invoke, *arguments: str) -> Any:
    result = invoke("clean", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_it_removes_the_named_targets(built: Path, invoke: Invoke) -> None:
    sizes = [path.stat().st_size for path in (built / "build/a@n=2").rglob("*") if path.is_file()]
    document = cleaned(invoke, "a@n=2", "--dry-run")
    assert (document["dry_run"], document["bytes"]) == (True, sum(sizes))
    assert folders(built) == NAMES
    document = cleaned(invoke, "a@n=2")
    (row,) = document["removed"]
    assert (row["target"], row["files"], row["bytes"]) == ("a@n=2", len(sizes), sum(sizes))
    assert folders(built) == ["a@n=1", "b"]
    assert cleaned(invoke, "a@n=2")["removed"] == []
    result = invoke("clean", "a*")
    assert result.stdout.startswith("removed  a@n=1: ")
    assert result.stderr.startswith("removed ")
    assert folders(built) == ["b"]
    assert invoke("build").exit_code == 0
    assert folders(built) == NAMES


def test_all_leaves_the_history_and_an_empty_build_folder(built: Path, invoke: Invoke) -> None:
    assert [row["target"] for row in cleaned(invoke, "--all")["removed"]] == NAMES
    assert [path.name for path in (built / "build").iterdir()] == ["history.sqlite"]
    result = invoke("clean", "--all")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing to remove\n")


def test_stale_removes_folders_of_removed_targets(built: Path, invoke: Invoke) -> None:
    assert cleaned(invoke, "--stale")["removed"] == []
    (built / "olympus.toml").write_text(TOML.replace("[1, 2]", "[2, 4]").partition("[target.b]")[0])
    (built / "build/b/mine.txt").write_text("mine")
    (built / "build/other").mkdir()
    (built / "build/other/mine.txt").write_text("mine")
    document = cleaned(invoke, "--stale")
    assert [row["target"] for row in document["removed"]] == ["a@n=1", "b"]
    assert document["removed"][1]["foreign"] == ["mine.txt"]
    assert folders(built) == ["a@n=2", "b", "other"]
    assert [path.name for path in (built / "build/b").iterdir()] == ["mine.txt"]


def test_stale_leaves_targets_of_another_project(built: Path, invoke: Invoke) -> None:
    other = built / "other"
    other.mkdir()
    text = '[project]\nbuild-dir = "../build"\n[target.c]\nentry = "n:f"\nargs.x = "f32[1]"\n'
    (other / "olympus.toml").write_text(text)
    (other / "n.py").write_text("def f(x):\n    return x\n")
    assert invoke("build", "--project", "other").exit_code == 0
    assert folders(built) == [*NAMES, "c"]
    assert cleaned(invoke, "--stale")["removed"] == []
    assert [row["target"] for row in cleaned(invoke, "--all")["removed"]] == NAMES
    assert folders(built) == ["c"]
    (built / "olympus.toml").write_text(TOML + '[target.c]\nentry = "m:f"\n')
    result = invoke("clean", "c")
    assert result.exit_code == 2 and "of another project" in result.stderr
    assert folders(built) == ["c"]


def test_files_that_no_build_wrote_remain(built: Path, invoke: Invoke) -> None:
    folder = built / "build/b"
    (folder / "cpu/notes.txt").write_text("mine")
    (folder / "link").symlink_to(built / "m.py")
    (folder / "folder").symlink_to(built)
    result = invoke("clean", "b")
    assert "note: build/b has files that no build wrote: cpu/notes.txt, folder, link" in (
        result.stderr
    )
    remaining = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    assert remaining == ["cpu", "cpu/notes.txt", "folder", "link"]
    assert (built / "m.py").exists()
    assert cleaned(invoke, "b")["removed"] == []


def test_a_folder_that_is_a_link_remains(built: Path, invoke: Invoke) -> None:
    elsewhere = built / "elsewhere"
    (built / "build/b").rename(elsewhere)
    (built / "build/b").symlink_to(elsewhere)
    assert [row["target"] for row in cleaned(invoke, "b")["removed"]] == ["b"]
    assert [*elsewhere.iterdir()] == []
    assert (built / "build/b").is_symlink()


def test_a_foreign_folder_is_left(built: Path, invoke: Invoke) -> None:
    (built / "olympus.toml").write_text(TOML + '[target.d]\nentry = "m:f"\n')
    (built / "build/d").mkdir()
    (built / "build/d/report.txt").write_text("mine")
    assert cleaned(invoke, "d")["removed"] == []
    assert (built / "build/d/report.txt").read_text() == "mine"


def test_the_working_directory_is_not_removed(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(built / "build/b")
    result = invoke("clean", "--all")
    assert result.exit_code == 2 and "the working directory is in it" in result.stderr
    assert folders(built) == NAMES


def test_a_newer_report_without_a_list_is_left(built: Path, invoke: Invoke) -> None:
    folder = built / "build/b"
    for path in folder.iterdir():
        if path.is_file() and path.name != "report.json":
            path.unlink()
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps({**report, "schema_version": 10**6}))
    result = invoke("clean", "b")
    assert result.exit_code == 2 and "is not removed" in result.stderr
    assert (folder / "report.json").exists()


@pytest.mark.parametrize("busy", ["build", "elsewhere"])
def test_a_build_is_waited_for(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, busy: str
) -> None:
    from olympus_cli.builder import output_place

    (built / "elsewhere").mkdir()
    (built / "build/a@n=1").rename(built / "elsewhere/a")
    (built / "build/a@n=1").symlink_to(built / "elsewhere/a")
    stack = locked(built / busy)
    stack.__enter__()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        stack.__exit__(None, None, None)

    monkeypatch.setattr(output_place.time, "sleep", sleep)
    result = invoke("clean", "a@n=1")
    assert result.exit_code == 0 and waits
    assert f"waiting for another build in {built / busy} to end" in result.stderr
    assert [*(built / "elsewhere/a").iterdir()] == []


def test_a_build_locks_the_build_folder_and_the_folders_of_links(
    built: Path, invoke: Invoke
) -> None:
    (built / "elsewhere").mkdir()
    (built / "build/b").rename(built / "elsewhere/b")
    (built / "build/b").symlink_to(built / "elsewhere/b")
    (built / "m.py").write_text(
        "import fcntl, os\nfrom pathlib import Path\n\n\n"
        "def f(x):\n"
        "    for name in ('build', 'elsewhere'):\n"
        "        descriptor = os.open(Path(__file__).with_name(name), os.O_RDONLY)\n"
        "        try:\n"
        "            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "        except BlockingIOError:\n"
        "            continue\n"
        "        raise ValueError(f'{name} is not locked')\n"
        "    return x + 1\n"
    )
    result = invoke("build", "b")
    assert result.exit_code == 0, result.stderr


def test_a_removal_that_was_cut_off_can_be_repeated(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = Path.unlink, [0]

    def unlink(path: Path, missing_ok: bool = False) -> None:
        count[0] += 1
        if count[0] == 4:
            raise OSError(5, os.strerror(5))
        real(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        result = invoke("clean", "b")
    assert result.exit_code == 2 and "cannot be removed: Input/output error" in result.stderr
    assert folders(built) == NAMES
    assert [row["target"] for row in cleaned(invoke, "b")["removed"]] == ["b"]
    assert folders(built) == ["a@n=1", "a@n=2"]


def test_it_needs_a_target_or_an_option(built: Path, invoke: Invoke) -> None:
    result = invoke("clean")
    assert result.exit_code == 2
    assert "clean needs a target, --stale or --all" in result.stderr
    assert invoke("clean", "none").exit_code == 2
