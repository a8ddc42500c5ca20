"""The source files of a project that a target's program imports, without running it.

The import statements of the entry's module are followed as far as they lead to files in the
project's folder and in `python-path`. Imports by `importlib` and files of data are not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from olympus.files import read_regular

_MAX_BYTES = 2**24  # of a source file


@cache
def _imported_names(path: Path) -> tuple[tuple[int, str], ...] | None:
    """Return the level and the dotted name of each import in a file; None if it is not Python."""
    try:
        tree = ast.parse(read_regular(path, _MAX_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(dict.fromkeys(_imports(tree)))


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            names = (alias.name for alias in node.names)  # a name may be a module
            yield from ((node.level, f"{base}.{name}".strip(".")) for name in names)


def module_files(name: str, folders: Sequence[Path]) -> list[Path]:
    """Return the files of a module in the first of the folders that has it, with its packages.

    Example: `module_files("nets.model", [root])` is `[root/nets/__init__.py, root/nets/model.py]`.
    """
    parts = name.split(".")
    for folder in folders:
        files, place = [], folder
        for part in parts:
            place = place / part
            module, package = place.with_name(f"{part}.py"), place / "__init__.py"
            if package.is_file():
                files.append(package)
            elif module.is_file():
                files.append(module)
                break
            elif not place.is_dir():
                break
        if files:
            return files
    return []


def imported_files(files: Sequence[Path], folders: Sequence[Path]) -> frozenset[Path] | None:
    """Return `files` and the files that they import, directly or through others.

    `folders` are searched for modules. The result is None if a file cannot be read.
    """
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        names = _imported_names(path)
        if names is None:
            return None
        for level, name in names:
            waiting += _targets_of(path, level, name, folders)
    return frozenset(found)


def _targets_of(path: Path, level: int, name: str, folders: Sequence[Path]) -> list[Path]:
    if level == 0:
        return module_files(name, folders) if name else []
    package = path.parent
    for _ in range(level - 1):
        package = package.parent
    own = [package / "__init__.py"] if (package / "__init__.py").is_file() else []
    return [*own, *(module_files(name, [package]) if name else [])]
