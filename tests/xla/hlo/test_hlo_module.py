"""The optimized program that is read from its bytes agrees with its text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_core import xla
from olympus_core.base.errors import ArtifactError
from olympus_core.xla.hlo.hlo_module import HloModule, Shape
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto.buffer_assignment import read_assignment
from olympus_core.xla.proto.wire import Message, cut, field
from tests.marks import needs_gpu_compiler

lax = olympus.lax
F32 = np.ones((8, 8), np.float32)
TARGETS = [
    pytest.param(xla.Target("cpu"), id="cpu"),
    pytest.param(xla.Target("gpu", "h200"), id="gpu", marks=needs_gpu_compiler),
]
#: The names of dtypes in the text of HLO.
SHORT = {
    "bool": "pred",
    "int8": "s8",
    "int32": "s32",
    "uint8": "u8",
    "uint32": "u32",
    "bfloat16": "bf16",
    "float32": "f32",
    "complex64": "c64",
}
IMAGES, KERNEL = np.ones((2, 9, 9, 4), np.float32), np.ones((3, 3, 4, 8), np.float32)


def _scan(x):
    return lax.scan(lambda c, _: (jnp.tanh(c @ x), c), x, None, length=7)


def _conv(images, kernel):
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        images, kernel, (2, 1), ((1, 0), (2, 1)), dimension_numbers=layout
    )


PROGRAMS = {
    "scan": (_scan, (F32,)),
    "cond": (lambda p, x: lax.cond(p, lambda x: jnp.sin(x @ x), lambda x: x, x), (True, F32)),
    "switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.sort, jnp.cumsum], x), (1, F32[0])),
    "conv": (_conv, (IMAGES, KERNEL)),
    "types": (
        lambda b, i, c, h: (b | True, i * 2, c * c, h + 1, jnp.zeros((0, 3), "uint8")),
        (F32 > 0, F32.astype(np.int8), F32.astype(np.complex64), jnp.ones(3, "bfloat16")),
    ),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(8)), (F32,)),
    "random": (lambda key: olympus.random.normal(key, (100,)), (np.zeros(2, np.uint32),)),
    "batched": (lambda x: jnp.einsum("bij,bjk->bik", x, x), (np.ones((3, 8, 8), np.float32),)),
}


def compiled(name: str, target: xla.Target, **options: object) -> olympus.stages.Compiled:
    function, arguments = PROGRAMS[name]
    return olympus.jit(function, **options).trace(*arguments).lower(target).compile()


def _type_text(shape: Shape) -> str:
    """Return a type as in the text of HLO, without the layout."""
    if shape.is_tuple:
        return f"({', '.join(map(_type_text, shape.elements))})"
    return f"{SHORT[shape.dtype]}[{','.join(map(str, shape.sizes))}]"


def _instructions_of(text: str) -> list[tuple[str, str, str]]:
    """Return the instructions of a text: the name, the type without the layout, and the opcode."""
    instructions = re.findall(r"^  (?:ROOT )?%(\S+) = (.*?) ([a-z][a-z-]*)\(", text, re.MULTILINE)
    return [
        (name, re.sub(r"\{[^}]*\}|/\*.*?\*/", "", shape), op) for name, shape, op in instructions
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_instructions_are_those_of_the_text(name: str, target: xla.Target) -> None:
    program = compiled(name, target)
    module = program.executable.hlo_module()
    read = {
        i.name: (i.name, _type_text(i.shape), i.opcode)
        for computation in module.computations.values()
        for i in module.ordered(computation)
        if "token" not in str(i.shape)
    }
    instructions = _instructions_of(program.as_text())
    assert instructions
    assert module.is_scheduled
    # the text has an asynchronous fusion as one instruction with a name of its own
    plain = [
        instruction
        for instruction in instructions
        if not instruction[2].endswith(("-start", "-done"))
    ]
    assert [read[name] for name, _, _ in plain] == plain
    in_entry = program.as_text().split("ENTRY")[1]
    ordered = [i.name for i in module.ordered(module.entry)]
    assert ordered == [name for name, _, _ in _instructions_of(in_entry)]


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_have_their_lines_and_operations(target: xla.Target) -> None:
    module = compiled("scan", target).executable.hlo_module()
    everything = [i for c in module.computations.values() for i in c.instructions.values()]
    line = _scan.__code__.co_firstlineno + 1
    (tanh,) = (i for i in everything if i.opcode == "tanh")
    assert (tanh.source_line, tanh.op_name) == (line, "jit__scan/tanh")
    assert tanh.line == f"{__file__}:{line}"
    (loop,) = (i for i in everything if i.opcode == "while")
    assert loop.trip_count == 7
    assert tanh.trip_count is None
    assert len(loop.called_computation_ids) == 2
    dots = [i.dot_dimensions for i in everything if i.opcode == "dot"]
    assert dots == ([((1,), (0,), (), ())] if target.backend == "cpu" else [])  # cuBLAS's


def test_products_and_convolutions_have_their_dimensions() -> None:
    cpu = xla.Target("cpu")
    dot = _only(compiled("batched", cpu).executable.hlo_module(), "dot")
    assert dot.dot_dimensions == ((2,), (1,), (0,), (0,))
    conv = _only(compiled("conv", cpu).executable.hlo_module(), "convolution")
    assert [(d.size, d.stride, d.padding_low, d.padding_high) for d in conv.window] == [
        (3, 2, 1, 0),
        (3, 1, 2, 1),
    ]
    dims = conv.convolution_dimensions
    assert dims is not None
    assert (dims.input_feature, dims.kernel_output_feature, dims.output_feature) == (3, 3, 3)
    assert (dims.input_spatial, dims.kernel_spatial) == ((1, 2), (0, 1))
    assert conv.feature_group_count == 1


def _only(module: HloModule, opcode: str):
    every = (i for c in module.computations.values() for i in c.instructions.values())
    (instruction,) = (i for i in every if i.opcode == opcode)
    return instruction


def test_donated_arguments_are_aliased() -> None:
    function = olympus.jit(lambda x, y: (x @ y, y + 1), donate_argnums=1)
    module = function.lower(F32, F32).compile().executable.hlo_module()
    assert [(a.output_index, a.parameter) for a in module.input_output_alias] in (
        [((0,), 1)],
        [((1,), 1)],
    )


@needs_gpu_compiler
def test_library_calls_have_a_target_and_a_config() -> None:
    module = compiled("conv", xla.Target("gpu", "h200")).executable.hlo_module()
    (call,) = (i for i in module.entry.instructions.values() if i.custom_call_target)
    assert call.custom_call_target.startswith("__cublas")
    assert call.config()["gemm_backend_config"]


def test_a_config_that_is_not_json_is_empty() -> None:
    module = compiled("scan", xla.Target("cpu")).executable.hlo_module()
    assert module.entry.root._replace(backend_config=b"opaque\xff").config() == {}
    assert module.entry.root._replace(backend_config=b"[1]").config() == {}


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_bytes_are_read_or_raise_an_artifact_error(target: xla.Target) -> None:
    """The bytes are truncated, or one byte is changed."""
    raw = compiled("cond", target).executable._raw
    data = bytes(raw.hlo_modules()[0].as_serialized_hlo_module_proto())
    rng = np.random.default_rng(0)
    refused = 0
    for at in rng.integers(0, len(data), 150):
        changed = bytearray(data)
        changed[at] ^= int(rng.integers(1, 256))
        for damaged in (data[:at], bytes(changed)):
            try:
                read_hlo_module(damaged)
            except ArtifactError:
                refused += 1
    assert refused > 150  # all truncated ones, and some of the changed ones


def test_a_module_without_an_entry_is_refused() -> None:
    with pytest.raises(ArtifactError, match="it has no entry"):
        read_hlo_module(b"")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08", "cut off"),
        (b"\x0a\x05hi", "cut off"),
        (b"\x08" + b"\xff" * 11, "more than 64 bits"),
        (b"\x0b", "wire type 3"),
        (b"\x00\x01", "without a number"),
        (b"\x0d\x01\x02", "cut off"),
    ],
)
def test_errors_in_the_wire_format_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        Message(data)


def test_the_content_of_a_field_is_removed_from_a_message() -> None:
    before, after = b"\x08\x96\x01" + field(2, b"name"), b"\x25\x01\x00\x00\x00\x29" + bytes(8)
    for content in (b"", b"\x01", bytes(300)):
        original = before + field(8, content) + after + field(8, b"again")
        for data in (original, memoryview(original)):
            assert cut(data, 8) == before + field(8, b"") + after + field(8, b"")
            assert cut(data, 9) == original
    for data, message in ((before[:-1], "cut off"), (b"\x0b", "wire type 3"), (b"\x42", "cut off")):
        with pytest.raises(ArtifactError, match=message):
            cut(data, 8)


def test_values_are_read_from_the_wire_format() -> None:
    message = Message(
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # -1 as a varint
        b"\x10\x07\x12\x02\x01\x02"  # a repeated field, unpacked and packed
        b"\x1a\x02\x08\x05\x1a\x02\x10\x06"  # a message in two parts
        b"\x25\x01\x00\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x00"  # 32 and 64 bits, fixed
    )
    assert message.integer(1) == -1
    assert message.integers(2) == (7, 1, 2)
    nested = message.message(3)
    assert nested is not None
    assert (nested.integer(1), nested.integer(2)) == (5, 6)
    assert (message.integer(4), message.integer(5)) == (1, 2)
    assert (message.integer(99), message.text(99), message.message(99)) == (0, "", None)
    for read in (message.text, message.message, message.texts):
        with pytest.raises(ArtifactError, match="not a message or text"):
            read(1)
    with pytest.raises(ArtifactError, match="not an integer"):
        message.integer(3)
    with pytest.raises(ArtifactError, match="not text"):
        Message(b"\x0a\x01\xff").text(1)


def test_a_damaged_buffer_assignment_is_refused() -> None:
    raw = compiled("cond", xla.Target("cpu")).executable._raw
    data = bytes(raw.get_compiled_memory_stats().serialized_buffer_assignment_proto)
    assignment = read_assignment(data)
    assert assignment.places
    with pytest.raises(ArtifactError, match="cut off"):
        read_assignment(data[:-1])
    with pytest.raises(ArtifactError, match="the value 9 is missing"):
        read_assignment(b"\x1a\x04\x4a\x02\x08\x09")
    value = b"\x0a\x06\x08\x09\x1a\x02\x20\x07"
    with pytest.raises(ArtifactError, match="does not fit"):
        read_assignment(value + b"\x1a\x06\x4a\x04\x08\x09\x18\x08")


def test_the_program_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = olympus.jit(lambda x: x + 1).lower(np.ones(8, np.float32)).compile()
    read: list[int] = []

    def counted(data: bytes) -> HloModule:
        read.append(len(data))
        return read_hlo_module(data)

    monkeypatch.setattr("olympus_core.xla.runtime.executable.read_hlo_module", counted)
    program.memory()
    program.estimate()
    program.estimate("h200")
    assert len(read) == 1
