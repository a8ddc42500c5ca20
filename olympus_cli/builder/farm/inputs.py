"""The states of what a trace read on a worker, compared with their states on this machine.

A target whose files differ on a worker was built from other sources than those of the caller.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from olympus_cli.builder.freshness.inputs import file_digest
from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.faults.blame import is_python

_INSTALLED = re.compile(r".*/(?:site|dist)-packages/")


class States(NamedTuple):
    """The digests of files by path, and one digest of everything else that was read."""

    files: dict[str, str]
    others: str


def states_of(reads: Reads) -> States:
    """Return the present states of what a trace read, on the machine that calls this.

    Folders, links and statuses are not included: `reads` has their states on the worker.

    >>> states_of(reads).files["/home/me/model.py"][:8]
    'e3b0c442'
    """
    paths = [path for path in reads.files if not is_python(path)]
    installed = [path for path in paths if _INSTALLED.match(path)]
    own = sorted(set(paths) - set(installed))
    others = [
        *(f"{path} {file_digest(path)}" for path in sorted(installed)),
        *(f"{path} {file_digest(path)}" for path in reads.missing),
        *(f"{name} {os.environ.get(name)!r}" for name in reads.variables),
        os.getcwd() if reads.working_directory else "",
        repr(sorted(os.environ.items())) if reads.whole_environment else "",
    ]
    digest = hashlib.sha256("\n".join(others).encode(errors="surrogateescape")).hexdigest()
    return States({path: file_digest(path) or "missing" for path in own}, digest)


def differing(ours: States, theirs: States, folders: Iterable[Path]) -> list[str]:
    """Return the files below `folders` whose contents differ between two machines."""
    roots = tuple(f"{folder}{os.sep}" for folder in folders)
    return [
        path
        for path, digest in theirs.files.items()
        if path.startswith(roots) and ours.files.get(path) != digest
    ]
