"""Regular files: opening does not wait, other kinds are refused, and which can be written."""

from __future__ import annotations

import linecache
import os
from pathlib import Path

import pytest

from olympus.files import check_output, open_regular, path_text, read_regular, source_line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"0123456789")
    Path("link").symlink_to("file")
    Path("loop").symlink_to("loop")
    Path("new").symlink_to("fresh")
    os.mkfifo("pipe")
    return tmp_path


def test_a_file_is_read_up_to_a_limit(folder: Path) -> None:
    assert read_regular("file", 10) == read_regular("link", 10) == b"0123456789"
    assert read_regular("/proc/self/status", 10**6).startswith(b"Name:")  # whose size is 0
    for path in ("file", "/proc/self/status"):
        with pytest.raises(OSError, match="it is larger than 9 bytes"):
            read_regular(path, 9)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("pipe", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        (".", "it is a folder"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 300, "File name too long"),
        ("a\0b", "no file can have this name"),
        ("\ud800", "no file can have this name"),
        ("none", "No such file or directory"),
    ],
)
def test_other_paths_are_refused_without_waiting(folder: Path, path: str, reason: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match=reason) as caught, open_regular(path):
        pass
    assert caught.value.strerror is not None
    assert reason in caught.value.strerror
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_is_refused_where_links_are_not_followed(folder: Path) -> None:
    with pytest.raises(OSError, match="symbolic links"):
        read_regular("link", 10, follow_links=False)


@pytest.mark.parametrize("path", ["file", "fresh", "link", "new", "/dev/null", "/dev/stdout"])
def test_where_a_file_can_be_written(folder: Path, path: str) -> None:
    check_output(path)
    assert not Path("fresh").exists()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("pipe", "it is not a regular file"),
        (".", "it is a folder"),
        ("none/file", "the folder none does not exist$"),
        ("/none/file", "the folder /none does not exist$"),
        ("../none/file", r"the folder \.\./none does not exist$"),
        ("file/file", "Not a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 300, "File name too long"),
        ("a\0b", "no file can have this name"),
    ],
)
def test_where_no_file_can_be_written(folder: Path, path: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        check_output(path)


def test_a_missing_folder_in_the_working_directory_is_relative(folder: Path) -> None:
    with pytest.raises(OSError, match=r"the folder none does not exist$"):
        check_output(folder / "none/file")


def test_a_source_file_that_is_a_device_is_not_read(folder: Path) -> None:
    for path in ("/dev/zero", f"{folder}/pipe", "/none.py", "a\0b"):
        assert source_line(path, 1) == ""
    assert source_line(f"{folder}/file", 1) == "0123456789"
    linecache.cache["<cell 1>"] = (2, None, ["x = 1\n"], "<cell 1>")
    assert source_line("<cell 1>", 1) == "x = 1"
    del linecache.cache["<cell 1>"]


def test_the_lines_of_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"w\xf6rk.py")
    file.write_text("x = 1\n")
    assert path_text(file) == f"{tmp_path}/w\\xf6rk.py"
    assert source_line(str(file), 1) == source_line(path_text(file), 1) == "x = 1"
    assert source_line(f"{tmp_path}/w\\xf7rk.py", 1) == ""
