"""SHA-256 in C, with and without the instructions of the processor."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from olympus_cli.export import c
from tests.cli.export.c_programs import COMPILERS, SANITIZERS, WARNINGS, run

CONTENT = bytes(i % 251 for i in range(100_000))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flag", ["-O2", "-DOLYMPUS_PLAIN_DIGEST"])
def test_digests_are_pythons(compiler: str, flag: str, tmp_path: Path) -> None:
    (tmp_path / "olympus_runtime.h").write_text(c.runtime_header())
    (tmp_path / "olympus_runtime.c").write_text(c.runtime_source())
    source = Path(__file__).with_name("digests.c")
    flags = (*WARNINGS, flag, *(SANITIZERS if compiler == "gcc" else ()), "-I", tmp_path)
    run(compiler, *flags, source, "-o", tmp_path / "digests", "-ldl")
    sizes = [*range(301), len(CONTENT)]
    expected = [hashlib.sha256(CONTENT[:size]).hexdigest() for size in sizes]
    assert run(tmp_path / "digests").split() == expected
