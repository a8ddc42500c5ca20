"""`--changed-since`: the targets whose modules, files or values changed since a revision."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from olympus.errors import UsageError
from olympus_cli.builder.selection.changed import changed
from olympus_cli.builder.selection.inputs_of import input_files
from olympus_cli.builder.selection.static_imports import imported_files, module_files
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke

FILES = {
    "olympus.toml": """
        [target.train]
        entry = "nets.train:step"
        args = { x = "f32[2]", p = { from = "init.py:values" } }
        inputs.x = { file = "data/x.npy" }
        matrix.n = [1, 2]
        static.n = "{n}"

        [target.plain]
        entry = "plain.py:f"
        args.x = "f32[2]"
        budget.flops = 100

        [target.file]
        entry = "models/step.mlir"

        [target.unknown]
        entry = "numpy.linalg:norm"
        """,
    "nets/__init__.py": "",
    "nets/train.py": """
        import numpy

        from . import layers
        from ..nets.shared.loss import loss


        def step(x, p, n):
            from late import g
            return x
        """,
    "nets/layers.py": "",
    "nets/shared/loss.py": "import nets.circle\nloss = 1\n",
    "nets/circle.py": "import nets.shared.loss\n",
    "nets/unused.py": "",
    "late.py": "def g(): ...\n",
    "init.py": "def values(): ...\n",
    "plain.py": "def f(x):\n    return x + 1\n",
    "models/step.mlir": "module {}",
    "data/x.npy": "",
    ".gitignore": "build/\n",
}


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *own, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", "--allow-empty")


def selected(folder: Path, since: str = "git:HEAD") -> list[str]:
    project = load_project(folder)
    specs = [spec for spec in project.select() if spec.name != "unknown"]
    return list(dict.fromkeys(s.name.partition("@")[0] for s in changed(specs, project, since)))


def test_the_inputs_are_the_imported_modules_and_the_files(repository: Path) -> None:
    targets = load_project(repository).targets
    files = input_files(targets["train@n=1"])
    assert files is not None
    assert {path.relative_to(repository.resolve()).as_posix() for path in files} == {
        *("nets/__init__.py", "nets/train.py", "nets/layers.py", "nets/shared/loss.py"),
        *("nets/circle.py", "late.py", "init.py", "data/x.npy"),
    }
    assert input_files(targets["file"]) == {repository.resolve() / "models/step.mlir"}
    assert input_files(targets["unknown"]) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nets/layers.py", ["train"]),
        ("nets/circle.py", ["train"]),
        ("nets/__init__.py", ["train"]),
        ("late.py", ["train"]),
        ("data/x.npy", ["train"]),
        ("nets/unused.py", []),
        ("plain.py", ["plain"]),
        ("models/step.mlir", ["file"]),
        ("README.md", []),
    ],
)
def test_a_changed_file_selects_the_targets_that_depend_on_it(
    repository: Path, name: str, expected: list[str]
) -> None:
    assert selected(repository) == []
    with (repository / name).open("a") as file:
        file.write("\n# a comment\n")
    assert selected(repository) == expected
    git(repository, "add", "-A")
    assert selected(repository) == expected
    commit(repository)
    assert selected(repository) == []
    assert selected(repository, "git:HEAD~1") == expected


def test_a_removed_and_a_new_file_count(repository: Path) -> None:
    (repository / "nets/layers.py").rename(repository / "nets/layers2.py")
    (repository / "nets/layers.py").mkdir()
    (repository / "nets/layers.py").rmdir()
    (repository / "nets/layers").mkdir()
    (repository / "nets/layers/__init__.py").write_text("")
    assert selected(repository) == ["train"]


def test_the_table_of_a_target_is_compared_and_not_the_file(repository: Path) -> None:
    toml = repository / "olympus.toml"
    text = toml.read_text()
    toml.write_text("# a comment\n" + text)
    assert selected(repository) == []
    toml.write_text(text.replace("flops = 100", "flops = 200"))
    assert selected(repository) == ["plain"]
    toml.write_text(text.replace("[1, 2]", "[1, 2, 3]"))
    assert selected(repository) == ["train"]
    toml.write_text(text + '[target.new]\nentry = "plain.py:f"\n')
    assert selected(repository) == ["new"]
    toml.write_text(text + "[budget]\nflops = 3\n")
    assert selected(repository) == ["train", "plain", "file"]
    toml.write_text(text + "[defaults]\nrepeats = 'off'\n")
    assert selected(repository) == ["train", "plain", "file"]


def test_an_extended_file_is_compared(repository: Path) -> None:
    base = repository / "base.toml"
    base.write_text("[defaults]\nbackends = ['cpu']\n")
    toml = repository / "olympus.toml"
    toml.write_text("extends = 'base.toml'\n" + toml.read_text())
    commit(repository)
    assert selected(repository) == []
    base.write_text("# a comment\n[defaults]\nbackends = ['cpu']\n")
    assert selected(repository) == []
    base.write_text("[defaults]\nbackends = ['gpu']\n")
    assert selected(repository) == ["train", "plain", "file"]


def test_a_revision_without_a_valid_project_selects_all(repository: Path) -> None:
    toml = repository / "olympus.toml"
    text = toml.read_text()
    toml.write_text("x = ")
    commit(repository)
    toml.write_text(text)
    assert selected(repository) == ["train", "plain", "file"]
    git(repository, "rm", "-q", "-f", "--cached", "olympus.toml")
    git(repository, "commit", "-q", "-m", "y")
    assert selected(repository) == ["train", "plain", "file"]


def test_another_branch_counts_from_where_the_branches_parted(repository: Path) -> None:
    git(repository, "switch", "-q", "-c", "feature")
    (repository / "plain.py").write_text("def f(x):\n    return x + 2\n")
    commit(repository)
    git(repository, "switch", "-q", "main")
    (repository / "late.py").write_text("def g(): return 2\n")
    commit(repository)
    git(repository, "switch", "-q", "feature")
    assert selected(repository, "git:main") == ["plain"]


def test_a_target_with_unknown_inputs_has_changed(repository: Path) -> None:
    project = load_project(repository)
    (spec,) = changed(project.select(["unknown"]), project, "git:HEAD")
    assert spec.name == "unknown"
    (repository / "plain.py").write_text("def f(x:\n")
    commit(repository)
    assert selected(repository) == ["plain"]


@pytest.mark.parametrize(
    ("since", "message", "hint"),
    [
        ("HEAD", "--changed-since 'HEAD' is not git:REV", "write --changed-since git:HEAD"),
        ("git:", "--changed-since 'git:' is not git:REV", "write --changed-since git:main"),
        ("git:none", "the repository .* has no revision 'none'", ""),
        ("git:--help", "the repository .* has no revision '--help'", ""),
    ],
)
def test_a_wrong_revision(repository: Path, since: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        selected(repository, since)
    assert (caught.value.hint or "") == hint


def test_a_project_in_no_repository(folder: Path) -> None:
    (folder / "olympus.toml").write_text('[target.t]\nentry = "m:f"\n')
    with pytest.raises(UsageError, match="is not in a git repository"):
        selected(folder)


def test_gates_select_the_changed_targets(repository: Path, invoke: Invoke) -> None:
    toml = repository / "olympus.toml"
    toml.write_text(toml.read_text().partition("[target.file]")[0])
    commit(repository)
    for command in ("build", "check", "verify", "bench", "list"):
        result = invoke(command, "--changed-since", "git:HEAD", "--json")
        assert (result.exit_code, json.loads(result.stdout)["targets"]) == (0, []), command
        assert "no target changed since git:HEAD" in result.stderr
    (repository / "plain.py").write_text("def f(x):\n    return x + 3\n")
    for command, *options in (
        *(("build",), ("check",), ("verify",), ("list",)),
        ("bench", "--time-limit", "0.05"),
    ):
        result = invoke(command, "--changed-since", "git:HEAD", "--json", *options)
        assert result.exit_code == 0, (command, result.stderr)
        (row,) = json.loads(result.stdout)["targets"]
        assert row["target"] == "plain"
    result = invoke("build", "train", "--changed-since", "git:HEAD")
    assert (result.exit_code, result.stderr) == (0, "no target changed since git:HEAD\n")
    result = invoke("verify", "plain.py:f", "--changed-since", "git:HEAD")
    assert result.exit_code == 2
    assert "--changed-since selects targets, and 'plain.py:f' is an entry" in result.stderr


def test_the_files_that_the_last_trace_read_count(folder: Path, invoke: Invoke) -> None:
    text = "".join(f'[target.{n}]\nentry = "{n}.py:f"\nargs.x = "f32[2]"\n' for n in "ab")
    read = "import importlib, pathlib\nm = importlib.import_module('late')\n"
    read += "text = pathlib.Path('scale.txt').read_text()\ndef f(x):\n    return x * float(text)\n"
    files = {"a.py": read, "b.py": "def f(x):\n    return x\n", "late.py": "", "scale.txt": "2"}
    for name, content in {**files, "olympus.toml": text, ".gitignore": "build/\n"}.items():
        (folder / name).write_text(content)
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    for name, content in (("scale.txt", "3"), ("late.py", "x = 1\n")):
        (folder / name).write_text(content)
        assert selected(folder) == []
        assert invoke("build").exit_code == 0
        assert selected(folder) == ["a"]
        commit(folder)
        assert selected(folder) == []
        for path in (folder / "build").glob(".olympus-index.json"):
            path.unlink()


def test_modules_are_found_in_the_first_folder(folder: Path) -> None:
    for name in ("a/m.py", "b/m.py", "b/p/__init__.py", "b/p/q.py", "b/space/r.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    folders = [folder / "a", folder / "b"]
    found = {
        name: [path.relative_to(folder).as_posix() for path in module_files(name, folders)]
        for name in ("m", "p.q", "p.none", "space.r", "space", "none")
    }
    assert found == {
        "m": ["a/m.py"],
        "p.q": ["b/p/__init__.py", "b/p/q.py"],
        "p.none": ["b/p/__init__.py"],
        "space.r": ["b/space/r.py"],
        "space": [],
        "none": [],
    }
    assert imported_files([folder / "none.py"], folders) is None
