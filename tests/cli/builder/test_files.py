"""The files of a build are written in the background, and listed by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus_cli.builder.files import Files
from olympus_cli.builder.manifest import output_file


def test_files_are_written_and_listed(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    with Files(tmp_path) as files:
        files.write("program.hlo.txt", "a \udcff name\r\n")
        files.write("cpu/executable.bin", bytes(range(256)) * 4096)
        (tmp_path / "x.olympus").write_bytes(b"PK")
        files.add("x.olympus")
        listed = files.listed()
    assert [file.path for file in listed] == ["cpu/executable.bin", "program.hlo.txt", "x.olympus"]
    assert [*listed] == [output_file(tmp_path, tmp_path / file.path) for file in listed]
    assert (tmp_path / "program.hlo.txt").read_bytes() == b"a \\udcff name\r\n"


def test_a_long_text_is_written_completely(tmp_path: Path) -> None:
    text = "\N{GREEK SMALL LETTER ALPHA}\udcff" * (1 << 20)
    with Files(tmp_path) as files:
        files.write("long", text)
        files.write("empty", "")
        assert files.listed() == tuple(
            output_file(tmp_path, tmp_path / n) for n in ("empty", "long")
        )
    assert (tmp_path / "long").read_bytes() == text.encode(errors="backslashreplace")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with Files(tmp_path) as files:
        files.write("absent/program.hlo.txt", "")
        with pytest.raises(FileNotFoundError):
            files.listed()


def test_a_failure_of_the_caller_takes_precedence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the compiler"), Files(tmp_path) as files:
        files.write("absent/program.hlo.txt", "")
        raise ValueError("the compiler failed")
