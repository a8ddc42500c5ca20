"""A build in which one call of the system fails, in any of its processes; then builds without.

`run` does this in a process that forks its workers, as the command does. A call counts if its file
is in the project's folder; the count is shared by all processes of the build.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import mmap
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: The functions of `os` that fail, and the place of the path or the descriptor in their arguments.
CALLS = ("open", "fsync", "rename", "replace", "mkdir", "link", "unlink", "rmdir", "symlink")
PROGRAM = "import olympus.numpy as np\n\n\ndef f(x):\n    return np.sin(x) * {factor}\n"
TOML = '[target.f]\nentry = "program:f"\nargs = ["f32[3]"]\n'


class Faults:
    """Replaces functions of `os` and `open`: call `number` in the folder fails with `error`."""

    def __init__(self, folder: Path, error: int) -> None:
        self._folder, self._error = os.path.realpath(folder), error
        self._shared = mmap.mmap(-1, 16)  # the number of calls, and the one that fails
        self._originals: list[tuple[Any, str, Any]] = []

    def start(self, number: int) -> None:
        """Let the call `number` fail from now on, in this process and in the ones that it forks."""
        self._shared[:] = struct.pack("qq", 0, number)
        places = [(os, name) for name in CALLS] + [(builtins, "open"), (io, "open")]
        for module, name in places:
            usual = getattr(module, name)
            self._originals.append((module, name, usual))
            setattr(module, name, self._counted(usual))

    def stop(self) -> int:
        """Put the functions back; return the number of calls."""
        while self._originals:
            setattr(*self._originals.pop())
        count: int = struct.unpack("qq", self._shared[:])[0]
        return count

    def _counted(self, usual: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *args: Any, **options: Any) -> Any:
            if self._is_inside(first) and self._is_next():
                raise OSError(self._error, os.strerror(self._error), str(first))
            return usual(first, *args, **options)

        return call

    def _is_inside(self, first: Any) -> bool:
        if isinstance(first, int):
            try:
                first = os.readlink(f"/proc/self/fd/{first}")
            except OSError:
                return False
        return os.path.abspath(os.fsdecode(first)).startswith(self._folder)

    def _is_next(self) -> bool:
        count, fails = struct.unpack("qq", self._shared[:])
        self._shared[:] = struct.pack("qq", count + 1, fails)  # workers of one target take turns
        return count + 1 == fails


def run(folder: str, error: int, step: int) -> None:
    """Let every `step`-th call of a build fail in turn, and check the builds that follow."""
    from olympus_cli.process import own_process

    own_process.claim()
    project = Path(folder).resolve() / "project"
    project.mkdir()
    (project / "olympus.toml").write_text(TOML)
    faults = Faults(project / "build", error)
    _write(project, 0)
    assert _build(project)[0].status == "built"
    number, ended = 1, False
    while not ended:
        _write(project, number)
        good = (project / "build/f/program.stablehlo.mlir").read_bytes()
        faults.start(number)
        try:
            (outcome,) = _build(project)
            status = outcome.status
        except Exception as error_of_build:
            status = f"{type(error_of_build).__name__}"
        ended = faults.stop() < number
        _check(project, number, status, good)
        number += step
    sys.stdout.write(json.dumps({"calls": number - step}))


def _write(project: Path, factor: int) -> None:
    (project / "program.py").write_text(PROGRAM.format(factor=float(factor)))


def _build(project: Path, *, frozen: bool = False) -> list[Any]:
    from olympus_cli.builder.driver import Selected, build
    from olympus_cli.builder.plan import Options
    from olympus_cli.spec.resolve import open_project

    opened = open_project(project)
    specs = {spec.name: spec for spec in opened.select(())}
    selected = Selected("all", opened.root, opened.files, opened.targets.keys())
    options = Options(frozen=frozen, use=None)
    return build(specs, opened.build_dir, options, selected=None if frozen else selected)


def _check(project: Path, number: int, status: str, good: bytes) -> None:
    """Check that outputs are whole after the fault, and right and alone after the next build."""
    listed = json.loads((project / "build/f/olympus-build.json").read_text())["files"]
    for file in listed:
        content = (project / "build/f" / file["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"], f"call {number}: {file}"
    program = (project / "build/f/program.stablehlo.mlir").read_bytes()
    # a build that fails after the swap, when it flushes the folder, has its new outputs in place
    assert program != good or status != "built", f"call {number}: {status}"
    assert status in ("built", "failed", "fresh", "UsageError"), f"call {number}: {status}"
    (outcome,) = _build(project)
    assert outcome.status in ("built", "fresh"), f"call {number}: {outcome}"
    (truth,) = _build(project, frozen=True)
    assert truth.status == "fresh", f"call {number}: {truth.reason}"
    names = sorted(path.name for path in (project / "build").iterdir())
    assert names == [".olympus-index.json", "f"], f"call {number}: {names}"


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
