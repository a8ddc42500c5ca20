"""The texts of messages: the option, the file or the line at fault, and the remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus.errors import SignatureError, SpecError
from olympus_cli.spec.bench import parse_threshold
from olympus_cli.text.paths import unwritable
from olympus_cli.workers import call

Invoke = Callable[..., Result]

PROGRAM = """\
import ctypes
import sys
import types
import olympus
import olympus.numpy as np

# a replacement for JAX, whose functions reject other arrays with this message
jax = types.ModuleType("jax")
exec("def sin(x): raise TypeError(f'Argument {x!r} of type {type(x)} is not a valid JAX type.')",
     vars(jax))


def uses_jax(x):
    return jax.sin(x * 2)


def adds_none(x):
    return x + None


def traced_shape(x):
    return np.zeros((x, 3))


def text_rate(x, lr="3e-4"):
    return lr * x


def misspelt(x):
    return np.sofmax(x)


def crashes(x):
    y = x * 2
    ctypes.string_at(0)
    return y


def f(x):
    return np.sin(x)


def scaled(params, x):
    return x * params["norm"]
"""

TOML = """\
[target.f]
entry = "program.py:f"
args = ["f32[4]"]
golden = true

[target.crashes]
entry = "program.py:crashes"
args = ["f32[4]"]

[target.scaled]
entry = "program.py:scaled"
args.params = { norm = "f32[4]" }
args.x = "f32[4]"
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def test_every_kind_of_traced_array_has_the_public_name() -> None:
    names: list[str] = []

    def note(x: olympus.Array) -> olympus.Array:
        names.append(f"{type(x).__module__}.{type(x).__name__} {x!r}")
        return x.sum()

    x = np.ones(4, "float32")
    olympus.jit(note)(x)
    olympus.grad(note)(x)
    olympus.vmap(note)(x[None])
    kinds = ["JitTracer(float32[4])", "GradTracer(", "VmapTracer(aval=float32[4], batched="]
    assert len(names) == len(kinds)
    for name, kind in zip(names, kinds, strict=True):
        assert name.startswith(f"olympus.core.Tracer {kind}")


def test_a_damaged_golden_file(work: Path, invoke: Invoke) -> None:
    assert invoke("check", "f", "--update").exit_code == 0
    (work / "goldens" / "f.cpu.mlir").write_text("module {")
    result = invoke("check", "f")
    assert result.exit_code == 5
    assert "goldens/f.cpu.mlir" in result.stderr
    assert "olympus check f --update" in result.stderr


def test_a_folder_that_cannot_be_written(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "file").touch()
    assert unwritable(work / "new" / "newer") is None
    assert unwritable(work / "file" / "new") == "file is not a folder"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert unwritable(work / "new") == "permission denied in ."
    result = invoke("bench", "f", "--save-baseline", "base")
    assert result.exit_code == 2
    assert "cannot be written: permission denied in" in result.stderr
    monkeypatch.setattr(os, "statvfs", lambda *_: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert unwritable(work / "new") == "read-only file system in ."
    result = invoke("trace", "f", "-o", "f.txt")
    assert result.exit_code == 2
    assert "f.txt cannot be written: Read-only file system" in result.stderr


def test_a_page_needs_no_build_folder(work: Path, invoke: Invoke) -> None:
    (work / "file").touch()
    (work / "olympus.toml").write_text('[project]\nbuild-dir = "file/build"\n' + TOML)
    assert invoke("build", "f").exit_code == 2
    result = invoke("report", "f")
    assert result.exit_code == 2
    assert "hint: --output FILE writes the page only" in result.stderr
    result = invoke("report", "f", "-o", "page.html")
    assert result.exit_code == 0, result.stderr
    assert (work / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("command", ["trace", "build"])
def test_a_fatal_signal_names_the_last_line(work: Path, invoke: Invoke, command: str) -> None:
    result = invoke(command, "crashes")
    assert result.exit_code == 4
    assert "was ended by SIGSEGV (stage: trace)" in result.stderr
    assert "\n  program.py:35\n    ctypes.string_at(0)\n" in result.stderr


def test_the_last_line_belongs_to_the_program() -> None:
    ours = call.supervisor.__file__
    frames = [f'  File "{ours}", line 5 in _work', '  File "/home/me/run.py", line 1 in <module>']
    assert call._last_line("\n".join(frames)) is None
    last_line = call._last_line("\n".join(['  File "/home/me/a b.py", line 7 in f', *frames]))
    assert last_line == "/home/me/a b.py:7"


def test_arguments_of_another_structure_are_named(work: Path, invoke: Invoke) -> None:
    x = np.ones(4, "float32")
    compiled = olympus.jit(lambda params, x: x * params["norm"]).lower({"norm": x}, x).compile()
    with pytest.raises(SignatureError) as caught:
        compiled({"nrm": x}, x)
    assert "lacks [0]['norm'] and has the unexpected [0]['nrm']" in (caught.value.hint or "")
    assert invoke("build", "scaled").exit_code == 0
    bundle = olympus.artifact.load(work / "build" / "scaled" / "scaled.olympus")
    with pytest.raises(SignatureError, match="lacks the key 'norm' and has the key 'nrm'"):
        bundle.compiled()({"nrm": x}, x)
    np.savez(work / "in.npz", **{"params['nrm']": x, "x": x})
    result = invoke("run", "scaled", "--inputs", "in.npz")
    assert "lacks params['norm'], and has params['nrm']" in result.stderr


def test_metrics_and_limits_have_two_spellings(work: Path, invoke: Invoke) -> None:
    budget = '\n[target.f.budget]\npeak_memory = "1 MiB"\n[target.f.bench]\n'
    (work / "olympus.toml").write_text(TOML.replace("golden = true", "") + budget)
    with (work / "olympus.toml").open("a") as file:
        file.write('metrics = ["steady-call"]\nthreshold = 0.1\n')
    assert invoke("check", "f").exit_code == 0
    with (work / "olympus.toml").open("a") as file:
        file.write('[target.f.tolerance]\nrtol = "1%"\natol = "0.5 %"\n')
    result = invoke("verify", "f")
    assert result.exit_code == 0, result.stderr
    assert invoke("history", "--metric", "executable_size").exit_code in (0, 2)


@pytest.mark.parametrize("value", ["5", "5 per cent", 5, True])
def test_a_threshold_without_its_unit(value: object) -> None:
    with pytest.raises(SpecError, match="or a number between 0 and 1"):
        parse_threshold(value)
