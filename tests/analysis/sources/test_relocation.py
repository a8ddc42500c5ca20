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
    result: Callable[..., Any] = getattr(module, name)
    return result


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "before", tmp_path / "now"


MOVED = "# a comment\n" * 150 + PROGRAM.replace("    return (np", "    # another\n    return (np")


@pytest.mark.parametrize("name", ["f", "loop"])
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gpu", marks=needs_gpu_compiler)])
def test_relocated_outputs_are_equal_to_those_of_a_new_compilation(
    name: str, backend: str, folders: tuple[Path, Path]
) -> None:
    target = olympus.target(backend, "h200" if backend == "gpu" else None)
    before, now = (
        olympus.jit(function(folder, text, name)).trace(X).lower(target)
        for folder, text in zip(folders, (PROGRAM, MOVED), strict=True)
    )
    assert before.as_text() == now.as_text()
    compiled, compiled_now = before.compile(), now.compile()
    maps = [
        SourceMap.of(low.module, folder) for low, folder in zip((before, now), folders, strict=True)
    ]
    relocation = Relocation.between(*maps, folders[1])
    assert relocation.is_needed
    assert relocation.lines["program.py", 6] == ("program.py", 156)
    text, content = relocation.in_hlo(compiled.as_text()), compiled.serialize()
    assert text == compiled_now.as_text()
    if backend == "cpu":
        content = relocation.in_executable(content)
        assert lines_of(content) == lines_of(compiled_now.serialize())
        assert np.asarray(now.load(content)(np.eye(8, dtype="float32"))).tolist() == (
            np.asarray(compiled_now(np.eye(8, dtype="float32"))).tolist()
        )
    read = now.read_compiled(text, content)
    assert read.memory().timeline() == compiled_now.memory().timeline()
    assert read.memory().largest(5) == compiled_now.memory().largest(5)
    assert read.estimate() == compiled_now.estimate()
    assert read.serialize() == content
    with pytest.raises(BackendError, match="to inspect it"):
        read(np.eye(8, dtype="float32"))


def lines_of(content: bytes) -> list[tuple[str, int]]:
    """Return the places in an executable, in their order."""
    places: list[tuple[str, int]] = []

    def recorded(path: str, line: int) -> tuple[str, int]:
        places.append((path, line))
        return path, line

    assert serialized.relocated(content, recorded) == content
    assert places
    return places


def test_unmoved_lines_need_no_relocation(folders: tuple[Path, Path]) -> None:
    first, second = (
        SourceMap.of(olympus.jit(function(folder, PROGRAM)).lower(X).module, folder)
        for folder in folders
    )
    relocation = Relocation.between(first, second, folders[1])
    assert not relocation.is_needed
    assert relocation.lines == {}


def test_a_line_with_another_text_needs_relocation(folders: tuple[Path, Path]) -> None:
    texts = PROGRAM, PROGRAM.replace("* 2", "* 2  # twice")
    first, second = (
        SourceMap.of(olympus.jit(function(folder, text)).lower(X).module, folder)
        for folder, text in zip(folders, texts, strict=True)
    )
    assert Relocation.between(first, second, folders[1]).is_needed


def test_maps_of_two_programs_are_refused(folders: tuple[Path, Path]) -> None:
    first, second = (
        SourceMap.of(olympus.jit(function(folder, PROGRAM, name)).lower(X).module, folder)
        for folder, name in zip(folders, ("f", "inner"), strict=True)
    )
    with pytest.raises(ArtifactError, match="different programs"):
        Relocation.between(first, second, folders[1])


@pytest.mark.parametrize("content", [b"", b"\x00", b"not an executable", b"\xff" * 40])
def test_bytes_that_are_no_executable_do_not_change(content: bytes) -> None:
    assert serialized.relocated(content, lambda path, line: (path, line + 1)) == content


def test_text_that_is_not_hlo_is_refused() -> None:
    lowered = olympus.jit(lambda x: x + 1).lower(X)
    with pytest.raises(ArtifactError, match="cannot be read"):
        lowered.read_compiled("nothing", b"")


def test_all_fields_of_a_number_in_a_message_are_edited() -> None:
    message = field(1, b"a") + field(2, b"b") + b"\x18\x05" + field(2, b"c")
    changed = Message(edited(message, 2, lambda x: bytes(x) * 200))
    assert changed.raws(2) == (b"b" * 200, b"c" * 200)
    assert changed.raw(1) == b"a"
    assert Message(integer_field(message, 3, 70000)).integer(3) == 70000
    for damaged in (message[:-1], b"\x0b", b"\x0a\xff"):
        with pytest.raises(ArtifactError):
            edited(damaged, 2, bytes)
