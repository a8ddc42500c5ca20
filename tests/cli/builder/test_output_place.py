"""The build directory: complete outputs or none, one build at a time, and recovery from crashes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from olympus.errors import CompileError, UsageError
from olympus_cli.builder import durable
from olympus_cli.builder.durable import exchanged, sync_tree
from olympus_cli.builder.manifest import MANIFEST as LIST
from olympus_cli.builder.manifest import Manifest
from olympus_cli.builder.output_place import locate, locked
from olympus_cli.reports.build_report import OutputFile

CAN_EXCHANGE = durable._renameat2() is not None
PR, MLIR = "program.olympuspr", "program.stablehlo.mlir"


def stage(root: Path, name: str, *outputs: str, project: str = "..") -> None:
    """Stage a folder with `outputs`, and the list of them."""
    directory = locate(root, name).stage()
    for path in outputs:
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).touch()
    Manifest(project, name, tuple(OutputFile(path, 0, "") for path in outputs)).write(directory)


def listed(*outputs: str, version: int = 1) -> str:
    """The text of a list of files of a version."""
    files = [{"path": path, "bytes": 0, "sha256": ""} for path in outputs]
    data = {"schema_version": version, "project": "..", "target": "t", "files": files}
    return json.dumps(data)


def test_a_commit_replaces_the_outputs(tmp_path: Path) -> None:
    root = tmp_path / "build"
    with locked(root):
        stage(root, "t", "old", "cpu/old")
        assert not (root / "t").exists()
        locate(root, "t").commit()
        stage(root, "t", "new")
        assert (root / "t" / "cpu" / "old").exists()
        locate(root, "t").commit()
    assert sorted(path.name for path in (root / "t").iterdir()) == ["new", "olympus-build.json"]
    assert [path.name for path in root.iterdir()] == ["t"]


def test_a_new_folder_without_outputs_is_removed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "new"):
        _ = 1 // 0
    assert not (tmp_path / "new").exists()
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        _ = 1 // 0
    assert tmp_path.exists()


@pytest.mark.parametrize("is_used", [False, True], ids=["unused", "used by another build"])
def test_a_signal_before_the_lock_removes_a_new_folder_that_is_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_used: bool
) -> None:
    root = tmp_path / "new"
    opened: list[int] = []
    real_open = os.open

    def open_then_signal(path: Path, flags: int) -> int:
        opened.append(real_open(path, flags))
        if len(opened) > 1:  # the folder is opened again to remove it
            return opened.pop()
        if is_used:
            opened.append(real_open(path, flags))
            fcntl.flock(opened[-1], fcntl.LOCK_EX)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", open_then_signal)
    with pytest.raises(KeyboardInterrupt), locked(root):
        pass
    assert root.exists() == is_used
    for descriptor in opened:
        os.close(descriptor)


def test_a_build_that_waits_for_a_removed_folder_has_a_new_one(tmp_path: Path) -> None:
    root = tmp_path / "build"
    with ThreadPoolExecutor(1) as pool:
        waits = threading.Event()

        def build() -> None:
            with locked(root, lambda _: waits.set()):
                stage(root, "t", "new")
                locate(root, "t").commit()

        with locked(root):
            done = pool.submit(build)
            assert waits.wait(60)
        done.result(60)
    assert (root / "t" / "new").exists()


def test_staged_outputs_without_a_commit_are_removed_at_the_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        stage(tmp_path, "t")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_next_build_removes_the_remains_of_a_crash(tmp_path: Path) -> None:
    """A crash during writing leaves a new directory, and a crash between the renames an old one."""
    for name in ("whole", "moved", "once-a-link"):
        with locked(tmp_path):
            stage(tmp_path, name, name)
            locate(tmp_path, name).commit()
    (tmp_path / ".olympus-new-half").mkdir()
    (tmp_path / ".olympus-old-whole").mkdir()
    (tmp_path / ".olympus-old-once-a-link").symlink_to(tmp_path)
    (tmp_path / "moved").rename(tmp_path / ".olympus-old-moved")
    with locked(tmp_path):
        names = ["moved", "once-a-link", "whole"]
        assert sorted(path.name for path in tmp_path.iterdir()) == names
        for name in names:
            assert (tmp_path / name / name).exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"file": ""}, "is not the output of a build"),
        ({"report.json": "{}"}, "is not the output of a build"),
        ({"report.json": "{}", "thesis.txt": "years"}, "is not the output of a build"),
        ({"model.olympus": ""}, "is not the output of a build"),
        ({"program.olympuspr": ""}, "is not the output of a build"),
        ({"report.json": '{"schema_version": 99}'}, "schema 99, of a newer olympus"),
        ({LIST: listed("a"), "a": "", "thesis.txt": ""}, "holds 'thesis.txt', which no"),
        ({LIST: listed("cpu/a"), "cpu/a": "", "cpu/b": ""}, "holds 'cpu/b', which no"),
        ({LIST: "", "summary.txt": "", "thesis.txt": ""}, "holds 'thesis.txt', which no"),
        ({LIST: "", "other.olympus": ""}, "holds 'other.olympus', which no"),
        ({LIST: listed("../x", "thesis.txt"), "thesis.txt": ""}, "holds 'thesis.txt', which no"),
        ({LIST: listed("/etc/passwd", "thesis.txt"), "thesis.txt": ""}, "holds 'thesis.txt', wh"),
        ({PR: "", MLIR: "", "thesis.txt": ""}, "holds 'thesis.txt', which no"),
    ],
)
def test_a_folder_that_no_build_wrote_is_not_replaced(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text)
    with locked(tmp_path), pytest.raises(UsageError, match=message):
        locate(tmp_path, "mine").stage()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "files",
    [
        {LIST: listed("a", "cpu/b"), "a": "", "cpu/b": ""},
        {LIST: listed("a"), "a": "", "report.json": ""},
        {LIST: listed("a", "report.json"), "a": "", "report.json": '{"schema_version": 99}'},
        {LIST: "", "report.json": "", PR: "", "cpu/executable.bin": "", "t.olympus": ""},
        {LIST: listed("a", version=2), "summary.txt": "", "gpu-h200/optimized.hlo.txt": ""},
        {PR: "", MLIR: "", "report.json": "{", "t.olympus": ""},
        {PR: "", MLIR: ""},
    ],
)
def test_a_folder_with_a_file_of_a_build_is_replaced(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / "t" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / name).write_text(text)
    if "a" in files and "report.json" in files and "99" not in files["report.json"]:
        (tmp_path / "t" / "report.json").unlink()  # the list may also be missing
    with locked(tmp_path):
        place = locate(tmp_path, "t", "t.olympus")
        place.stage()
        (tmp_path / ".olympus-new-t" / "new").touch()
        place.commit()
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_file_that_is_added_during_a_build_is_not_lost(tmp_path: Path) -> None:
    with locked(tmp_path):
        stage(tmp_path, "t", "a")
        locate(tmp_path, "t").commit()
        stage(tmp_path, "t", "b")
        (tmp_path / "t" / "thesis.txt").touch()
        with pytest.raises(UsageError, match=r"holds 'thesis\.txt', which no build put there"):
            locate(tmp_path, "t").commit()
    assert (tmp_path / "t" / "thesis.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("step", [True, False])
def test_old_and_new_folders_are_exchanged_in_one_step_if_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: bool
) -> None:
    """Without an atomic exchange, one more rename moves the old folder aside."""
    renames: list[Path] = []
    rename = Path.rename

    def counted(path: Path, target: Path) -> Path:
        renames.append(path)
        return rename(path, target)

    if not step:
        monkeypatch.setattr("olympus_cli.builder.durable._renameat2", lambda: None)
    with locked(tmp_path):
        for name in ("old", "new"):
            stage(tmp_path, "t", name)
            if name == "new":
                monkeypatch.setattr(Path, "rename", counted)
            locate(tmp_path, "t").commit()
    assert (tmp_path / "t" / "new").exists()
    assert not (tmp_path / "t" / "old").exists()
    assert len(renames) == (0 if step and CAN_EXCHANGE else 2)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_failed_exchange_is_an_error(tmp_path: Path) -> None:
    if CAN_EXCHANGE:
        with pytest.raises(FileNotFoundError):
            exchanged(tmp_path / "a", tmp_path / "b")
    else:
        assert not exchanged(tmp_path / "a", tmp_path / "b")


def test_files_are_synced_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new" / "cpu").mkdir(parents=True)
    for name in ("a", "cpu/b"):
        (tmp_path / "new" / name).touch()
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    sync_tree(tmp_path / "new")
    expected = ["new/a", "new", "new/cpu/b", "new/cpu"]
    assert synced == [str(tmp_path.resolve() / name) for name in expected]
    with locked(tmp_path):
        stage(tmp_path, "t", "x")
        synced.clear()
        locate(tmp_path, "t").commit()
    assert synced == [str(tmp_path.resolve())]


def test_a_target_of_another_project_is_not_replaced(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "olympus.toml").touch()
    build = tmp_path / "build"
    place = locate(build, "t")
    with locked(build):
        stage(build, "t", "a", project=place.path_to(tmp_path / "one"))
        place.commit()
        place.check_owner(tmp_path / "one")
        with pytest.raises(UsageError, match=f"'t' of another project, {tmp_path / 'one'}: they"):
            place.check_owner(tmp_path / "two")
    (tmp_path / "one").rename(
        tmp_path / "three"
    )  # the other project has moved, so the outputs belong to none
    place.check_owner(tmp_path / "three")
    place.check_owner(tmp_path / "two")


def test_an_empty_folder_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "file").touch()
    with locked(tmp_path):
        stage(tmp_path, "t")
        locate(tmp_path, "t").commit()
        with pytest.raises(UsageError, match="is not a folder: it will not be replaced"):
            locate(tmp_path, "file").stage()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed_and_not_replaced(tmp_path: Path, exists: bool) -> None:
    real = tmp_path / "elsewhere" / "real"
    if exists:
        real.mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    for _ in range(2):
        place = locate(tmp_path, "link")
        with locked(place.final.parent):
            stage(tmp_path, "link")
            place.commit()
    assert (tmp_path / "link").readlink() == real
    assert [path.name for path in real.iterdir()] == [LIST]
    assert [path.name for path in real.parent.iterdir()] == ["real"]


def test_a_cycle_of_links_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="cannot be used"):
        locate(tmp_path, "a")


def test_the_working_directory_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").mkdir()
    monkeypatch.chdir(tmp_path / "t")
    with locked(tmp_path), pytest.raises(UsageError, match="the working directory is in it"):
        locate(tmp_path, "t").stage()


@pytest.mark.parametrize("length", [250, 300])
def test_the_message_has_a_name_that_is_too_long(tmp_path: Path, length: int) -> None:
    name = "n" * length
    with locked(tmp_path), pytest.raises(UsageError, match=f"/{name} cannot be used: File name"):
        locate(tmp_path, name).stage()


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "/etc"])
def test_a_name_cannot_be_a_path_out_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        locate(tmp_path, name)


def test_a_path_that_cannot_be_a_directory_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be used: File exists"), locked(tmp_path / "file"):
        pass


def refuse(*_: object) -> NoReturn:
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("place", ["os.open", "fcntl.flock", "pathlib.Path.rename"])
def test_a_system_error_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    message = f"the build folder {re.escape(str(tmp_path))}(/t)? cannot be used: No locks available"
    with monkeypatch.context() as patch, pytest.raises(UsageError, match=message):
        patch.setattr(place, refuse)
        with locked(tmp_path):
            stage(tmp_path, "t")
            locate(tmp_path, "t").commit()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_caller_does_not_name_the_folder(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), locked(tmp_path):
        raise BrokenPipeError


def test_reading_does_not_create_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path / "build", make=False):
        assert os.listdir(tmp_path) == []


HOLD = """
import sys
import tempfile
from pathlib import Path
from olympus_cli.builder.output_place import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_build_waits_for_the_first(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    first = started(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    waited: list[tuple[Path, int | None]] = []

    def end_the_first(root: Path) -> None:
        waited.append((root, first.poll()))
        first.communicate()

    message = r"another build in .* did not end within the time limit of 0\.1 s"
    with pytest.raises(CompileError, match=message), locked(tmp_path, time_limit=0.1):
        pass
    with locked(tmp_path, end_the_first, time_limit=600):
        assert first.returncode == 0
    assert waited == [(tmp_path, None)]
