"""Programs as graphs: their structural fingerprint, and the sources of operations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import olympus
import olympus.numpy as np
from olympus import lax
from olympus.analysis import (
    Graph,
    Place,
    SourceMap,
    graph_of,
    read_module,
    structural_fingerprint,
)
from olympus.errors import ArtifactError
from olympus_core.analysis.sources.places import Places
from olympus_core.mlir import bindings as mlir

X = np.ones((3, 2))

PROGRAM = """\
import sys
import olympus
import olympus.numpy as np
from olympus import lax
from olympus.analysis import graph_of, structural_fingerprint


def loop(state):
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, np.sin(s[1])), state)


def f(w, x):
    with olympus.named_scope("layer"):
        y = np.tanh(x @ w) * 2.0
    return {"y": loop((0, y))[1], "sorted": np.sort(y, axis=0)}


for n in range(int(sys.argv[1])):
    olympus.jit(lambda x: np.exp(x) * n + x.sum()).lower(np.ones(n % 7 + 1))
lowered = olympus.jit(f, donate_argnums=0).lower(np.ones((3, 3)), np.ones((3, 3)))
print(structural_fingerprint(graph_of(lowered.module)))
"""

#: The same with lines moved and variables renamed.
RENAMED = (
    PROGRAM.replace("def loop(state)", "# a comment\n\n\ndef loop(carry)")
    .replace("(s[1])), state)", "(s[1])), carry)")
    .replace("lambda s:", "lambda t:")
    .replace("s[", "t[")
    .replace("y = np.tanh", "hidden = np.tanh")
    .replace("(0, y)", "(0, hidden)")
    .replace("np.sort(y", "np.sort(hidden")
)


def graph(fun: Any, *args: Any, **options: Any) -> Graph:
    return graph_of(olympus.jit(fun, **options).trace(*args).lower(repeats="off").module)


def fingerprint(fun: Any, *args: Any, **options: Any) -> str:
    return structural_fingerprint(graph(fun, *args, **options))


def printed(folder: Path, program: str, *, seed: int = 0, others: int = 0) -> str:
    folder.mkdir()
    (folder / "program.py").write_text(program)
    process = subprocess.run(
        [sys.executable, "program.py", str(others)],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout


def test_the_fingerprint_depends_only_on_the_program(tmp_path: Path) -> None:
    """The folder, the hash seed, earlier traces, source lines and names do not change it."""
    first = printed(tmp_path / "one", PROGRAM)
    assert len(first) == 65
    assert RENAMED != PROGRAM and "carry" in RENAMED and "hidden" in RENAMED
    assert printed(tmp_path / "two", PROGRAM, seed=1) == first
    assert printed(tmp_path / "three", PROGRAM, seed=2, others=1000) == first
    assert printed(tmp_path / "four", RENAMED, seed=3) == first


def test_all_forms_of_a_program_have_one_fingerprint() -> None:
    def f(x: Any) -> Any:
        return np.sort(np.tanh(x) @ np.ones((2, 2)), axis=0), lax.erf_inv(x)

    lowered = olympus.jit(f).lower(X)
    expected = structural_fingerprint(graph_of(lowered.module))
    for content in (lowered.as_text(), lowered.as_text(debug_info=True), lowered.bytecode()):
        assert structural_fingerprint(graph_of(read_module(content))) == expected


def test_the_fingerprint_is_stable() -> None:
    """Files contain it, so a change of it needs a reason."""
    text = """
    func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %c = stablehlo.constant dense<2.0> : tensor<2xf32>
      %0 = stablehlo.multiply %a, %c : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    expected = "5ab5980f054c06490f82b3f23712e17b89756c31fcbd35b99826253d8669ed60"
    assert structural_fingerprint(graph_of(read_module(text))) == expected


