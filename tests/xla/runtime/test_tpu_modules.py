"""Programs for TPUs are read from their executables where jaxlib cannot read or parse them."""

from __future__ import annotations

import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import ArtifactError, CompileError
from olympus_core import xla
from olympus_core.xla.bindings import JaxRuntimeError
from olympus_core.xla.hlo.hlo_module import HloModule
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto import tpu_executable
from olympus_core.xla.runtime import executable as executables
from tests.marks import needs_tpu_compiler

pytestmark = needs_tpu_compiler
S = olympus.ShapeDtypeStruct
TABLE = (S((32000, 4096), "float32"), S((1, 4096), "int32"), S((4096, 128), "float32"))


def looked_up(table, indices, weights):
    return jnp.sum(jnp.tanh(table[indices] @ weights))


def lowered(device: str) -> olympus.stages.Lowered:
    """A program whose lookup the compiler passes to the sparse cores of some generations."""
    gradient = olympus.jit(olympus.value_and_grad(looked_up))
    return gradient.trace(*TABLE).lower(olympus.target("tpu", device))


def content(module: HloModule) -> list[object]:
    computations = module.computations.values()
    return [[c.name, c.root_id, c.is_fusion, *c.instructions.values()] for c in computations]


@pytest.mark.parametrize("name", xla.shipped_tpus())
def test_the_bytes_have_the_module_that_the_compiler_returns(name, programs) -> None:
    executable = xla.compile(programs["muladd"], xla.target("tpu", name))
    module = tpu_executable.optimized_module(executable.serialize())
    assert module is not None
    (returned,) = executable._raw.hlo_modules()
    from_xla = read_hlo_module(bytes(returned.as_serialized_hlo_module_proto()))
    read = read_hlo_module(module)
    assert content(read) == content(from_xla)
    assert read.schedule == from_xla.schedule


@pytest.mark.parametrize(
    "device", ["v6e", *(pytest.param(name, marks=pytest.mark.night) for name in ("v5p", "tpu7x"))]
)
def test_a_program_with_operands_of_async_update_is_read(device) -> None:
    program = lowered(device)
    compiled = program.compile()
    module = compiled.executable.hlo_module()
    updates = [
        len(instruction.operand_ids)
        for computation in module.computations.values()
        for instruction in computation.instructions.values()
        if instruction.opcode == "async-update"
    ]
    assert updates == [3]
    text = compiled.as_text()
    assert "async-update" in text or "custom-call-update(" in text
    assert compiled.memory().peak > 2 * 32000 * 4096 * 4
    estimate = compiled.estimate()
    assert not estimate.unknown
    lookups = [kernel for kernel in estimate.kernels if kernel.operation == "gather"]
    lookup = max(lookups, key=lambda kernel: kernel.bytes)
    assert lookup.flops == 0
    assert lookup.bytes == 2 * 4096 * 4096 * 4 + 4096 * 4  # rows read and written, and the indices
    assert not compiled.cost_per_device().unknown
    saved = program.read_compiled(text, compiled.serialize())
    assert saved.memory().peak == compiled.memory().peak
    assert saved.estimate() == compiled.estimate()
    assert saved.as_text() == text
    assert saved.executable.types() == compiled.executable.types()


def test_a_saved_program_has_the_lines_of_its_text() -> None:
    program = lowered("v6e")
    compiled = program.compile()
    text = compiled.as_text()
    lines = {kernel.line for kernel in compiled.estimate().kernels if kernel.line}
    moved = text.replace("test_tpu_modules.py", "moved.py").replace("line=", "line=7")
    saved = program.read_compiled(moved, compiled.serialize())
    expected = {
        line.replace("test_tpu_modules.py", "moved.py").replace(".py:", ".py:7") for line in lines
    }
    assert {kernel.line for kernel in saved.estimate().kernels if kernel.line} == expected
    fewer = text.replace("\n1 {file_name_id", "\n{file_name_id", 1)
    saved = program.read_compiled(fewer, compiled.serialize())  # lines of another version
    assert {kernel.line for kernel in saved.estimate().kernels if kernel.line} == lines


class Refusing:
    """An executable whose program this jaxlib cannot read."""

    def __init__(self, serialized: bytes) -> None:
        self._serialized = serialized

    def hlo_modules(self) -> list[object]:
        raise JaxRuntimeError("RET_CHECK failure")

    def serialize(self) -> bytes:
        return self._serialized


def test_a_program_that_no_reader_knows_is_an_error_with_the_remedy(programs, monkeypatch) -> None:
    executable = xla.compile(programs["muladd"], xla.target("tpu", "v5e"))
    serialized, name = executable.serialize(), executable.hlo_module().name
    executable = xla.CompileOnlyExecutable(Refusing(serialized), xla.target("tpu", "v5e"))
    assert executable.hlo_module().name == name
    for other in (b"", b"n" * 10, serialized[:5000], serialized[:200].ljust(5000, b"\1")):
        assert tpu_executable.optimized_module(other) is None
        executable = xla.CompileOnlyExecutable(Refusing(other), xla.target("tpu", "v5e"))
        with pytest.raises(CompileError, match="cannot read the program as compiled for v5e") as e:
            executable.hlo_text()
        assert "jaxlib 0.12" in str(e.value.hint)
    monkeypatch.setattr(executables, "readable_module", Refusing.hlo_modules)
    with pytest.raises(CompileError, match="RET_CHECK"):
        xla.CompileOnlyExecutable(Refusing(serialized), xla.target("tpu", "v5e")).hlo_text()
    with pytest.raises(ArtifactError, match="RET_CHECK"):
        xla.saved_executable("", serialized, xla.target("tpu", "v5e"))
