"""Source lines of a compiled program, renewed without compiling it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus.analysis import Relocation, SourceMap
from olympus.errors import ArtifactError, BackendError
from olympus_core.xla.proto import serialized
from olympus_core.xla.proto.wire import Message, edited, field, integer_field
from tests.marks import needs_gpu_compiler

PROGRAM = """\
import olympus
import olympus.numpy as np


def inner(x):
    return np.tanh(x @ x)


def f(x):
    y = inner(x)
    return (np.sin(y) @ x).sum() * 2


def loop(x):
    return olympus.lax.fori_loop(0, 3, lambda i, c: inner(c), x)
"""
X = olympus.ShapeDtypeStruct((8, 8), "float32")


def function(folder: Path, text: str, name: str = "f") -> Callable[..., Any]:
    folder.mkdir(exist_ok=True)
    path = folder / "program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "before", tmp_path / "now"


MOVED = "# a comment\n" * 150 + PROGRAM.replace("    return (np", "    # another\n    return (np")


@pytest.mark.parametrize("name", ["f", "loop"])
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gpu", marks=needs_gpu_compiler)])
def test_what_the_compiler_wrote_is_as_if_it_had_compiled_the_moved_lines(
    name: str, backend: str, folders: tuple[Path, Path]
) -> None:
    target = olympus.target(backend, "h200" if backend == "gpu" else None)
    before, now = (
        olympus.jit(function(folder, text, name)).trace(X).lower(target)
        for folder, text in zip(folders, (PROGRAM, MOVED), strict=True)
    )
    assert before.as_text() == now.as_text()
    compiled, wanted = before.compile(), now.compile()
    maps = [
        SourceMap.of(low.module, folder) for low, folder in zip((before, now), folders, strict=True)
    ]
    relocation = Relocation.between(*maps, folders[1])
    assert relocation.is_needed
    assert relocation.lines["program.py", 6] == ("program.py", 156)
    text, content = relocation.in_hlo(compiled.as_text()), compiled.serialize()
    assert text == wanted.as_text()
    if backend == "cpu":
        content = relocation.in_executable(content)
        assert lines_of(content) == lines_of(wanted.serialize())
        assert np.asarray(now.load(content)(np.eye(8, dtype="float32"))).tolist() == (
            np.asarray(wanted(np.eye(8, dtype="float32"))).tolist()
        )
    read = now.read_compiled(text, content)
    assert read.memory().timeline() == wanted.memory().timeline()
    assert read.memory().largest(5) == wanted.memory().largest(5)
    assert read.estimate() == wanted.estimate()
    assert read.serialize() == content
    with pytest.raises(BackendError, match="to inspect it"):
        read(np.eye(8, dtype="float32"))


def lines_of(content: bytes) -> list[tuple[str, int]]:
    """The places in an executable, in their order."""
    found: list[tuple[str, int]] = []

    def seen(path: str, line: int) -> tuple[str, int]:
        found.append((path, line))
        return path, line

    assert serialized.relocated(content, seen) == content
    assert found
    return found


def test_nothing_is_needed_where_nothing_moved(folders: tuple[Path, Path]) -> None:
    one, other = (
        SourceMap.of(olympus.jit(function(folder, PROGRAM)).lower(X).module, folder)
        for folder in folders
    )
    relocation = Relocation.between(one, other, folders[1])
    assert not relocation.is_needed
    assert relocation.lines == {}


def test_the_text_of_a_line_counts(folders: tuple[Path, Path]) -> None:
    texts = PROGRAM, PROGRAM.replace("* 2", "* 2  # twice")
    one, other = (
        SourceMap.of(olympus.jit(function(folder, text)).lower(X).module, folder)
        for folder, text in zip(folders, texts, strict=True)
    )
    assert Relocation.between(one, other, folders[1]).is_needed


def test_maps_of_two_programs_are_refused(folders: tuple[Path, Path]) -> None:
    one, other = (
        SourceMap.of(olympus.jit(function(folder, PROGRAM, name)).lower(X).module, folder)
        for folder, name in zip(folders, ("f", "inner"), strict=True)
    )
    with pytest.raises(ArtifactError, match="different programs"):
        Relocation.between(one, other, folders[1])


@pytest.mark.parametrize("content", [b"", b"\x00", b"not an executable", b"\xff" * 40])
def test_bytes_in_another_form_stay(content: bytes) -> None:
    assert serialized.relocated(content, lambda path, line: (path, line + 1)) == content


def test_hlo_that_is_none() -> None:
    lowered = olympus.jit(lambda x: x + 1).lower(X)
    with pytest.raises(ArtifactError, match="cannot be read"):
        lowered.read_compiled("nothing", b"")


def test_editing_a_message() -> None:
    message = field(1, b"a") + field(2, b"b") + b"\x18\x05" + field(2, b"c")
    found = Message(edited(message, 2, lambda x: bytes(x) * 200))
    assert found.raws(2) == (b"b" * 200, b"c" * 200)
    assert found.raw(1) == b"a"
    assert Message(integer_field(message, 3, 70000)).integer(3) == 70000
    for damaged in (message[:-1], b"\x0b", b"\x0a\xff"):
        with pytest.raises(ArtifactError):
            edited(damaged, 2, bytes)
