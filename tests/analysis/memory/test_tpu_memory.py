"""The memory of programs for TPUs: padded layouts, and arrays in a core's own memory."""

from __future__ import annotations

import olympus
import olympus.numpy as np
from olympus_core.analysis.memory.liveness import Liveness
from olympus_core.xla import target
from olympus_core.xla.bindings import _hlo
from olympus_core.xla.hlo.hlo_module import Shape
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from tests.analysis.hlo.estimated import compiled, shape
from tests.marks import needs_tpu_compiler


def padded(sizes, *tiles, dtype="float32", bits=32, layout=None):
    layout = tuple(reversed(range(len(sizes)))) if layout is None else layout
    return Shape(dtype, sizes, layout, element_bits=bits, tiles=tiles).padded_bytes


def test_tiles_pad_the_fastest_dimensions():
    assert padded((100_000, 3), (8, 128)) == 100_000 * 128 * 4
    assert padded((100_000, 3), (4, 128), layout=(0, 1)) == 4 * 100_096 * 4
    assert padded((100_000,), (1024,)) == 98 * 1024 * 4
    assert padded((), (128,)) == 128 * 4
    assert padded((7, 5, 130), (8, 128)) == 7 * 8 * 256 * 4
    assert padded((1024, 2048), (8, 128), (2, 1), dtype="bfloat16", bits=16) == 2**22
    assert padded((3, 5), (8, 128), (2, 1), dtype="bfloat16", bits=16) == 8 * 128 * 2
    assert padded((3, 5)) == 60  # a layout without tiles


@needs_tpu_compiler
def test_the_sizes_of_arguments_and_results_are_those_of_the_compiler():
    program = compiled(
        lambda x, y: (x * 2, np.concatenate([y, y], axis=1)),
        shape(1000, 3), shape(3, 200, dtype="bfloat16"),
        target=target("tpu", "v5e"),
    )  # fmt: skip
    memory, module = program.memory(), program.executable.hlo_module()
    arguments = [parameter.shape.padded_bytes for parameter in module.entry.parameters]
    assert sum(arguments) == memory.arguments > 1000 * 3 * 4 + 3 * 200 * 2
    assert memory.peak <= memory.allocated
    assert len(memory.timeline()) > 1
    assert max(moment.bytes for moment in memory.timeline()) == memory.peak


@needs_tpu_compiler
def test_a_padded_buffer_has_both_sizes_and_the_line():
    def f(x):
        return x.reshape(3, 100_000).T * 2.0

    program = compiled(f, shape(300_000), target=target("tpu", "v5e"))
    buffer = next(each for each in program.memory().largest() if each.tile and each.line)
    assert buffer.unpadded == 100_000 * 3 * 4 < buffer.bytes
    assert len(buffer.tile) == 2
    assert buffer.line.startswith(__file__)


@needs_tpu_compiler
def test_an_array_in_a_cores_own_memory_does_not_count():
    small = compiled(
        lambda x, w: np.tanh(x @ w),
        shape(1024, 2048, dtype="bfloat16"), shape(2048, 1024, dtype="bfloat16"),
        target=target("tpu", "v6e"),
    )  # fmt: skip
    assert "S(1)" in small.as_text()
    assert small.memory().peak == 2**23 + 2**21


@needs_tpu_compiler
def test_a_donated_argument_is_reused():
    program = compiled(
        lambda x: x + 1, shape(512, 512), target=target("tpu", "v4"), donate_argnums=0
    )
    memory = program.memory()
    assert memory.aliased == memory.results == memory.peak == 2**20
    assert olympus.analysis.fits(memory.peak, olympus.stages.device_model(program.target)).is_enough


ASYNC = """
HloModule started, is_scheduled=true

added {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT sum = f32[4] add(x, y)
}

ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  start = ((f32[4], f32[4]), f32[4], u32[]) async-start(a, b), calls=added
  ROOT done = f32[4] async-done(start), calls=added
}
"""


def test_an_operand_that_an_asynchronous_computation_gets_after_its_start_is_a_value():
    proto = _hlo.hlo_module_from_text(ASYNC).as_serialized_hlo_module_proto()
    module = read_hlo_module(proto)
    entry = module.entry
    (start,) = [i for i in entry.instructions.values() if i.opcode == "async-start"]
    operands, result, context = start.shape.elements
    first = operands._replace(elements=operands.elements[:1])
    later = start._replace(
        operand_ids=start.operand_ids[:1],
        shape=start.shape._replace(elements=(first, result, context)),
    )
    entry._instructions = {**entry.instructions, start.id: later}
    names = [value.instruction.name for value in Liveness(module).values]
    assert names.count("y") == 1  # the parameter of the computation is a value of its own
