"""Exported C sources for tests: a program's bundle, its folder, its compilation and a run."""

from __future__ import annotations

import atexit
import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import artifact
from olympus_cli.export import c
from olympus_cli.export.options import ExportOptions

#: The flags that the sources are free of warnings with, in C11 and without extensions.
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def save_bundle(
    path: Path, function: Callable[..., Any], *structs: Any, linalg: Any = "auto", **jit: Any
) -> Path:
    """Write the bundle of a function, whose name is that of the file."""
    traced = olympus.jit(function, **jit).trace(*structs)
    lowered = traced.lower(linalg=linalg)
    artifact.save(
        path,
        lowered.compile(),
        lowered=lowered,
        olympuspr_text=str(traced.olympuspr),
        name=path.stem,
        entry="program:function",
    )
    return path


def export(bundle: Path, output: Path) -> Path:
    """Export a bundle, and return the folder."""
    return c.write(bundle, output, ExportOptions())


def build(folder: Path, *flags: str, compiler: str = "gcc", main: str = "main.c") -> Path:
    """Compile an exported program with a main file, and return the executable."""
    require(compiler)
    name = next(folder.glob("*.olympus")).stem
    output = folder / f"{name}-{compiler}-{Path(main).stem}"
    sources = [f"{name}.c", compiled_runtime(compiler, flags), main]
    run(compiler, *WARNINGS, *flags, *sources, "-o", output.name, "-ldl", cwd=folder)
    return output


@functools.cache
def compiled_runtime(compiler: str, flags: tuple[str, ...]) -> Path:
    """Return the object file of the runtime, which is the same for all programs."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "olympus_runtime.h").write_text(c.runtime_header())
    (folder / "olympus_runtime.c").write_text(c.runtime_source())
    run(compiler, *WARNINGS, *flags, "-c", "olympus_runtime.c", cwd=folder)
    return folder / "olympus_runtime.o"


def require(*tools: str) -> None:
    """Skip the test if a tool is not installed; `.ci/run` installs them where it can."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def require_sanitizers(compiler: str) -> None:
    """Skip the test if the libraries of the sanitizers are not installed for a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.c")
        source.write_text("int main(void) { return 0; }\n")
        command = [compiler, *SANITIZERS, str(source), "-o", f"{folder}/empty"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip(f"{compiler} cannot link the sanitizers")


def run(*command: str | Path, cwd: Path | None = None, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it wrote."""
    result = subprocess.run(
        [*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert result.returncode == code, f"exit {result.returncode}: {result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def saved_arguments(folder: Path, arrays: Sequence[np.ndarray]) -> list[str]:
    """Write arrays to files, and return the paths."""
    paths = [folder / f"argument{i}.npy" for i in range(len(arrays))]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    return [*map(str, paths)]


def results(executable: Path, arrays: Sequence[np.ndarray], *options: str) -> list[np.ndarray]:
    """Run an exported program, and return its results in the order of its signature."""
    folder = executable.parent
    files = saved_arguments(folder, arrays)
    output = folder / "results"
    plugin = ("--plugin", str(plugin_path()), "--output", str(output))
    run(executable, *plugin, *options, *files)
    main = (folder / "main.c").read_text()
    names = re.findall(r'"(\w+)",', main[main.index("RESULT_FILES[] = {") :].partition("}")[0])
    return [np.load(output / f"{name}.npy") for name in names]


@functools.cache
def plugin_path() -> Path:
    """Return the plugin for the CPU, of the extra `c`."""
    import lammps_jax_pjrt_cpu

    return Path(lammps_jax_pjrt_cpu.PLUGIN_PATH)
