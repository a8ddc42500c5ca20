"""The server in C, built and called by its client as its users do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.export.c_programs import plugin_path, require, run
from tests.documents.documents import ROOT

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")

SEARCH = ("export", "search", "--format", "c", "--output", "search-c", "--no-cache")


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """The built server, in a copy of its folder."""
    require("gcc", "cmake")
    folder = Path(shutil.copytree(ROOT / "examples/serve_c", tmp_path / "serve_c"))
    run(sys.executable, "-m", "olympus_cli", *SEARCH, cwd=folder)
    run("cmake", "-B", "build", "-DCMAKE_C_FLAGS=-Werror", cwd=folder)
    run("cmake", "--build", "build", cwd=folder)
    return folder / "build/server"


def test_the_server_answers_its_clients(server: Path, tmp_path: Path) -> None:
    folder = server.parents[1]
    run(sys.executable, "items.py", cwd=folder)
    assert run(server, code=2) == "usage: server BUNDLE PLUGIN ITEMS SOCKET\n"
    bundle = folder / "search-c/search.olympus"
    missing = run(server, bundle, plugin_path(), folder / "none", "s", code=1)
    assert missing == f"error: {folder / 'none'} does not have 64000 values of float32\n"
    items = np.fromfile(folder / "items.bin", np.float32).reshape(1000, 64)
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    arguments = [bundle, plugin_path(), folder / "items.bin", folder / "socket"]
    with subprocess.Popen([server, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for row in (0, 7, 999):
                output = run(sys.executable, "client.py", "socket", str(row), cwd=folder)
                rows = [int(line.split()[0]) for line in output.splitlines()]
                assert rows == [*np.argsort(-(unit @ unit[row]))[:5]]
                assert output.startswith(f"{row:4d} 1.000\n")
        finally:
            process.kill()
