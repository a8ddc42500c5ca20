"""The provenance of a bundle: its inputs, versions and options, as a statement of SLSA.

The form is version 1 of the predicate "provenance" in a statement of in-toto
(https://slsa.dev/spec/v1.0/provenance). It has no times and no absolute paths, so that two builds
of one revision have equal statements.
"""

from __future__ import annotations

import hashlib
import json
import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from olympus import artifact
from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.program.versions import tool_versions
from olympus_cli.revisions.git import run_git
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec
from olympus_cli.text.units import array_type

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:olympus:build:v1"
BUILDER = "urn:olympus:builder"

#: Variables that change a compilation.
_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def provenance(spec: TargetSpec, bundle: Path, reads: Reads) -> str:
    """Return the provenance of the bundle of a target as JSON; `reads` are those of its trace."""
    manifest = artifact.load(bundle, native=False).manifest
    document = {
        "_type": STATEMENT,
        "subject": [{"name": bundle.name, "digest": {"sha256": _sha256(bundle)}}],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": _parameters(spec, manifest),
                "internalParameters": {
                    "optimize": spec.optimize,
                    "repeats": spec.repeats,
                    "compilerOptions": dict(spec.compiler_options),
                    "environment": {k: os.environ[k] for k in _VARIABLES if k in os.environ},
                },
                "resolvedDependencies": [*_revision(spec.root), *_inputs(spec, reads)],
            },
            "runDetails": {
                "builder": {
                    "id": BUILDER,
                    "version": {**manifest.versions, **tool_versions()},
                },
                "metadata": {},
            },
        },
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parameters(spec: TargetSpec, manifest: artifact.Manifest) -> dict[str, Any]:
    """Return what the user requested."""
    return {
        "target": spec.name,
        "entry": spec.entry,
        "arguments": {
            x.name: array_type(x.dtype_name, x.shape) for x in manifest.signature.arguments
        },
        "static": dict(manifest.signature.static),
        "backends": [backend_text(backend) for backend in spec.backends],
    }


def _revision(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the commit of the project's repository, and whether files differ from it."""
    try:
        commit = run_git(root, "rev-parse", "HEAD", time_limit=30)
        changes = run_git(root, "status", "--porcelain", "--", ".", time_limit=30)
    except OSError:  # git is not installed
        return
    if commit.returncode == 0:
        yield {
            "uri": "git:.",
            "digest": {"gitCommit": commit.stdout.strip()},
            "annotations": {"hasChanges": bool(changes.stdout.strip())},
        }


def _inputs(spec: TargetSpec, reads: Reads) -> Iterator[dict[str, Any]]:
    """Yield the files that the trace read, by digest, and the packages that it imported.

    The project's file is one of them.
    """
    packages: set[str] = set()
    roots = [spec.root, *spec.python_path]
    own = () if spec.table is None else (os.path.realpath(spec.table.file),)
    for path in sorted({*reads.files, *own}):
        relative = _relative(path, roots)
        if relative is not None and os.path.isfile(path):
            yield {"uri": f"file:{relative}", "digest": {"sha256": _sha256(Path(path))}}
        elif relative is None:
            packages.update(_package(path))
    for package in sorted(packages):
        yield {"uri": f"pkg:pypi/{package}@{version(package)}"}


def _relative(path: str, roots: list[Path]) -> str | None:
    """Return the path relative to the first of `roots` that it is in; None outside of all.

    A folder of installed packages may be in a root.
    """
    if any(path.startswith(folder) for folder in _package_folders()):
        return None
    for root in roots:
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return None


@cache
def _package_folders() -> tuple[str, ...]:
    """Return the folders of installed packages and of the standard library."""
    paths = sysconfig.get_paths()
    found = {paths["purelib"], paths["platlib"], paths["stdlib"], *site.getsitepackages()}
    return tuple(os.path.join(os.path.realpath(x), "") for x in (*found, *sys.path[-1:]) if x)


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _package(path: str) -> list[str]:
    """Return the installed packages that a file belongs to, by its first folder."""
    for folder in _package_folders():
        if path.startswith(folder):
            top = path[len(folder) :].split(os.sep)[0].removesuffix(".py")
            return _distributions().get(top, [])
    return []
