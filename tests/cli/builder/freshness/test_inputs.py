"""An input is the same if its status is, or else its content; its change is described in words."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from olympus_cli.builder.freshness import inputs
from olympus_cli.builder.freshness.inputs import (
    CommonVariablesInput,
    EnvironmentInput,
    FileInput,
    FolderInput,
    Here,
    Input,
    KindInput,
    LinkInput,
    MachineInput,
    PackageInput,
    SearchPathInput,
    StatusInput,
    VariableInput,
    WorkingDirectoryInput,
    common_variables,
    environment_digest,
    file_digest,
    importable_names,
    link_text,
    machine_facts,
    search_path,
    status_of,
    status_text,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("one")
    os.utime(tmp_path / "a.py", (1, 1))
    (tmp_path / "pack").mkdir()
    package = tmp_path / "site/tool-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "RECORD").write_text("tool.py,,\n")
    return tmp_path


def file(project: Path, name: str = "a.py") -> FileInput:
    path = str(project / name)
    return FileInput(name, status_of(path), file_digest(path))


def package(project: Path) -> PackageInput:
    name = "site/tool-1.0.dist-info/RECORD"
    return PackageInput("tool", "1.0", name, None, file_digest(str(project / name)) or "")


def edited(name: str, text: str) -> Callable[[Path], None]:
    return lambda project: void((project / name).write_text(text))


def void(_result: object) -> None:
    pass


def linked(project: Path) -> Input:
    (project / "link").symlink_to("a.py")
    return LinkInput("link", link_text(str(project / "link")))


def relink(project: Path) -> None:
    (project / "link").unlink()
    (project / "link").symlink_to("pack")


def upgrade(project: Path) -> None:
    shutil.move(project / "site/tool-1.0.dist-info", project / "site/tool-2.0.dist-info")


CHANGES: dict[str, tuple[Callable[[Path], Input], Callable[[Path], None], str]] = {
    "other content": (file, edited("a.py", "two"), "a.py changed"),
    "other size": (file, edited("a.py", "three"), "a.py changed"),
    "removed": (file, lambda project: (project / "a.py").unlink(), "a.py was removed"),
    "new": (lambda p: file(p, "b.py"), edited("b.py", "x"), "b.py is new"),
    "a folder instead": (
        file,
        lambda project: void(((project / "a.py").unlink(), (project / "a.py").mkdir())),
        "a.py changed",
    ),
    "new module": (
        lambda p: FolderInput(".", None, importable_names(str(p))),
        edited("numpy.py", ""),
        "modules in .: +numpy.py",
    ),
    "removed module": (
        lambda p: FolderInput(".", None, importable_names(str(p))),
        lambda project: (project / "a.py").unlink(),
        "modules in .: -a.py",
    ),
    "removed folder": (
        lambda p: FolderInput("pack", None, importable_names(str(p / "pack"))),
        lambda project: (project / "pack").rmdir(),
        "modules in pack: ",
    ),
    "path appears": (lambda _: KindInput("flag", "missing"), edited("flag", ""), "flag is new"),
    "path disappears": (
        lambda _: KindInput("a.py", "file"),
        lambda project: (project / "a.py").unlink(),
        "a.py was removed",
    ),
    "time": (
        lambda p: StatusInput("a.py", status_text(str(p / "a.py"))),
        lambda project: os.utime(project / "a.py", (2, 2)),
        "a.py changed",
    ),
    "another link": (linked, relink, "link changed"),
    "package": (package, upgrade, "tool 1.0 -> 2.0"),
    "package again": (
        package,
        edited("site/tool-1.0.dist-info/RECORD", "tool.py,sha256=1,\n"),
        "site/tool-1.0.dist-info/RECORD changed",
    ),
    "package removed": (
        package,
        lambda project: shutil.rmtree(project / "site/tool-1.0.dist-info"),
        "tool 1.0 -> none",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_and_described(name: str, project: Path) -> None:
    make, change, words = CHANGES[name]
    found, here = make(project), Here(str(project))
    assert found.is_same(here)
    change(project)
    assert not found.is_same(here)
    assert str(found.reason(here)) == words


@pytest.mark.parametrize("name", CHANGES)
def test_a_row_has_all_of_an_input(name: str, project: Path) -> None:
    found = CHANGES[name][0](project)
    again = inputs.KINDS[found.kind](*found.row())
    assert type(again) is type(found) and again.row() == found.row()


def test_a_copy_is_the_same_and_gets_its_new_status(project: Path, tmp_path: Path) -> None:
    found = file(project)
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copyfile(project / "a.py", copy / "a.py")
    here = Here(str(copy))
    assert found.is_same(here)
    # it was written just now: a second write may get the same time, so that it is read again
    assert found.status is None
    os.utime(copy / "a.py", (5, 5))
    assert found.is_same(here)


def test_a_file_with_an_old_time_and_another_content_is_changed(project: Path) -> None:
    """A tool may set the time and keep the size and the inode."""
    found = file(project)
    before = (project / "a.py").stat()
    (project / "a.py").write_text("two")
    os.utime(project / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    now = (project / "a.py").stat()
    assert (now.st_size, now.st_mtime_ns, now.st_ino) == (3, before.st_mtime_ns, before.st_ino)
    assert not found.is_same(Here(str(project)))


def test_a_pipe_and_a_device_are_not_read(project: Path) -> None:
    os.mkfifo(project / "pipe")
    assert file_digest(str(project / "pipe")) is None
    assert file_digest("/dev/zero") is None
    assert file_digest("a\0b") is None and status_of("a\0b") is None


def test_paths_are_relative_to_the_project_and_the_environment(project: Path) -> None:
    here = Here(str(project))
    assert here.text(str(project / "pack/a.py")) == "pack/a.py"
    assert here.text(f"{sys.prefix}/lib/x.py") == "{prefix}/lib/x.py"
    assert here.text("/etc/hosts") == "/etc/hosts"
    for path in (str(project / "pack/a.py"), f"{sys.prefix}/lib/x.py", "/etc/hosts"):
        assert here.path(here.text(path)) == path


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here("/")
    monkeypatch.setenv("SCALE", "1")
    monkeypatch.delenv("OTHER", raising=False)
    scale, other = VariableInput.of("SCALE", "1"), VariableInput.of("OTHER", None)
    everything = EnvironmentInput(environment_digest(os.environ))
    assert scale.is_same(here) and other.is_same(here) and everything.is_same(here)
    monkeypatch.setenv("SCALE", "2")
    monkeypatch.setenv("OTHER", "")
    assert [str(v.reason(here)) for v in (scale, other)] == ["SCALE: 1 -> 2", "OTHER: none -> "]
    assert not (scale.is_same(here) or other.is_same(here) or everything.is_same(here))
    assert "environment" in str(everything.reason(here))


@pytest.mark.parametrize("name", ["API_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_secret_is_stored_as_a_digest(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "hunter2")
    found = VariableInput.of(name, "hunter2")
    assert "hunter2" not in repr(found.row()) and found.is_same(Here("/"))
    monkeypatch.setenv(name, "hunter3")
    assert not found.is_same(Here("/"))
    assert "hunter" not in str(found.reason(Here("/")))


def test_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = MachineInput(machine_facts())
    assert found.is_same(Here("/"))
    monkeypatch.setattr(inputs, "_processor_list", lambda: {"flags": "mmx", "model name": "x"})
    assert not found.is_same(Here("/"))
    assert str(found.reason(Here("/"))).endswith(" -> x")
    monkeypatch.undo()
    monkeypatch.setattr(inputs, "_processors", lambda: 1000)
    assert str(found.reason(Here("/"))).endswith("-> 1000")


@pytest.mark.parametrize("name", ["OLYMPUS_ENABLE_X64", "PYTHONOPTIMIZE", "LIBTPU_INIT_ARGS"])
def test_a_common_variable_that_is_set_or_removed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    absent = CommonVariablesInput(common_variables())
    monkeypatch.setenv(name, "1")
    present = CommonVariablesInput(common_variables())
    assert present.is_same(Here("/")) and not absent.is_same(Here("/"))
    assert str(absent.reason(Here("/"))) == f"{name}: none -> 1"
    monkeypatch.delenv(name)
    assert str(present.reason(Here("/"))) == f"{name}: 1 -> none"


def test_the_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SearchPathInput(search_path(Here("/")))
    assert found.is_same(Here("/"))
    monkeypatch.setattr(sys, "path", [*sys.path, "/elsewhere"])
    assert not found.is_same(Here("/"))
    assert str(found.reason(Here("/"))) == "modules in the search path: +/elsewhere"


def test_the_working_directory(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    found = WorkingDirectoryInput(".")
    assert found.is_same(Here(str(project)))
    monkeypatch.chdir(project / "pack")
    assert not found.is_same(Here(str(project)))
    assert str(found.reason(Here(str(project)))) == "working directory: . -> pack"
