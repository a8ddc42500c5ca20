"""Every layout of a project, and way to find its modules, imports the files of the revision."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.diff.project import git
from tests.day import by_day

TOML = """\
[target.a]
entry = "pk.net:forward"
args = ["f32[8]"]
"""

NET = """\
import olympus.numpy as np
from pk.depth import DEPTH


def forward(x):
    for _ in range(DEPTH):
        x = np.tanh(x)
    return x
"""

# As setuptools writes it, shortened.
FINDER = """\
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path

MAPPING = {mapping!r}
NAMESPACES = {namespaces!r}
PLACEHOLDER = "__editable__.pk.finder.__path_hook__"


class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            for file in (Path(MAPPING[name], "__init__.py"), Path(MAPPING[name] + ".py")):
                if file.exists():
                    return spec_from_file_location(name, file)
        parent, _, _ = name.rpartition(".")
        return PathFinder.find_spec(name, path=[MAPPING[parent]]) if parent in MAPPING else None


class _EditableNamespaceFinder:
    @classmethod
    def _path_hook(cls, path):
        if path == PLACEHOLDER:
            return cls
        raise ImportError

    @classmethod
    def find_spec(cls, name, target=None):
        if name not in NAMESPACES:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [*NAMESPACES[name], PLACEHOLDER]
        return spec


def install():
    sys.meta_path.append(_EditableFinder)
    sys.path_hooks.append(_EditableNamespaceFinder._path_hook)
    sys.path.append(PLACEHOLDER)
"""

Environment = dict[str, str]
Way = Callable[[Path, Path], Environment]


def _package(work: Path, folder: str, *, namespace: bool = False) -> None:
    """Write the package in a folder of the repository, and the project's file."""
    place = work / folder / "pk"
    place.mkdir(parents=True)
    if not namespace:
        (place / "__init__.py").write_text("")
    (place / "net.py").write_text(NET)
    (place / "depth.py").write_text("DEPTH = 1\n")
    (work / "olympus.toml").write_text(TOML)


def _site(site: Path) -> Environment:
    """An environment with `site` as the site-packages of an installation."""
    start = site / "start"
    start.mkdir(parents=True)
    (start / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(site)!r})\n")
    return {"PYTHONPATH": str(start)}


def _finder(site: Path, mapping: dict[str, str], namespaces: dict[str, list[str]]) -> Environment:
    environment = _site(site)
    text = FINDER.format(mapping=mapping, namespaces=namespaces)
    (site / "__editable___pk_finder.py").write_text(text)
    line = "import __editable___pk_finder; __editable___pk_finder.install()\n"
    (site / "__editable__.pk.pth").write_text(line)
    return environment


def _flat(work: Path, _site: Path) -> Environment:
    _package(work, ".")
    return {}


