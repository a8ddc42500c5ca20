"""The folders of the tests mirror those of the packages."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
#: Folders of tests whose subject is more than one folder of a package.
SUBJECTS = {
    "benchmarks",  # the package `benchmarks`
    "cli",
    "cli/mesh",  # the command line with targets of several devices
    "devices",  # programs of several devices
    "documents",  # README.md, docs/ and the site
    "examples",
    "fuzz",  # drawn files, programs and bundles
    "structure",  # the layers, names and text of all files, and CI
    "typing",  # the annotations of the public names
}
#: Folders that only have files for tests.
DATA = {
    "artifact/released",
    "cli/frontends/damaged",
    "examples/ported",
    "golden",
    "golden/primitives",
}
#: The folder of mistakes, whose folders have the subject of the mistake.
MISTAKES = "mistakes"


def folders(root: Path) -> set[str]:
    """Return the folders below `root` that contain a file, as paths relative to it."""
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    parents = {
        parent for path in files if "__pycache__" not in path.parts for parent in path.parents
    }
    return {parent.as_posix() for parent in parents if parent != Path()}


def mirrored(folder: str) -> Path:
    """Return the folder of a package that a folder of tests mirrors."""
    if folder.startswith("cli/"):
        return ROOT / "olympus_cli" / folder.removeprefix("cli/")
    if folder == "runtime":
        return ROOT / "olympus_runtime"
    return ROOT / "olympus_core" / folder


CHECKED = {
    folder for folder in folders(TESTS) - SUBJECTS - DATA if folder.partition("/")[0] != MISTAKES
}


@pytest.mark.parametrize("folder", sorted(CHECKED))
def test_a_folder_of_tests_has_a_folder_of_a_package(folder: str) -> None:
    assert mirrored(folder).is_dir(), f"tests/{folder} mirrors no folder of a package"


def test_the_listed_folders_exist() -> None:
    assert folders(TESTS) >= {*SUBJECTS, *DATA, MISTAKES}


def test_tests_are_in_a_folder() -> None:
    assert [
        path.name for folder in (TESTS, TESTS / "cli") for path in folder.glob("test_*.py")
    ] == []
