"""Names in bundles and programs are escaped on the terminal."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import olympus
from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from olympus_cli.terminal import console
from olympus_cli.text.escaping import one_line, visible

Invoke = Callable[..., Result]

EVIL = "a\x1b]0;x\x07\x1b[31mb\x7f\x9bc\u202ed\u2066\r"
SHOWN = r"a\u001b]0;x\u0007\u001b[31mb\u007f\u009bc\u202ed\u2066\u000d"


def test_control_sequences_are_escaped() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("a\n\tb") == "a\n\tb"
    assert one_line("a\n\tb") == r"a\u000a\u0009b"
    assert visible("Zürich, \u65e5\u672c \U0001f600") == "Zürich, \u65e5\u672c \U0001f600"
    for code in range(0x110000):
        if chr(code).isprintable() and not 0xD800 <= code < 0xE000:
            assert visible(chr(code)) == chr(code)


def test_characters_that_no_stream_can_write_are_escaped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.data("a\udc80\ud800\U0001f600")
    console.message("\ud800 is missing")
    out, err = capsys.readouterr()
    assert (out, err) == ("a\\udc80\\ud800\U0001f600\n", "\\ud800 is missing\n")


def test_all_output_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    console.data(EVIL)
    console.message(EVIL)
    console.error(UsageError(EVIL, hint=f"hint {EVIL}"))
    console.defect(ValueError(EVIL))
    console.table((f"[b]{EVIL}",), [(f"[red]{EVIL}\n",)], title=f"[i]{EVIL}")
    out, err = capsys.readouterr()
    assert all(char.isprintable() or char == "\n" for char in out + err)
    assert out.count(SHOWN) == 4 and err.count(SHOWN) == 4
    for markup in ("[b]", "[red]", "[i]"):
        assert markup + SHOWN in out


def test_escaped_json_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({EVIL: EVIL})
    out = capsys.readouterr().out
    assert "\u202e" not in out and "\x9b" not in out
    assert json.loads(out) == {EVIL: EVIL}


def test_progress_is_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    with console.progress(f"[red]{EVIL}") as bar:
        bar.describe(f"[bold]{EVIL}")
    err = capsys.readouterr().err
    assert f"[bold]{SHOWN}" in err
    assert "\x1b]0;" not in err and "\u202e" not in err


def test_an_error_about_a_file_shows_its_name(folder: Path, invoke: Invoke) -> None:
    name = "\x1b[31mf.olympus"
    (folder / name).write_bytes(b"hello")
    result = invoke("run", name)
    assert result.exit_code == 5
    assert r"\u001b[31mf.olympus" in result.stderr and "\x1b" not in result.stderr


def test_names_in_a_bundle_are_printable(folder: Path) -> None:
    traced = olympus.jit(lambda x: x).trace(1.0)
    lowered = traced.lower()

    def save(name: str) -> None:
        text = str(traced.olympuspr)
        compiled = lowered.compile()
        artifact.save(
            "f.olympus", compiled, lowered=lowered, olympuspr_text=text, name=name, entry="m:f"
        )

    with pytest.raises(UsageError, match=r"the name 'a\\x1b' has unprintable characters"):
        save("a\x1b")
    save("ab~")
    with zipfile.ZipFile("f.olympus") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    changed = members["manifest.json"].replace(b'"ab~"', b'"a\\u001b"')
    with zipfile.ZipFile("f.olympus", "w") as archive:
        for member, data in {**members, "manifest.json": changed}.items():
            archive.writestr(member, data)
    with pytest.raises(ArtifactError, match=r"name must be printable text, and is 'a\\x1b'"):
        artifact.load("f.olympus")
