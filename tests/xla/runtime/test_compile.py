"""Programs are compiled, run, inspected, saved and loaded on the CPU."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

from olympus_core import xla
from olympus_core.base.errors import ArtifactError, CompileError, UsageError

CPU = xla.target("cpu")


@pytest.fixture(scope="module")
def muladd(programs):
    return xla.compile(programs["muladd"], CPU)


def _ints(*values):
    return [xla.put(np.int32(value)) for value in values]


def test_a_program_is_executed(muladd):
    (out,) = muladd.execute(_ints(3, 4))
    assert xla.to_numpy(out) == 10
    (raw,) = muladd.run(_ints(3, 4)).consume_with_handlers(muladd.handlers)
    assert xla.to_numpy(raw) == 10


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_program_may_have_any_number_of_outputs(count):
    types = ", ".join(["tensor<2xi32>"] * count)
    values = ", ".join(["%x"] * count)
    body = f"return {values} : {types}" if count else "return"
    text = f"module {{ func.func public @main(%x: tensor<2xi32>) -> ({types}) {{ {body} }} }}"
    outputs = xla.compile(text.encode(), CPU).execute([xla.put(np.arange(2, dtype=np.int32))])
    assert [xla.to_numpy(out).tolist() for out in outputs] == [[0, 1]] * count


def test_a_module_object_compiles_like_its_bytes(programs):
    from olympus_core.mlir import bindings as mlir

    module = mlir.ir.Module.parse(programs["muladd"], mlir.context())
    assert xla.hlo_text(module) == xla.hlo_text(programs["muladd"])
    assert xla.to_numpy(xla.compile(module, CPU).execute(_ints(1, 2))[0]) == 4


def test_wrong_arguments_are_refused(muladd):
    with pytest.raises(UsageError, match="supplied 1 arguments but compiled program expected 2"):
        muladd.execute(_ints(1))
    with pytest.raises(UsageError, match="expected parameter 1 of size 4"):
        muladd.execute([*_ints(1), xla.put(np.zeros(3, np.int32))])
    deleted = _ints(1, 2)
    xla.delete(deleted[0])
    with pytest.raises(UsageError, match="deleted or donated"):
        muladd.execute(deleted)


def test_a_program_has_its_cost_memory_and_text(muladd):
    assert muladd.cost_analysis()["flops"] == 2.0
    assert list(muladd.cost_analysis()) == sorted(muladd.cost_analysis())
    stats = muladd.memory()
    assert (
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.alias_size_in_bytes,
    ) == (8, 4, 0)
    assert stats.generated_code_size_in_bytes is None
    assert (
        stats.peak_memory_in_bytes is None or stats.peak_memory_in_bytes >= stats.temp_size_in_bytes
    )
    assert muladd.hlo_text().startswith("HloModule jit_f")


def test_an_unknown_size_is_none():
    sizes = dict.fromkeys(xla.MemoryAnalysis._fields, 8) | {
        "temp_size_in_bytes": -1,
        "generated_code_size_in_bytes": 0,
    }
    raw = SimpleNamespace(get_compiled_memory_stats=lambda: SimpleNamespace(**sizes))
    analysis = xla.CompileOnlyExecutable(raw, xla.Target()).memory()
    assert analysis == xla.MemoryAnalysis(8, 8, None, 8, None, 8)


def test_metadata_can_be_omitted():
    text = (
        b"module { func.func public @main(%x: tensor<f32>) -> tensor<f32> {"
        b'%0 = stablehlo.sine %x : tensor<f32> loc("secret.py":3:4)\n'
        b"return %0 : tensor<f32> } }"
    )
    program = xla.compile(text, CPU)
    assert "secret.py" in program.hlo_text()
    assert "secret.py" not in program.hlo_text(metadata=False)


def test_compiler_options_are_passed(programs):
    program = xla.compile(programs["muladd"], CPU, {"xla_cpu_enable_fast_math": True})
    assert xla.to_numpy(program.execute(_ints(1, 2))[0]) == 4


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"xla_cpu_enable_fastmath": True}, "not a compiler option", "xla_cpu_enable_fast_math"),
        ({"xla_cpu_enable_fast_math": "maybe"}, "needs true or false, got 'maybe'", None),
        ({"xla_cpu_enable_fast_math": None}, "needs true or false, got None", None),
    ],
)
def test_wrong_compiler_options_are_refused(programs, options, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        xla.compile(programs["muladd"], CPU, options)
    assert hint is None or hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"module { func.func", "the compiler failed: .*expected valid '@'-identifier"),
        (
            b"module { func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {"
            b"%b = stablehlo.custom_call @no_such(%a) : (tensor<3xf32>) -> tensor<3xf32>\n"
            b"return %b : tensor<3xf32>} }",
            "No registered implementation for untyped custom call to no_such",
        ),
    ],
)
def test_a_program_that_xla_refuses_is_a_compile_error(text, message):
    with pytest.raises(CompileError, match=message) as caught:
        xla.compile(text, CPU)
    assert "Source Location Trace" not in str(caught.value)
    assert "INVALID_ARGUMENT" not in str(caught.value)


def test_a_program_is_serialized_and_loaded(muladd):
    data = muladd.serialize()
    loaded = xla.load_executable(data, CPU)
    assert xla.to_numpy(loaded.execute(_ints(3, 4))[0]) == 10
    assert loaded.cost_analysis() == muladd.cost_analysis()
    assert loaded.hlo_text() == muladd.hlo_text()
    assert muladd.xla_seconds > 0
    assert loaded.xla_seconds is None


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"abc", lambda b: b[: len(b) // 2]])
def test_damaged_bytes_are_refused(muladd, damage):
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        xla.load_executable(damage(muladd.serialize()), CPU)


def test_a_call_of_lapack_is_executed(programs):
    program = xla.compile(programs["cholesky"], CPU)
    factor, info = program.execute([xla.put(np.diag([4.0, 9, 16]).astype(np.float32))])
    assert xla.to_numpy(info) == 0
    np.testing.assert_allclose(np.diag(xla.to_numpy(factor)), [2, 3, 4])


def test_a_loaded_program_calls_lapack(programs, python, tmp_path):
    path = tmp_path / "cholesky"
    path.write_bytes(xla.compile(programs["cholesky"], CPU).serialize())
    process = python(
        "import sys, numpy as np; from olympus_core import xla;"
        f"e = xla.load_executable(open({str(path)!r}, 'rb').read(), xla.target('cpu'));"
        "print(xla.to_numpy(e.execute([xla.put(np.eye(3, dtype=np.float32) * 4)])[0])[2, 2])"
    )
    assert (process.returncode, process.stdout) == (0, "2.0\n"), process.stderr


def test_the_bytes_are_the_same_in_every_process(programs, python, tmp_path):
    path = tmp_path / "program"
    path.write_bytes(programs["matmul"])
    source = (
        f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"
        "import hashlib; from olympus_core import xla\n"
        f"program = xla.compile(open({str(path)!r}, 'rb').read(), xla.target('cpu'))\n"
        "print(hashlib.sha256(program.serialize()).hexdigest())"
    )
    first, second = (python(source, PYTHONHASHSEED=seed).stdout for seed in ("1", "2"))
    assert len(first) == 65
    assert first == second
