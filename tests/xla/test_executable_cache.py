"""The persistent cache of executables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus.errors import OlympusWarning
from olympus.experimental.compilation_cache import compilation_cache
from olympus_core.xla.runtime import compiler, executable_cache

X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(executable_cache, "SHORTEST", 0.0)
    compilation_cache.reset_cache()
    compilation_cache.set_cache_dir(tmp_path / "cache")
    yield
    compilation_cache.set_cache_dir(None)
    compilation_cache.reset_cache()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the programs that XLA compiles."""
    sizes: list[int] = []
    compiled = compiler.compiled

    def counted(work: Any, watch: Any) -> Any:
        sizes.append(1)
        return compiled(work, watch)

    monkeypatch.setattr(compiler, "compiled", counted)
    return sizes


def run(scale: float = 2.0) -> Any:
    """Compile one program, as a new process would, and return its result."""
    return ox.jit(lambda x: ox.numpy.sin(x) * scale).lower(X).compile()(X)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.executable"))


def test_a_program_is_compiled_once(tmp_path: Path, compilations: list[int]) -> None:
    results = [run(), run()]
    assert len(files(tmp_path / "cache")) == len(compilations) == 1
    for result in results:
        np.testing.assert_allclose(result, np.sin(X) * 2, rtol=1e-6)
    run(3.0)
    assert len(files(tmp_path / "cache")) == len(compilations) == 2


def test_a_damaged_executable_is_compiled_again(tmp_path: Path, compilations: list[int]) -> None:
    run()
    (file,) = files(tmp_path / "cache")
    content = file.read_bytes()
    file.write_bytes(b"other")
    np.testing.assert_allclose(run(), np.sin(X) * 2, rtol=1e-6)
    assert len(compilations) == 2
    assert file.read_bytes() == content


def test_the_folder_in_use_stays_until_the_reset(tmp_path: Path) -> None:
    run()
    compilation_cache.set_cache_dir(tmp_path / "other")
    run(3.0)
    assert (len(files(tmp_path / "cache")), len(files(tmp_path / "other"))) == (2, 0)
    compilation_cache.reset_cache()
    run(4.0)
    assert len(files(tmp_path / "other")) == 1


def test_fast_compilations_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable_cache, "SHORTEST", 1000.0)
    run()
    assert not files(tmp_path / "cache")


def test_a_folder_that_cannot_be_written_to_gives_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    compilation_cache.set_cache_dir(tmp_path / "file" / "cache")
    with pytest.warns(OlympusWarning, match="cache of executables in .* cannot be"):
        np.testing.assert_allclose(run(), np.sin(X) * 2, rtol=1e-6)
