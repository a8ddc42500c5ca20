"""The bytes of an executable contain the same module and figures that XLA returns."""

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
from olympus_core.xla.proto.serialized import canonical, described

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
    executable = (
        olympus.jit(lambda x: (x + table, jnp.float32(2))).lower(table).compile().executable
    )
    data, content = executable.serialize(), _content(executable.hlo_module())
    executable._module = None
    tracemalloc.start()
    executable.read_from(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table.nbytes < len(data)
    assert _content(executable.hlo_module()) == content
    constants = [
        instruction
        for instruction in executable.hlo_module().entry.instructions.values()
        if instruction.has_literal
    ]
    assert table.shape in [instruction.shape.sizes for instruction in constants]


def _content(module: HloModule) -> list[object]:
    computations = module.computations.values()
    return [[c.name, c.root_id, c.is_fusion, *c.instructions.values()] for c in computations]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bytes_have_the_module_and_the_assignment_of_xla(name: str) -> None:
    executable = compiled(name)
    description = described(executable.serialize())
    assert description is not None
    (module,) = executable._raw.hlo_modules()
    from_xla = read_hlo_module(bytes(module.as_serialized_hlo_module_proto()))
    read = read_hlo_module(description.module)
    assert _content(read) == _content(from_xla)
    assert (read.entry_id, read.schedule, read.input_output_alias) == (
        from_xla.entry_id,
        from_xla.schedule,
        from_xla.input_output_alias,
    )
    stats = executable._raw.get_compiled_memory_stats()
    assert read_assignment(description.assignment) == read_assignment(
        bytes(stats.serialized_buffer_assignment_proto)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_executable_that_is_read_needs_no_query_of_xla(name: str) -> None:
    from_compiler, read = compiled(name), compiled(name)
    read.read_from(read.serialize())
    read._raw = SimpleNamespace()  # an executable of XLA that answers no query
    assert read.memory() == from_compiler.memory()
    assert read.memory().argument_size_in_bytes is not None
    assert _content(read.hlo_module()) == _content(from_compiler.hlo_module())
    assert memory_of(read) == memory_of(from_compiler)


def test_the_figures_are_those_of_xla() -> None:
    """Donated arguments, constants and temporaries count as in XLA."""
    for name in PROGRAMS:
        executable = compiled(name)
        stats = executable._raw.get_compiled_memory_stats()
        description = described(executable.serialize())
        assert description is not None
        assert read_assignment(description.assignment).analysis() == xla.MemoryAnalysis(
            *(getattr(stats, field) for field in xla.MemoryAnalysis._fields)
        )


@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[:100], lambda x: x[: len(x) // 2]])
def test_damaged_bytes_are_ignored(damage: Any) -> None:
    executable = compiled("loop")
    data = damage(executable.serialize())
    assert described(data) is None
    executable.read_from(data)
    assert executable.memory() == compiled("loop").memory()


def test_bytes_of_another_program_are_ignored() -> None:
    """Bytes that are no program are ignored too."""
    executable, other = compiled("loop"), compiled("sorted")
    executable.read_from(other.serialize())
    assert executable.hlo_module().name == "jit__loop"
    data = bytearray(other.serialize())
    at = data.index(b"jit__lambda")
    for changed in (data[: at - 40] + b"\xff" * 40 + data[at:], data):
        other.read_from(bytes(changed))
        assert other.memory() == compiled("sorted").memory()


def test_figures_of_a_simulated_assignment_are_queried_from_xla() -> None:
    """XLA computes another peak by simulation."""
    executable = compiled("scalar")
    executable.read_from(executable.serialize())
    executable._assignment = executable._assignment._replace(is_simulated=True)
    figures = dict.fromkeys(xla.MemoryAnalysis._fields, 8)
    executable._raw = SimpleNamespace(get_compiled_memory_stats=lambda: SimpleNamespace(**figures))
    assert executable.memory() == xla.MemoryAnalysis(8, 8, 8, 8, 8, 8)


def _nested(x: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        branch = [lambda x: jnp.sort(x) * 2, lambda x: jnp.cumsum(jnp.sin(x))]
        return olympus.lax.cond(carry.sum() > 0, *branch, carry), carry[0]

    return olympus.lax.while_loop(
        lambda x: x.sum() < 3, lambda x: olympus.lax.scan(step, x + 1, length=3)[0], x
    )


def test_each_compilation_of_a_program_has_equal_bytes() -> None:
    lowered = olympus.jit(_nested).lower(np.ones(5, np.float32))
    contents = set()
    for count in range(3):
        for i in range(count):  # the compiler numbers the programs of a process
            olympus.jit(lambda x, i=i: x * (i + 2)).lower(1.0).compile()
        executable = lowered.compile().executable
        contents.add(executable.serialize())
        assert bytes(executable._raw.serialize()) not in contents
    (content,) = contents
    assert canonical(content) == content
    x = np.float32([1, -1, 0.5, 3, -2])
    loaded = lowered.load(content)
    np.testing.assert_array_equal(loaded(x[:5]), lowered.compile()(x[:5]))


@pytest.mark.parametrize("damage", [lambda x: x[:50], lambda x: b"\xff" * 20, lambda x: b""])
def test_bytes_of_another_form_have_no_canonical_form(damage: Any) -> None:
    content = damage(bytes(compiled("loop")._raw.serialize()))
    assert canonical(content) == content