def _relative(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    return {"PYTHONPATH": "src"}


def _absolute(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    return {"PYTHONPATH": f"{work}/src"}


def _through_a_link(work: Path, site: Path) -> Environment:
    _package(work, "src")
    site.symlink_to(work)
    return {"PYTHONPATH": f"{site}/src"}


def _through_a_link_to_the_package(work: Path, site: Path) -> Environment:
    _package(work, "src")
    site.mkdir()
    (site / "pk").symlink_to(work / "src" / "pk")
    return {"PYTHONPATH": str(site)}


def _under_two_names(work: Path, site: Path) -> Environment:
    _package(work, "src")
    site.symlink_to(work)
    return {"PYTHONPATH": f"{site}/src{os.pathsep}{work}/src{os.pathsep}{site}/src/../src"}


def _through_an_ignored_link(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    (work / ".gitignore").write_text("lib\n")
    (work / "lib").symlink_to("src")
    return {"PYTHONPATH": f"{work}/lib"}


def _tracked_link(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    (work / "lib").symlink_to(work / "src")
    text = '[project]\npython-path = ["lib"]\n'
    (work / "olympus.toml").write_text(text + TOML)
    return {}


def _tracked_link_to_a_file(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    (work / "src" / "pk").rename(work / "files")
    (work / "pk").mkdir()
    for name in ("net.py", "depth.py"):
        (work / "pk" / name).symlink_to(work / "files" / name)
    return {}


def _absolute_python_path(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    (work / "olympus.toml").write_text(f'[project]\npython-path = ["{work}/src"]\n' + TOML)
    return {}


def _absolute_entry(work: Path, _site: Path) -> Environment:
    _package(work, "src")
    text = TOML.replace("pk.net:", f"{work}/src/pk/net.py:")
    (work / "olympus.toml").write_text(text)
    return {"PYTHONPATH": "src"}


def _pth(work: Path, site: Path) -> Environment:
    _package(work, "src")
    environment = _site(site)
    (site / "__editable__.pk.pth").write_text(f"{work}/src\n")
    return environment


def _mapping(work: Path, site: Path) -> Environment:
    _package(work, "src")
    return _finder(site, {"pk": f"{work}/src/pk"}, {})


def _namespace(work: Path, site: Path) -> Environment:
    _package(work, "src", namespace=True)
    mapping = {f"pk.{name}": f"{work}/src/pk/{name}" for name in ("net", "depth")}
    return _finder(site, mapping, {"pk": [f"{work}/src/pk"]})


def _namespace_of_two_folders(work: Path, _site: Path) -> Environment:
    _package(work, "one", namespace=True)
    (work / "two" / "pk").mkdir(parents=True)
    (work / "one" / "pk" / "depth.py").rename(work / "two" / "pk" / "depth.py")
    return {"PYTHONPATH": f"one{os.pathsep}{work}/two"}


def _imported_at_the_start(work: Path, site: Path) -> Environment:
    _package(work, "src")
    environment = _site(site)
    (site / "pk.pth").write_text(f"{work}/src\nimport pk.depth\n")
    return environment


WAYS = [
    *(_through_a_link_to_the_package, _under_two_names, _through_an_ignored_link),
    *(_flat, _relative, _absolute, _through_a_link, _tracked_link, _tracked_link_to_a_file),
    *(_absolute_python_path, _absolute_entry, _pth, _mapping, _namespace),
    *(_namespace_of_two_folders, _imported_at_the_start),
]


def _olympus(work: Path, environment: Environment, *arguments: str) -> tuple[int, str, str]:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "olympus_cli", *arguments],
        cwd=work,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _committed(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "one")


def _deeper(work: Path) -> None:
    """Change the depth, in the file that has it."""
    (path,) = {file.resolve() for file in work.rglob("depth.py")}
    path.write_text("DEPTH = 30\n")


#: Ways of which another one has each part: it runs by day.
REPEATED = (_flat, _absolute, _through_a_link, _absolute_python_path)


@pytest.mark.parametrize(
    "way",
    by_day(WAYS, [way for way in WAYS if way not in REPEATED]),
    ids=lambda way: way.__name__.strip("_"),
)
def test_the_revision_has_its_own_files(folder: Path, way: Way) -> None:
    work = folder / "work"
    work.mkdir()
    environment = way(work, folder / "site")
    _committed(work)
    _deeper(work)
    code, out, err = _olympus(work, environment, "diff", "git:HEAD")
    assert (code, err) == (1, "")
    assert re.search(r"\n  operations +1 -> 30", out)


def test_a_bench_of_the_revision_has_its_own_files(folder: Path) -> None:
    environment = _mapping(folder, folder.parent / f"{folder.name}-site")
    _committed(folder)
    _deeper(folder)
    effort = ("--rounds", "1", "--time-limit", "0.2", "--json")
    code, out, err = _olympus(folder, environment, "bench", "a", "--baseline", "git:HEAD", *effort)
    assert code in (0, 1), err
    assert "the program is not the same: olympus diff shows how it changed" in out
    assert json.loads(out)


def test_packages_of_an_environment_in_the_project_are_not_changed(folder: Path) -> None:
    _package(folder, "src")
    packages = folder / "env" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "other.py").write_text("ONE = 1.0\n")
    (folder / "generated").mkdir()
    (folder / "generated" / "more.py").write_text("TWO = 2.0\n")
    (folder / ".gitignore").write_text("generated/\n")
    net = folder / "src" / "pk" / "net.py"
    net.write_text(f"import other, more\n{NET}")
    git(folder, "init", "-q")
    git(folder, "add", "src", "olympus.toml", ".gitignore")
    git(folder, "commit", "-qm", "one")
    _deeper(folder)
    environment = {"PYTHONPATH": os.pathsep.join(("src", str(packages), "generated"))}
    code, out, err = _olympus(folder, environment, "diff", "git:HEAD")
    assert (code, err) == (1, "")
    assert re.search(r"\n  operations +1 -> 30", out)


def test_a_module_that_the_revision_lacks_is_an_error(folder: Path) -> None:
    environment = _mapping(folder, folder.parent / f"{folder.name}-site")
    (folder / "src" / "pk" / "depth.py").unlink()
    _committed(folder)
    (folder / "src" / "pk" / "depth.py").write_text("DEPTH = 30\n")
    code, out, err = _olympus(folder, environment, "diff", "git:HEAD")
    assert (code, out) == (2, "")
    assert "revision 'HEAD' cannot be compared: HEAD:olympus.toml:2: target.a.entry: pk.net" in err
    assert "pk.net raises ModuleNotFoundError" in err


@pytest.mark.parametrize("when", ["imported", "called"])
def test_a_module_of_the_working_tree_is_an_error(folder: Path, when: str) -> None:
    _package(folder, "src")
    load = (
        "import importlib.util as u, sys\n"
        f"s = u.spec_from_file_location('depth', {str(folder / 'src/pk/depth.py')!r})\n"
        "m = u.module_from_spec(s)\nsys.modules['depth'] = m\ns.loader.exec_module(m)\n"
    )
    text = f"{load}\n\ndef forward(x):\n    return x * m.DEPTH\n"
    if when == "called":
        body = "".join(f"    {line}\n" for line in load.splitlines())
        text = f"def forward(x):\n{body}    return x * m.DEPTH\n"
    (folder / "src" / "pk" / "net.py").write_text(text)
    _committed(folder)
    _deeper(folder)
    for command in (("diff", "git:HEAD"), ("bench", "a", "--baseline", "git:HEAD")):
        code, out, err = _olympus(folder, {"PYTHONPATH": "src"}, *command)
        assert (code, out) == (2, ""), err
        assert "revision 'HEAD' cannot be compared: module 'depth' of the project" in err
        assert "src/pk/depth.py" in err


def test_an_installed_copy_is_an_error(folder: Path) -> None:
    _package(folder, "src")
    _committed(folder)
    site = folder.parent / f"{folder.name}-site"
    environment = _site(site)
    (folder / "src" / "pk").rename(site / "pk")
    git(folder, "checkout", "-q", ".")
    info = site / "pk-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pk\nVersion: 1\n")
    files = ("__init__.py", "net.py", "depth.py")
    (info / "RECORD").write_text("".join(f"pk/{name},,\n" for name in files))
    origin = {"url": folder.as_uri(), "dir_info": {}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    code, out, err = _olympus(folder, environment, "diff", "git:HEAD")
    assert (code, out) == (2, "")
    assert "module 'pk' of the project is imported from" in err
    assert "pip install -e" in err


@pytest.mark.parametrize("layout", ["src", "."])
def test_a_copy_outside_the_repository_is_an_error(folder: Path, layout: str) -> None:
    work, copy = folder / "work", folder / "copy"
    (work / "app").mkdir(parents=True)
    _package(work, layout)
    (work / "olympus.toml").rename(work / "app" / "olympus.toml")
    _committed(work)
    shutil.copytree(work / layout / "pk", copy / "pk")
    _deeper(work)
    effort = ("--rounds", "1", "--time-limit", "0.2")
    for command in (("diff", "git:HEAD"), ("bench", "a", "--baseline", "git:HEAD", *effort)):
        code, out, err = _olympus(work / "app", {"PYTHONPATH": str(copy)}, *command)
        assert (code, out) == (2, ""), err
        assert f"module 'pk' of the project is imported from {copy}/pk/__init__.py" in err
        assert f"PYTHONPATH={work / layout} imports it from the repository" in err


def test_an_entry_outside_the_repository_is_imported(folder: Path) -> None:
    work, copy = folder / "work", folder / "copy"
    work.mkdir()
    _package(work, "src")
    copy.mkdir()
    (work / "src" / "pk").rename(copy / "pk")
    _committed(work)
    code, out, err = _olympus(work, {"PYTHONPATH": str(copy)}, "diff", "git:HEAD")
    assert (code, out, err) == (0, "", "")


@pytest.mark.parametrize("name", ["work", b"w\xf6rk"])
def test_lines_of_a_library_beside_the_project(folder: Path, name: str | bytes) -> None:
    work = folder / os.fsdecode(name)
    (work / "app").mkdir(parents=True)
    _package(work, "lib")
    (work / "olympus.toml").unlink()
    (work / "app" / "olympus.toml").write_text(TOML.replace("pk.net", "app"))
    app = "import pk.net\n\n\ndef forward(x):\n    y = x * 2.0\n    return pk.net.forward(y)\n"
    (work / "app" / "app.py").write_text(app)
    _committed(work)
    _deeper(work)
    net = work / "lib" / "pk" / "net.py"
    net.write_text("# A comment.\n" + net.read_text())
    (work / "app" / "app.py").write_text(app.replace("2.0", "2.0 + x"))
    environment = {"PYTHONPATH": "../lib", "PYTHONUTF8": "1"}
    code, out, err = _olympus(work / "app", environment, "diff", "git:HEAD", "a", "--json")
    assert (code, err) == (1, "")
    assert "olympus-diff-" not in out
    comparison = json.loads(out)
    library = f"{os.fsencode(work).decode('utf-8', 'backslashreplace')}/lib/pk/net.py"
    lines = {
        (change["before"]["line"], change["after"]["line"], change["text"])
        for change in comparison["lines"]
    }
    assert ("app.py:5", "app.py:5", "y = x * 2.0 + x") in lines
    assert {(old_line, new_line) for old_line, new_line, _ in lines} == {
        ("app.py:5", "app.py:5"),
        (f"{library}:7", f"{library}:8"),
    }
    files = {spot["file"] for change in comparison["changes"] for spot in _spots(change)}
    assert files == {"app.py", library}


def _spots(change: dict[str, Any]) -> list[dict[str, Any]]:
    return [change[key] for key in ("before", "after") if change[key] is not None]


@pytest.mark.parametrize("target", ["work", "copy"])
def test_a_file_that_imports_a_copy_outside_the_repository_is_an_error(
    folder: Path, target: str
) -> None:
    work, copy = folder / "work", folder / "copy"
    work.mkdir()
    _package(work, "src")
    app = work / "app.py"
    app.write_text("import pk.net\n\n\ndef forward(x):\n    return pk.net.forward(x)\n")
    (work / "olympus.toml").write_text(TOML.replace("pk.net:", "./app.py:"))
    _committed(work)
    shutil.copytree(work / "src" / "pk", copy / "pk")
    _deeper(work)
    place = copy if target == "copy" else work / "src"
    effort = ("--rounds", "1", "--time-limit", "0.2")
    for command in (("diff", "git:HEAD"), ("bench", "a", "--baseline", "git:HEAD", *effort)):
        code, out, err = _olympus(work, {"PYTHONPATH": str(place)}, *command)
        if target == "work":
            assert code in (0, 1), err
            continue
        assert (code, out) == (2, ""), err
        assert f"module 'pk' of the project is imported from {copy}/pk/__init__.py" in err
        assert "PYTHONPATH=src imports it from the repository" in err
