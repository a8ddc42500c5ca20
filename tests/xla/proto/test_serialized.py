"""What stands in the bytes of an executable is what XLA says when it is asked."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_core import xla
from olympus_core.analysis.memory.memory import memory_of
from olympus_core.xla.hlo.hlo_module import HloModule
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto.buffer_assignment import read_assignment
from olympus_core.xla.proto.serialized import described

lax = olympus.lax
F32 = np.ones((8, 8), np.float32)


def _loop(x: Any, y: Any) -> Any:
    carried, rows = lax.scan(lambda c, _: (jnp.tanh(c @ y) + 2, c[0]), x, None, length=7)
    return carried, rows, y


PROGRAMS = {
    "scalar": (lambda x: x + 1, (np.float32(1),), ()),
    "loop": (_loop, (F32, F32), (0,)),
    "sorted": (lambda x, y: jnp.sort(x @ y), (F32, F32), ()),
    "cond": (lambda x, y: lax.cond(x[0, 0] > 0, jnp.sin, lambda z: z @ y, x), (F32, F32), (1,)),
    "table": (lambda x: (x @ jnp.arange(64.0).reshape(8, 8), x), (F32,), (0,)),
}


def compiled(name: str) -> Any:
    function, arguments, donated = PROGRAMS[name]
    return olympus.jit(function, donate_argnums=donated).lower(*arguments).compile().executable


def test_the_elements_of_a_large_constant_are_not_copied() -> None:
    table = np.random.default_rng(0).standard_normal(1 << 18).astype(np.float32)
    made = olympus.jit(lambda x: (x + table, jnp.float32(2))).lower(table).compile().executable
    data, told = made.serialize(), _content(made.hlo_module())
    made._module = None
    tracemalloc.start()
    made.read_from(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table.nbytes < len(data)
    assert _content(made.hlo_module()) == told
    constants = [each for each in made.hlo_module().entry.instructions.values() if each.has_literal]
    assert table.shape in [each.shape.sizes for each in constants]


def _content(module: HloModule) -> list[object]:
    computations = module.computations.values()
    return [[c.name, c.root_id, c.is_fusion, *c.instructions.values()] for c in computations]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bytes_have_what_xla_writes(name: str) -> None:
    made = compiled(name)
    found = described(made.serialize())
    assert found is not None
    (module,) = made._raw.hlo_modules()
    told = read_hlo_module(bytes(module.as_serialized_hlo_module_proto()))
    read = read_hlo_module(found.module)
    assert _content(read) == _content(told)
    assert (read.entry_id, read.schedule, read.input_output_alias) == (
        told.entry_id,
        told.schedule,
        told.input_output_alias,
    )
    stats = made._raw.get_compiled_memory_stats()
    assert read_assignment(found.assignment) == read_assignment(
        bytes(stats.serialized_buffer_assignment_proto)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_else_is_asked_of_the_compiler(name: str) -> None:
    asked, read = compiled(name), compiled(name)
    read.read_from(read.serialize())
    read._raw = SimpleNamespace()  # which knows nothing
    assert read.memory() == asked.memory()
    assert read.memory().argument_size_in_bytes is not None
    assert _content(read.hlo_module()) == _content(asked.hlo_module())
    assert memory_of(read) == memory_of(asked)


def test_the_figures_are_those_of_the_compiler() -> None:
    """Donated, constant, and those of a function's own: each counts where XLA counts it."""
    for name in PROGRAMS:
        made = compiled(name)
        stats = made._raw.get_compiled_memory_stats()
        found = described(made.serialize())
        assert found is not None
        assert read_assignment(found.assignment).analysis() == xla.MemoryAnalysis(
            *(getattr(stats, field) for field in xla.MemoryAnalysis._fields)
        )


@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[:100], lambda x: x[: len(x) // 2]])
def test_bytes_in_another_form_are_not_read(damage: Any) -> None:
    made = compiled("loop")
    data = damage(made.serialize())
    assert described(data) is None
    made.read_from(data)
    assert made.memory() == compiled("loop").memory()


def test_bytes_of_another_program_are_not_read() -> None:
    """Nor those that are no program's, where one should be."""
    made, other = compiled("loop"), compiled("sorted")
    made.read_from(other.serialize())
    assert made.hlo_module().name == "jit__loop"
    data = bytearray(other.serialize())
    at = data.index(b"jit__lambda_")
    for changed in (data[: at - 40] + b"\xff" * 40 + data[at:], data):
        other.read_from(bytes(changed))
        assert other.memory() == compiled("sorted").memory()


def test_what_the_compiler_simulated_it_is_asked_about() -> None:
    """The peak is then another, which it has found by its simulation."""
    made = compiled("scalar")
    made.read_from(made.serialize())
    made._assignment = made._assignment._replace(is_simulated=True)
    told = dict.fromkeys(xla.MemoryAnalysis._fields, 8)
    made._raw = SimpleNamespace(get_compiled_memory_stats=lambda: SimpleNamespace(**told))
    assert made.memory() == xla.MemoryAnalysis(8, 8, 8, 8, 8, 8)
