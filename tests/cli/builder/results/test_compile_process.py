"""Compilations by a helper have the results of the worker's own."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import olympus
import olympus.numpy as np
from olympus.files import typed
from olympus_cli.builder.results import compile_process
from olympus_cli.builder.results.compile_process import compiled_by_helper
from olympus_cli.reports.program_figures import (
    FORMS,
    CompiledFigures,
    compiled_figures,
    completed_figures,
)
from olympus_cli.workers import pool
from olympus_cli.workers.helpers import Helpers
from tests.cli.forking import Spawn

Invoke = Callable[..., Result]

MODEL = "import olympus.numpy as np\n\n\ndef f(x):\n    return np.tanh(x @ x) + 1\n"
TARGET = '[target.f{n}]\nentry = "program:f"\nargs = ["f32[{n},{n}]"]\n\n'


def lowered() -> Any:
    return olympus.jit(lambda x: np.sin(x) @ x).lower(olympus.ShapeDtypeStruct((3, 3), "float32"))


def request() -> list[Any]:
    return [[*lowered().compile_request()], compile_process._settings()]


def answer(of: list[Any]) -> Any:
    with tempfile.TemporaryFile() as printed:
        return compile_process._answer(of, printed)


def test_the_files_are_those_of_compile() -> None:
    compiled = lowered().compile()
    (executable, hlo, cost, memory, seconds, given), figures, _peak = answer(request())
    assert executable == compiled.serialize()
    assert given == lowered().as_text("hlo")
    assert hlo == compiled.as_text()
    assert cost == compiled.cost_analysis()
    assert tuple(memory) == compiled.memory_analysis()
    assert seconds > 0
    inspected = typed(figures, CompiledFigures, forms=FORMS)
    here = Path()
    assert completed_figures(inspected, compiled, here, {}) == compiled_figures(compiled, here, {})


def test_figures_that_need_the_lowered_program_are_left_to_the_worker() -> None:
    def loop(x: Any) -> Any:
        return olympus.lax.while_loop(lambda v: v[0] > 1, lambda v: v * 0.5, x)

    of = olympus.jit(loop).lower(olympus.ShapeDtypeStruct((3,), "float32")).compile_request()
    _files, figures, _peak = answer([[*of], compile_process._settings()])
    assert figures is None


def test_a_helper_with_other_settings_does_not_compile() -> None:
    content, (variables, processors) = request()
    assert answer([content, [variables, processors]]) is not None
    assert answer([content, [{**variables, "TF_XLA_FLAGS": "x"}, processors]]) is None
    assert answer([content, [variables, processors + 1]]) is None


def test_a_compilation_that_fails_warns_or_prints_is_left_to_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (_module, *others), settings = request()
    assert answer([[b"not a module", *others], settings]) is None
    usual = compile_process.compile_files

    def warned(*args: Any) -> Any:
        warnings.warn("slow", stacklevel=1)
        return usual(*args)

    monkeypatch.setattr(compile_process, "compile_files", warned)
    assert answer(request()) is None
    monkeypatch.setattr(compile_process, "compile_files", usual)
    with tempfile.TemporaryFile() as printed:
        os.write(printed.fileno(), b"E1128 a message of the compiler")
        assert compile_process._answer(request(), printed) is None
        assert compile_process._answer(request(), printed) is not None


def test_a_program_that_calls_python_or_is_for_another_device_has_no_request() -> None:
    x = olympus.ShapeDtypeStruct((2,), "float32")
    called = olympus.jit(lambda x: olympus.pure_callback(lambda v: v, x, x)).lower(x)
    assert called.compile_request() is None
    gpu = olympus.jit(np.sin).trace(x).lower(olympus.Target("gpu", "h200"))
    assert gpu.compile_request() is None
    assert compiled_by_helper(lowered().compile_request(), lambda _stage: None) is None


def test_a_build_with_helpers_has_the_bundles_of_a_build_without(
    folder: Path, invoke: Invoke, forked: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "program.py").write_text(MODEL)
    (folder / "olympus.toml").write_text("".join(TARGET.format(n=n) for n in range(1, 4)))
    contents, forwarded = [], []
    usual = Helpers.forward

    def forward(helpers: Helpers, *args: Any) -> None:
        forwarded.append(args[-1])
        usual(helpers, *args)

    monkeypatch.setattr(Helpers, "forward", forward)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    for is_helped in (False, True):
        monkeypatch.setattr(pool, "_are_helped", lambda *_, helped=is_helped: helped)
        built = invoke("build", "--force", "--no-cache", "--project", str(folder))
        assert built.exit_code == 0, built.stderr
        files = sorted((folder / "build").glob("*/*.olympus"))
        contents.append([file.read_bytes() for file in files])
        assert len(files) == 3
        assert len(forwarded) == (3 if is_helped else 0)
    assert contents[0] == contents[1]