DIFFERENT = {
    "operation": (lambda x: np.sin(x), {}),
    "constant": (lambda x: np.tanh(x) * 2.5, {}),
    "operand": (lambda x: np.tanh(x) * x, {}),
    "order of operands": (lambda x: x - np.tanh(x), {}),
    "result": (lambda x: (np.tanh(x), x), {}),
    "order of results": (lambda x: (x, np.tanh(x)), {}),
    "donation": (lambda x: np.tanh(x), {"donate_argnums": 0}),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: np.tanh(y), x), {}),
    "its body": (lambda x: lax.fori_loop(0, 3, lambda i, y: np.sin(y), x), {}),
    "two operations": (lambda x: np.tanh(np.tanh(x)), {}),
    "plain": (lambda x: np.tanh(x), {}),
    "attribute": (lambda x: lax.reduce_precision(x, 5, 2), {}),
    "its value": (lambda x: lax.reduce_precision(x, 5, 3), {}),
    "unused argument": (lambda x: np.ones(3), {}),
}


def test_different_programs_have_different_fingerprints() -> None:
    fingerprints = {
        name: fingerprint(fun, X, **options) for name, (fun, options) in DIFFERENT.items()
    }
    assert len(set(fingerprints.values())) == len(fingerprints)
    shape = fingerprint(lambda x: np.tanh(x), np.ones((2, 3)))
    assert shape not in fingerprints.values()


def test_the_order_of_independent_operations_does_not_change_the_fingerprint() -> None:
    def first(x: Any) -> Any:
        a, b = np.sin(x), np.cos(x)
        return a + b

    def second(x: Any) -> Any:
        b = np.cos(x)
        return np.sin(x) + b

    assert fingerprint(first, X) == fingerprint(second, X)


def test_names_of_private_functions_and_the_module_do_not_change_the_fingerprint() -> None:
    text = """
    module @{module} {{
      func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
        %0 = call @{name}(%x) : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }}
      func.func private @{name}(%y: tensor<2xf32>) -> tensor<2xf32> {{
        %0 = stablehlo.{op} %y : tensor<2xf32>
        return %0 : tensor<2xf32>
      }}
    }}"""

    def fingerprint_with(**names: str) -> str:
        return structural_fingerprint(graph_of(read_module(text.format(**names))))

    first = fingerprint_with(module="a", name="f", op="tanh")
    assert fingerprint_with(module="b", name="g", op="tanh") == first
    assert fingerprint_with(module="a", name="f", op="sine") != first


def test_a_captured_value_is_an_operand_of_the_loop() -> None:
    program = graph(lambda x: lax.fori_loop(0, 3, lambda i, y: np.tanh(y) + x, x * 2.0), X)
    (loop,) = [
        operation
        for operation in program.main.block.operations
        if operation.name == "stablehlo.while"
    ]
    assert [value.owner for value in loop.captures] == [program.main.block]
    assert loop.size() == 6  # the loop, the comparison, two counters, tanh and the sum


def test_operations_have_their_lines_and_scopes() -> None:
    def f(x: Any) -> Any:
        with olympus.named_scope("outer"), olympus.named_scope("inner"):
            return np.tanh(x)

    lowered = olympus.jit(f).lower(X)
    (tanh,) = graph_of(lowered.module).main.block.operations
    assert tanh.place.file == __file__
    assert tanh.place.scope == "outer/inner"
    assert "np.tanh(x)" in Path(__file__).read_text().splitlines()[tanh.place.line - 1]
    (bare,) = graph_of(read_module(lowered.bytecode())).main.block.operations
    assert bare.place == Place()


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ('loc("jit_f/a/b/add"("m.py":3:4))', Place("m.py", 3, "a/b")),
        ('loc("m.py":3:4)', Place("m.py", 3)),
        ("loc(unknown)", Place()),
        ('loc("jit_f/a/add")', Place("", 0, "a")),
        (r'loc("jit_f/add"("a\22b\0A.py":3:4))', Place('a"b\n.py', 3)),
        (r'loc("f/s/x"("\C3\A9\\.py":3:4))', Place("é\\.py", 3, "s")),
        ('loc(callsite("f/s/x"("a.py":1:2) at "b.py":3:4))', Place("a.py", 1, "s")),
        ('loc(fused["a.py":1:2, "b.py":3:4])', Place("a.py", 1)),
    ],
)
def test_places_are_read_from_locations(location: str, place: Place) -> None:
    with mlir.context():
        module = mlir.ir.Module.parse(f"module {{}} {location}")
        assert Places(module).of(module.operation.location) == place


