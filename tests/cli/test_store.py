"""The build directory: whole outputs or none, one build at a time, and recovery from crashes."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from olympus.errors import UsageError
from olympus_cli.build.store import Store


def put(store: Store, name: str, text: str) -> None:
    (store.stage(name) / "report.json").write_text(text)


def test_outputs_appear_with_the_commit_and_replace_the_old_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "build")
    with store.locked():
        put(store, "t", "1")
        assert not store.final("t").exists()
        store.commit("t")
        (store.final("t") / "old").touch()
        put(store, "t", "2")
        assert (store.final("t") / "report.json").read_text() == "1"
        store.commit("t")
    assert [path.name for path in store.final("t").iterdir()] == ["report.json"]
    assert (store.final("t") / "report.json").read_text() == "2"
    assert [path.name for path in store.root.iterdir()] == ["t"]


def test_what_is_staged_and_not_committed_is_gone_at_the_end(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(ZeroDivisionError), store.locked():
        put(store, "t", "1")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_next_build_clears_up_after_a_crash(tmp_path: Path) -> None:
    """A crash while writing leaves a new directory; one between the renames an old one."""
    store = Store(tmp_path)
    for name in ("whole", "moved"):
        with store.locked():
            put(store, name, name)
            store.commit(name)
    (tmp_path / ".olympus-new-half").mkdir()
    (tmp_path / ".olympus-old-whole").mkdir()
    store.final("moved").rename(tmp_path / ".olympus-old-moved")
    with store.locked():
        assert sorted(path.name for path in tmp_path.iterdir()) == ["moved", "whole"]
        assert (store.final("moved") / "report.json").read_text() == "moved"
        assert (store.final("whole") / "report.json").read_text() == "whole"


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "t").mkdir()
    with store.locked():
        put(store, "t", "an empty folder may be replaced")
        store.commit("t")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with store.locked(), pytest.raises(UsageError, match="will not be replaced"):
        store.stage("mine")
    (tmp_path / "file").touch()
    with store.locked(), pytest.raises(UsageError, match="will not be replaced"):
        store.stage("file")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "/etc"])
def test_a_name_cannot_lead_out_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        Store(tmp_path).final(name)


def test_a_place_that_cannot_be_a_directory_is_a_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be made"), Store(tmp_path / "file").locked():
        pass


def refuse(*_: object) -> NoReturn:
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("place", ["os.open", "fcntl.flock", "pathlib.Path.rename"])
def test_what_the_system_refuses_is_told_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    store = Store(tmp_path)
    message = re.escape(f"the build folder {tmp_path} cannot be used: No locks available")
    with monkeypatch.context() as patch, pytest.raises(UsageError, match=message):
        patch.setattr(place, refuse)
        with store.locked():
            put(store, "t", "1")
            store.commit("t")
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_inside_is_not_the_folders(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), Store(tmp_path).locked():
        raise BrokenPipeError


HOLD = """
import sys
from pathlib import Path
from olympus_cli.build.store import Store
with Store(Path(sys.argv[1])).locked():
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

    with Store(tmp_path).locked(end_the_first):
        assert first.returncode == 0
    assert waited == [None]
