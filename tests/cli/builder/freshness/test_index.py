"""The index is only a cache: lost, damaged or of another version, it is ignored."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from olympus_cli.builder.freshness.index import INDEX, Entry, Index, Output, Selection
from olympus_cli.builder.freshness.inputs import FileInput, VariableInput, file_digest, status_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "build/f").mkdir(parents=True)
    for name in ("a.py", "build/f/report.json"):
        (tmp_path / name).write_text("1")
        os.utime(tmp_path / name, (1, 1))
    return tmp_path


def opened(project: Path) -> Index:
    return Index.load(str(project / "build"), str(project))


def written(project: Path) -> Index:
    index = opened(project)
    path = str(project / "a.py")
    inputs = [FileInput("a.py", status_of(path), file_digest(path)), VariableInput("NONE", None)]
    report = str(project / "build/f/report.json")
    outputs = [Output("report.json", None, file_digest(report) or "")]
    entry = Entry("s", ["cpu"], "f", [index.list_of(inputs)], [], outputs, ["careful"])
    index.entries["f"] = entry
    index.requests["all"] = Selection(index.list_of(inputs[:1]), {"f": ("s", ["cpu"])})
    index.save()
    return index


def test_an_index_is_read_as_it_was_written(project: Path) -> None:
    written(project)
    index = opened(project)
    entry = index.fresh("f", "s", ["cpu"])
    assert entry is not None and entry.warnings == ["careful"]
    assert index.unchanged(entry) == "1 file, 1 variable"
    assert index.requests["all"].targets == {"f": ["s", ["cpu"]]}
    assert index.inputs_of("f") == {str(project / "a.py")}
    assert index.fresh("f", "other", ["cpu"]) is None and index.fresh("g", "s", []) is None
    assert index.fresh("f", "s", ["cpu", "gpu"]) is None


def test_reasons_name_inputs_settings_and_outputs(project: Path) -> None:
    written(project)
    assert opened(project).reasons("f", "s", ["cpu"]) == []
    (project / "a.py").write_text("22")
    (project / "build/f/report.json").write_text("{}")
    texts = [str(reason) for reason in opened(project).reasons("f", "t", ["cpu"])]
    assert texts == [
        "its settings changed",
        "a.py changed",
        "report.json is missing or has been changed",
    ]
    (missing,) = opened(project).reasons("g", "s", ["cpu"])
    assert str(missing) == "the inputs of its last trace are not recorded"


def test_a_source_without_a_state_is_never_fresh(project: Path) -> None:
    index = written(project)
    index.entries["f"] = index.entries["f"]._replace(always=[["the clock", "a.py:3"]])
    index.save()
    assert opened(project).fresh("f", "s", ["cpu"]) is None
    (reason,) = opened(project).reasons("f", "s", ["cpu"])
    assert str(reason) == "a.py:3: reads the clock, so that it is traced at every build"


@pytest.mark.parametrize("change", ["removed", "changed", "link"])
def test_a_changed_output_is_not_fresh(change: str, project: Path) -> None:
    written(project)
    path = project / "build/f/report.json"
    path.unlink()
    if change == "changed":
        path.write_text("2")
    elif change == "link":
        (project / "other").write_text("1")
        path.symlink_to(project / "other")
    assert opened(project).fresh("f", "s", ["cpu"]) is None


def test_a_moved_project_is_fresh(project: Path) -> None:
    written(project)
    moved = project.with_name("moved")
    project.rename(moved)
    assert opened(moved).fresh("f", "s", ["cpu"]) is not None


def test_an_index_of_another_project_is_ignored(project: Path) -> None:
    written(project)
    other = project / "other"
    other.mkdir()
    assert Index.load(str(project / "build"), str(other)).entries == {}


def test_unused_inputs_are_removed(project: Path) -> None:
    index = written(project)
    size = (project / "build" / INDEX).stat().st_size
    for number in range(20):
        index.entries["f"] = index.entries["f"]._replace(
            lists=[index.list_of([FileInput(f"{number}.py", None, None)])]
        )
        index.save()
    assert (project / "build" / INDEX).stat().st_size < 2 * size
    assert index.inputs_of("f") == {str(project / "19.py")}


def test_equal_lists_are_written_once(project: Path) -> None:
    index = written(project)
    inputs = [FileInput(f"{n}.py", None, None) for n in range(5)]
    assert index.list_of(inputs) == index.list_of(reversed(inputs))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("targets", "f", "always"), [["x"]]),
        (("targets", "f", "labels"), [1]),
        (("targets", "f", "outputs"), [["a", [1], "b"]]),
        (("targets", "f", "lists"), [7]),
        (("inputs", 0), ["file", 5, None, "x"]),
        (("inputs", 0), ["folder", ".", None, [3]]),
        (("inputs", 0), ["nothing", 5]),
        (("inputs", 0), ["file", "a.py", ["1"], "x"]),
        (("lists", 0), [99]),
    ],
)
def test_a_value_of_another_type_is_damage(
    place: tuple[str | int, ...], value: object, project: Path
) -> None:
    written(project)
    path = project / "build" / INDEX
    document = part = json.loads(path.read_text())
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    path.write_text(json.dumps(document))
    assert opened(project).entries == {}


CONTENTS = [
    *("", "null", "[]", "{}", '{"schema_version": 1}', '{"schema_version": 999}', "[" * 100_000),
    *(
        '{"schema_version": 1, "project": "..", "inputs": 5}',
        "\ud800".encode("utf-8", "surrogatepass"),
    ),
]


@pytest.mark.parametrize("content", CONTENTS)
def test_a_damaged_index_is_ignored(content: str | bytes, project: Path) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (project / "build" / INDEX).write_bytes(data)
    assert opened(project).entries == {}


def test_an_index_with_a_damaged_byte_is_never_an_error(project: Path) -> None:
    written(project)
    path = project / "build" / INDEX
    good = path.read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        place = draw.randrange(len(good))
        path.write_bytes(good[:place] + bytes([draw.randrange(256)]) + good[place + 1 :])
        index = opened(project)
        index.fresh("f", "s", ["cpu"])
        index.save()


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "truncated"])
def test_something_else_in_the_place_of_the_index(kind: str, project: Path) -> None:
    written(project)
    path = project / "build" / INDEX
    good = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (project / "elsewhere").write_bytes(good)
        path.symlink_to(project / "elsewhere")
    else:
        path.write_bytes(good[: len(good) // 2])
    assert opened(project).entries == {}


def test_a_failed_write_leaves_the_last_index(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = written(project)
    before = (project / "build" / INDEX).read_text()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    index.entries["g"] = index.entries["f"]
    index.save()
    assert (project / "build" / INDEX).read_text() == before
    assert sorted(path.name for path in (project / "build").iterdir()) == [INDEX, "f"]
    assert json.loads(before)["targets"].keys() == {"f"}