def test_a_source_map_adds_lines_to_a_program_without_locations(tmp_path: Path) -> None:
    lowered = olympus.jit(lambda x: np.tanh(x) * 2.0).lower(X)
    root = Path(__file__).parent
    source_map = SourceMap.of(lowered.module, root)
    read = SourceMap.parse(source_map.to_bytes())
    assert read == source_map
    module = read_module(lowered.bytecode())
    assert read.fits(module)
    tanh, multiply = graph_of(module, read.places).main.block.operations
    assert tanh.place.file == multiply.place.file == Path(__file__).name
    key = tanh.place.file, tanh.place.line
    assert read.texts == {key: "lowered = olympus.jit(lambda x: np.tanh(x) * 2.0).lower(X)"}
    assert not SourceMap.of(lowered.module, root, texts=False).texts
    assert not read.fits(read_module(olympus.jit(lambda x: np.sin(x)).lower(X).bytecode()))


def test_a_source_map_has_scopes_without_transformations() -> None:
    def f(x: Any) -> Any:
        with olympus.named_scope("outer (x)"):
            return np.tanh(x).sum()

    lowered = olympus.jit(olympus.value_and_grad(f)).lower(X)
    source_map = SourceMap.of(lowered.module, "/")
    assert {place.scope for place in source_map.places} == {"", "outer (x)"}
    assert not any(place.backward for place in source_map.places)


def test_a_source_map_keeps_paths_outside_the_project() -> None:
    lowered = olympus.jit(lambda x: np.tanh(x)).lower(X)
    files = {place.file for place in SourceMap.of(lowered.module, "/nowhere").places}
    assert files == {"", __file__}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"schema_version": 2}',
        b'{"schema_version":1,"program":"","files":[],"scopes":[],"places":[[0,1,0]],'
        b'"operations":[0],"texts":[]}',
        b'{"schema_version":1,"program":"","files":["a"],"scopes":[""],"places":[[0,-1,0]],'
        b'"operations":[0],"texts":[]}',
        b'{"schema_version":1,"program":"","files":[1],"scopes":[""],"places":[],'
        b'"operations":[],"texts":[]}',
        b'{"schema_version":1,"program":"","files":["a"],"scopes":[""],"places":[[0,1,0]],'
        b'"operations":[-1],"texts":[]}',
    ],
)
def test_a_damaged_source_map_is_refused(content: bytes) -> None:
    with pytest.raises(ArtifactError, match="source lines"):
        SourceMap.parse(content)


LOOPED = "func.func @main() { call @main() : () -> () return }"
BARE = "func.func private @main(tensor<2xf32>) -> tensor<2xf32>"
JUMPS = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^bb1(%x : tensor<2xf32>)
^bb1(%y: tensor<2xf32>):
  return %y : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no function"),
        ("module {}", "no function"),
        (b"\xff\xfe\x00", "neither text nor MLIR bytecode"),
        ("hello", "not StableHLO that can be read"),
        (b"ML\xefR", "not StableHLO that can be read"),
        (LOOPED, "'main' calls itself"),
        (BARE, "'main' has no body"),
        (JUMPS, "not StableHLO that can be read|jumps"),
        ("module { module {} }", "functions and meshes"),
    ],
)
def test_content_that_is_not_a_program_is_refused(content: str | bytes, words: str) -> None:
    with pytest.raises(ArtifactError, match=words):
        structural_fingerprint(graph_of(read_module(content)))


def test_a_truncated_program_is_refused() -> None:
    content = olympus.jit(lambda x: np.sort(np.tanh(x), axis=0)).lower(X).bytecode()
    for end in range(0, len(content), 37):
        with pytest.raises(ArtifactError):
            graph_of(read_module(content[:end]))
