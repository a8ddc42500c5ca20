"""olympus report, and --html of build and compile: the page is written, replaced and opened."""

from __future__ import annotations

import json
import re
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.builder.manifest import Manifest
from olympus_cli.reports.json import read_report

Invoke = Callable[..., Result]

ENTRY = ("model.py:add", "--shapes", "f32[2], f32[2]")


def listed(folder: Path) -> set[str]:
    return {file.path for file in Manifest.read(folder).files}


def run(invoke: Invoke, *args: str) -> Result:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return result


def test_a_page_is_written_once_and_is_an_output(project: Path, invoke: Invoke) -> None:
    assert run(invoke, "report", "add").stdout == "build/add/report.html\n"
    page = project / "build" / "add" / "report.html"
    text = page.read_text()
    assert "<title>add - OLYMPUS report</title>" in text
    assert "return x + y" in re.sub("<[^>]*>", "", text)
    report = read_report(page.parent)
    assert f'<data value="{report.backends[0].cost.flops}" data-figure="flops"' in text
    assert f'value="{report.seconds.compile}" data-figure="seconds-compile"' in text
    assert "report.html" in listed(page.parent)
    assert "report.html" in {output.path for output in report.outputs}
    first = page.stat()
    run(invoke, "report", "add")
    assert page.stat().st_ino == first.st_ino


def test_a_missing_or_changed_page_is_written_again(project: Path, invoke: Invoke) -> None:
    page = project / "build" / "add" / "report.html"
    assert "it has not been built before" in run(invoke, "build", "add").stdout
    assert not page.exists()
    output = run(invoke, "build", "add", "--html").stdout
    assert "built" in output and "it has no report.html" in output
    page.write_text("changed")
    assert "report.html is missing or has been changed" in run(invoke, "build", "add").stdout
    assert not page.exists()  # it was not requested
    run(invoke, "report", "add")
    assert page.exists()


def test_a_build_does_not_change_the_page_of_a_fresh_target(project: Path, invoke: Invoke) -> None:
    run(invoke, "report", "add")
    assert run(invoke, "build", "add").stdout.startswith("fresh")
    assert (project / "build" / "add" / "report.html").exists()
    result = invoke("build", "--frozen", "--html", "forward@batch=1")
    assert result.exit_code == 7


def test_a_forced_build_removes_the_page_of_another_program(project: Path, invoke: Invoke) -> None:
    run(invoke, "report", "add")
    run(invoke, "build", "add", "--force")
    assert not (project / "build" / "add" / "report.html").exists()
    assert "report.html" not in listed(project / "build" / "add")


def test_compile_writes_a_page_if_requested(project: Path, invoke: Invoke) -> None:
    run(invoke, "compile", *ENTRY, "-o", "out")
    assert not (project / "out" / "report.html").exists()
    run(invoke, "compile", *ENTRY, "-o", "out", "--html")
    assert (project / "out" / "report.html").exists()


def test_the_page_of_an_entry_may_be_its_only_output(project: Path, invoke: Invoke) -> None:
    result = run(invoke, "report", *ENTRY, "-o", "page.html")
    assert result.stdout == ""
    assert "wrote page.html" in result.stderr
    assert (project / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert not (project / "build").exists()


def test_a_copy_of_the_page_of_a_target(project: Path, invoke: Invoke) -> None:
    run(invoke, "report", "add", "-o", "copy.html")
    html = (project / "build" / "add" / "report.html").read_bytes()
    assert (project / "copy.html").read_bytes() == html
    assert run(invoke, "report", "add", "-o", "-").stdout.encode() == html


def test_the_page_of_an_entry_in_the_project(project: Path, invoke: Invoke) -> None:
    result = invoke("report", *ENTRY)
    assert result.exit_code == 2
    assert "is for the outputs of target 'add'" in result.stderr
    shown = run(invoke, "report", "model:same", "--shapes", "f32[2], f32[3]").stdout
    assert shown == "build/same/report.html\n"
    assert (project / "build" / "same" / "report.html").exists()


def test_json_has_the_path_of_the_page(project: Path, invoke: Invoke) -> None:
    document = json.loads(run(invoke, "report", "add", "--json").stdout)
    assert document == {"target": "add", "page": str(project / "build" / "add" / "report.html")}
    result = invoke("report", "add", "--json", "-o", "-")
    assert result.exit_code == 2
    assert "`-o -` cannot be combined with --json or --open" in result.stderr


def test_a_page_is_opened(project: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: not opened.append(url))
    monkeypatch.setenv("BROWSER", "something")
    result = run(invoke, "report", "add", "--open")
    assert opened == [(project / "build" / "add" / "report.html").as_uri()]
    assert "no browser" not in result.stderr


@pytest.mark.parametrize("screen", [None, ":0"])
def test_without_a_browser_the_path_is_shown(
    project: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, screen: str | None
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    if screen:
        monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    result = run(invoke, "report", "add", "--open")
    page = project / "build" / "add" / "report.html"
    assert f"no browser was found; the page is {page}" in result.stderr


def test_a_program_that_fails_has_no_page(project: Path, invoke: Invoke) -> None:
    result = invoke("report", "model:fails", "--shapes", "f32[2]")
    assert result.exit_code == 3
    assert "the width is odd" in result.stderr
    assert not list(project.rglob("report.html"))


def test_a_source_that_is_no_text_is_omitted(folder: Path, invoke: Invoke) -> None:
    (folder / "m.py").write_bytes(b"# coding: latin-1\n# \xe9\ndef f(x):\n    return x + x\n")
    run(invoke, "report", "m.py:f", "--shapes", "f32[4]", "-o", "p.html")
    assert "the file cannot be read" in (folder / "p.html").read_text()


def test_names_in_a_program_are_escaped(folder: Path, invoke: Invoke) -> None:
    source = (
        "import olympus\n"
        "def f(**named):\n"
        "    with olympus.named_scope('</script><img src=x onerror=alert(1)>'):\n"
        "        return {'</td><b>': sum(named.values())}\n"
        "def g(x): return f(**{'<i>a</i>': x, 'b': x})\n"
    )
    (folder / "b.py").write_text(source)
    run(invoke, "report", "b.py:g", "--shapes", "f32[4]", "-o", "p.html")
    text = (folder / "p.html").read_text()
    assert "<img" not in text
    assert "&lt;/td&gt;&lt;b&gt;" in text
