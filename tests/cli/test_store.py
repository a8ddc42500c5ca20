"""The build directory: whole outputs or none, one build at a time, and recovery from crashes."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from olympus.errors import UsageError
from olympus_cli.build.store import locate, locked
from olympus_cli.reports.model import SCHEMA_VERSION


def report(*outputs: str, version: int = SCHEMA_VERSION) -> str:
    files = [{"path": path} for path in outputs]
    return json.dumps({"schema_version": version, "outputs": files})


def put(root: Path, name: str, *outputs: str) -> None:
    directory = locate(root, name).stage()
    for path in outputs:
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).touch()
    (directory / "report.json").write_text(report(*outputs))


def test_outputs_appear_with_the_commit_and_replace_the_old_ones(tmp_path: Path) -> None:
    root = tmp_path / "build"
    with locked(root):
        put(root, "t", "old", "cpu/old")
        assert not (root / "t").exists()
        locate(root, "t").commit()
        put(root, "t", "new")
        assert (root / "t" / "cpu" / "old").exists()
        locate(root, "t").commit()
    assert sorted(path.name for path in (root / "t").iterdir()) == ["new", "report.json"]
    assert [path.name for path in root.iterdir()] == ["t"]


def test_what_is_staged_and_not_committed_is_gone_at_the_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        put(tmp_path, "t")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_next_build_clears_up_after_a_crash(tmp_path: Path) -> None:
    """A crash while writing leaves a new directory; one between the renames an old one."""
    for name in ("whole", "moved", "once-a-link"):
        with locked(tmp_path):
            put(tmp_path, name, name)
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
        ({"report.json": "{}", "thesis.txt": "years"}, "is not the output of a build"),
        ({"report.json": report(version=99)}, "is not the output of a build"),
        ({"report.json": report("a"), "a": "", "thesis.txt": ""}, "holds 'thesis.txt', which no"),
        ({"report.json": report("cpu/a"), "cpu/a": "", "cpu/b": ""}, "holds 'cpu/b', which no"),
    ],
)
def test_what_no_build_wrote_is_left_alone(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text)
    with locked(tmp_path), pytest.raises(UsageError, match=message):
        locate(tmp_path, "mine").stage()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_may_be_replaced_and_a_file_not(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "file").touch()
    with locked(tmp_path):
        put(tmp_path, "t")
        locate(tmp_path, "t").commit()
        with pytest.raises(UsageError, match="is no folder: it will not be replaced"):
            locate(tmp_path, "file").stage()


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_stays(tmp_path: Path, there: bool) -> None:
    real = tmp_path / "elsewhere" / "real"
    if there:
        real.mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    for _ in range(2):
        place = locate(tmp_path, "link")
        with locked(place.final.parent):
            put(tmp_path, "link")
            place.commit()
    assert (tmp_path / "link").readlink() == real
    assert [path.name for path in real.iterdir()] == ["report.json"]
    assert [path.name for path in real.parent.iterdir()] == ["real"]


def test_links_in_a_circle_are_a_users_mistake(tmp_path: Path) -> None:
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
def test_a_name_that_is_too_long_is_told_as_it_is(tmp_path: Path, length: int) -> None:
    name = "n" * length
    with locked(tmp_path), pytest.raises(UsageError, match=f"/{name} cannot be used: File name"):
        locate(tmp_path, name).stage()


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "/etc"])
def test_a_name_cannot_lead_out_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        locate(tmp_path, name)


def test_a_place_that_cannot_be_a_directory_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be used: File exists"), locked(tmp_path / "file"):
        pass


def refuse(*_: object) -> NoReturn:
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("place", ["os.open", "fcntl.flock", "pathlib.Path.rename"])
def test_what_the_system_refuses_is_told_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    message = f"the build folder {re.escape(str(tmp_path))}(/t)? cannot be used: No locks available"
    with monkeypatch.context() as patch, pytest.raises(UsageError, match=message):
        patch.setattr(place, refuse)
        with locked(tmp_path):
            put(tmp_path, "t")
            locate(tmp_path, "t").commit()
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_inside_is_not_the_folders(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), locked(tmp_path):
        raise BrokenPipeError


def test_what_is_only_looked_at_is_not_made(tmp_path: Path) -> None:
    with locked(tmp_path / "build", make=False):
        assert os.listdir(tmp_path) == []


HOLD = """
import sys
from pathlib import Path
from olympus_cli.build.store import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_build_waits_for_the_first(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    waited: list[int | None] = []

    def end_the_first() -> None:
        waited.append(first.poll())
        first.communicate()

    with locked(tmp_path, end_the_first):
        assert first.returncode == 0
    assert waited == [None]
