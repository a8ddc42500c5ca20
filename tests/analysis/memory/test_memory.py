"""The memory of compiled programs: known numbers of live copies, and agreement with XLA's sums."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
import olympus.numpy as jnp
from olympus_core import artifact, xla
from olympus_core.analysis.memory.memory import Memory, _bytes_at
from olympus_core.analysis.sources.lines import Lines
from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla.hlo.hlo_module import HloModule, Instruction
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto.buffer_assignment import AllocationSlice
from tests.artifact.bundles import save
from tests.drawn import examples
from tests.marks import needs_gpu_compiler

lax = olympus.lax
CPU, GPU = xla.Target("cpu"), xla.Target("gpu", "h200")
TARGETS = [
    pytest.param(CPU, id="cpu"),
    pytest.param(GPU, id="gpu", marks=needs_gpu_compiler),
]
both_targets = pytest.mark.parametrize("target", TARGETS)

SIZE = 128
COPY = SIZE * SIZE * 4  # bytes of one float32[SIZE, SIZE]
SMALL = COPY // 16  # larger than the scalars and the tables of pointers of a program
ARRAY = olympus.ShapeDtypeStruct((SIZE, SIZE), np.float32)
#: Integers are sorted directly; to sort floats, the CPU computes keys.
INTEGERS = olympus.ShapeDtypeStruct((SIZE, SIZE), np.int32)


def struct(*shape: int, dtype: str = "float32") -> olympus.ShapeDtypeStruct:
    return olympus.ShapeDtypeStruct(shape, dtype)


def compiled(
    function: Callable[..., Any], *arguments: Any, target: xla.Target = CPU, **options: Any
) -> olympus.stages.Compiled:
    return olympus.jit(function, **options).trace(*arguments).lower(target).compile()


def memory(function: Callable[..., Any], *arguments: Any, **options: Any) -> Memory:
    figures = compiled(function, *arguments, **options).memory()
    check(figures)
    return figures


def check(figures: Memory) -> None:
    """Check the relations that hold for every program."""
    sizes = (figures.arguments, figures.results, figures.temporaries, figures.constants)
    assert figures.allocated == sum(sizes) - figures.aliased
    assert figures.peak <= figures.allocated
    # the arguments and the results are all live at the end
    assert figures.peak >= figures.arguments + figures.results + figures.constants - figures.aliased
    everything = figures.largest(10**9)
    assert sum(buffer.bytes for buffer in everything) == figures.peak
    assert [b.bytes for b in everything] == sorted((b.bytes for b in everything), reverse=True)
    timeline = figures.timeline()
    assert [moment.position for moment in timeline] == list(range(len(timeline)))
    assert max(moment.bytes for moment in timeline) == figures.peak


def copies(figures: Memory) -> int:
    """Return the number of arrays of COPY bytes that are live at the peak, without scalars."""
    count, remainder = divmod(figures.peak, COPY)
    assert remainder < SMALL
    return count


@both_targets
@pytest.mark.parametrize("count", [2, 5, 9])
def test_all_results_are_live_at_the_peak(count: int, target: xla.Target) -> None:
    figures = memory(lambda x: [jnp.sin(x * i) for i in range(1, count + 1)], ARRAY, target=target)
    assert copies(figures) == 1 + count
    assert {b.kind for b in figures.largest(count)} == {"result"}


@both_targets
@pytest.mark.parametrize("count", [3, 6])
def test_arrays_that_are_used_at_the_end_are_all_live_at_the_peak(
    count: int, target: xla.Target
) -> None:
    """Sorts do not fuse, so all arrays exist before any is used."""

    def function(x):
        arrays = lax.optimization_barrier([jnp.sort(x * i, axis=0) for i in range(1, count + 1)])
        return [jnp.sum(h) for h in arrays]

    figures = memory(function, INTEGERS, target=target)
    assert copies(figures) in (1 + count, 2 + count)  # a sort may need a copy to work in
    temporaries = [b for b in figures.largest(1 + count) if b.kind == "temporary"]
    assert len(temporaries) >= count


@both_targets
def test_the_peak_of_a_chain_does_not_depend_on_its_length(target: xla.Target) -> None:
    def chain(count: int) -> Callable[..., Any]:
        def function(x):
            for i in range(count):
                x = jnp.sort(x, axis=i % 2)
            return x

        return function

    three, six = (copies(memory(chain(n), INTEGERS, target=target)) for n in (3, 6))
    assert three == six <= 4


@both_targets
@pytest.mark.parametrize("steps", [4, 11])
def test_a_scan_stacks_its_residuals(steps: int, target: xla.Target) -> None:
    def loss(w, x):
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=steps)[0].sum()

    gradient = memory(olympus.grad(loss), ARRAY, ARRAY, target=target)
    stacked = [b for b in gradient.largest(10) if b.shape[:1] == (steps,)]
    assert stacked
    assert all(b.bytes == steps * COPY and b.kind == "temporary" for b in stacked)
    line = f"{__file__}:{loss.__code__.co_firstlineno + 1}"
    assert {b.line for b in stacked} == {line}
    plain = memory(loss, ARRAY, ARRAY, target=target)
    assert gradient.peak - plain.peak >= (len(stacked) - 1) * steps * COPY


@both_targets
def test_layers_save_their_residuals_and_checkpoint_recomputes_them(target: xla.Target) -> None:
    def layers(x, w):
        for _ in range(4):
            x = jnp.tanh(x @ w)
        return x, None

    def peak(count: int, layer: Callable[..., Any]) -> int:
        def loss(x, weights):
            return lax.scan(layer, x, weights)[0].sum()

        arguments = struct(8 * SIZE, SIZE), struct(count, SIZE, SIZE)
        return memory(olympus.grad(loss), *arguments, target=target).peak

    activation = 8 * COPY
    three_weights = 3 * COPY  # the weights of three layers
    with_saved = peak(6, layers) - peak(3, layers)
    assert 3 * 4 * activation <= with_saved - three_weights < 3 * 5 * activation
    with_recomputed = peak(6, olympus.checkpoint(layers)) - peak(3, olympus.checkpoint(layers))
    assert 3 * activation <= with_recomputed - three_weights < 3 * 2 * activation


@both_targets
def test_donation_saves_a_copy(target: xla.Target) -> None:
    def step(state, x):
        return jnp.sin(state) * 2 + x

    plain = memory(step, ARRAY, ARRAY, target=target)
    donated = memory(step, ARRAY, ARRAY, target=target, donate_argnums=0)
    assert (copies(plain), copies(donated)) == (3, 2)
    assert (plain.aliased, donated.aliased) == (0, COPY)


@both_targets
def test_a_loop_carries_its_state_in_place(target: xla.Target) -> None:
    """The state, its next value and the argument are live, for any number of iterations."""

    def function(x, n):
        return lax.fori_loop(0, n, lambda i, c: jnp.sort(c, axis=0), x)

    figures = memory(function, INTEGERS, struct(dtype="int32"), target=target)
    assert copies(figures) in (2, 3, 4)
    steps = [m.operation for m in figures.timeline()]
    assert sum("while" in step or "sort" in step for step in steps) >= 1


@both_targets
def test_operations_have_the_names_of_the_program(target: xla.Target) -> None:
    """A name has the scopes and the operation, without the root and without transformations."""

    def function(x):
        with olympus.named_scope("layer"):
            return jnp.sum(jnp.sin(x @ x))

    figures = memory(olympus.grad(function), ARRAY, target=target)
    names = {buffer.operation for buffer in figures.largest()} | {
        m.operation for m in figures.timeline()
    }
    assert not [name for name in names if "jit" in name or "transpose(" in name]
    assert any(name.startswith("layer/") for name in names)


@both_targets
def test_a_write_into_a_loops_state_takes_no_copy(target: xla.Target) -> None:
    def function(x):
        def body(i, table):
            return lax.dynamic_update_slice(table, x[None] * i, (i, 0, 0))

        return lax.fori_loop(0, 20, body, jnp.zeros((20, SIZE, SIZE)))

    figures = memory(function, ARRAY, target=target)
    assert copies(figures) in (21, 22)
    assert figures.largest(1)[0].kind == "result"
    assert figures.largest(1)[0].shape == (20, SIZE, SIZE)


@both_targets
def test_only_the_largest_branch_counts(target: xla.Target) -> None:
    """The dearer of two branches counts, not both_targets."""

    def expensive(x):
        arrays = lax.optimization_barrier([jnp.sort(x * i, axis=0) for i in range(1, 5)])
        return sum(h[0] for h in arrays)

    def function(p, x):
        return lax.cond(p, expensive, lambda x: expensive(x + 1) * 2, x)

    both_branches = memory(function, struct(dtype="bool"), ARRAY, target=target)
    one_branch = memory(expensive, ARRAY, target=target)
    assert both_branches.peak <= one_branch.peak + 3 * COPY


def test_a_constant_is_live_for_the_whole_run() -> None:
    table = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    for target in (CPU,):
        figures = memory(lambda x: x @ table, ARRAY, target=target)
        assert figures.constants == COPY
        assert copies(figures) == 3
        assert {b.kind for b in figures.largest(3)} == {"argument", "result", "constant"}
        assert all(m.bytes >= 2 * COPY for m in figures.timeline())


@needs_gpu_compiler
def test_a_constant_of_a_gpu_program_is_counted() -> None:
    table = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    figures = memory(lambda x: x @ table, ARRAY, target=GPU)
    assert figures.constants >= COPY
    assert "constant" in {b.kind for b in figures.largest(4)}


@both_targets
@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("bool", 1),
        ("int8", 1),
        ("bfloat16", 2),
        ("int32", 4),
        ("complex64", 8),
        ("float8_e4m3fn", 1),
    ],
)
def test_the_size_of_an_element_is_that_of_its_dtype(
    dtype: str, size: int, target: xla.Target
) -> None:
    figures = memory(lambda x: x[::-1], struct(1000, dtype=dtype), target=target)
    assert (figures.arguments, figures.results) == (1000 * size, 1000 * size)
    assert figures.peak == 2000 * size
    assert [(b.dtype, b.bytes) for b in figures.largest(2)] == [(dtype, 1000 * size)] * 2


@both_targets
def test_empty_arrays_and_programs_without_arguments_have_a_peak(target: xla.Target) -> None:
    assert memory(lambda x: x * 2, struct(0, 4), target=target).peak == 0
    figures = memory(lambda: jnp.ones((3, 3)), target=target)
    assert (figures.arguments, figures.results) == (0, 36)
    assert figures.peak - figures.constants == 36
    nothing = memory(lambda x: (), ARRAY, target=target)
    assert nothing.peak >= COPY


def chain(count: int, located: int | None) -> HloModule:
    """Return a chain of `count` negations, of which number `located` has a location."""
    from jaxlib import _hlo  # OLYMPUS itself has no parser of HLO text

    there = ', metadata={op_name="neg" source_file="/model.py" source_line=41}'
    lines = ["HloModule m, is_scheduled=true", "ENTRY main {", "v0 = f32[8] parameter(0)"]
    for n in range(1, count + 1):
        root = "ROOT " if n == count else ""
        lines.append(f"{root}v{n} = f32[8] negate(v{n - 1}){there if n == located else ''}")
    raw = _hlo.hlo_module_from_text("\n".join([*lines, "}"])).as_serialized_hlo_module_proto()
    return read_hlo_module(raw)


@pytest.mark.parametrize("located", [None, 1, 150, 300])
def test_lines_are_searched_once(located: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    module = chain(300, located)
    reads = 0
    plain = Instruction.line.fget  # type: ignore[attr-defined]

    def counted(self: Instruction) -> str | None:
        nonlocal reads
        reads += 1
        line: str | None = plain(self)
        return line

    monkeypatch.setattr(Instruction, "line", property(counted))
    lines = Lines(module)
    lines_by_name = {
        instruction.name: lines.line(instruction, module.entry)
        for instruction in module.entry.instructions.values()
    }
    expected = "/model.py:41" if located else None
    assert lines_by_name == {name: expected if name != "v0" else None for name in lines_by_name}
    assert reads < 5 * len(lines_by_name)


def test_a_line_is_that_of_the_nearest_operand_or_else_user() -> None:
    from jaxlib import _hlo  # OLYMPUS itself has no parser of HLO text

    at = 'metadata={op_name="o" source_file="/model.py" source_line=%d}'
    text = f"""
HloModule m, is_scheduled=true
ENTRY main {{
  p = f32[8] parameter(0)
  u = f32[8] negate(p)
  a = f32[8] negate(u), {at % 1}
  b = f32[8] negate(a)
  c = f32[8] negate(b)
  d = f32[8] negate(u), {at % 2}
  e = f32[8] negate(d)
  ROOT f = f32[8] add(c, e)
}}"""
    module = read_hlo_module(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    lines, entry = Lines(module), module.entry
    lines_by_name = {
        instruction.name: lines.line(instruction, entry)
        for instruction in entry.instructions.values()
    }
    first, second = "/model.py:1", "/model.py:2"
    assert lines_by_name == {
        "p": None, "u": first, "a": first, "b": first, "c": first,
        "d": second, "e": second, "f": second,
    }  # fmt: skip


@pytest.mark.parametrize("n", ["x", 1.5, None, True])
def test_the_number_of_largest_buffers_must_be_an_integer(n: object) -> None:
    figures = olympus.jit(lambda x: x + 1).lower(np.ones(8, np.float32)).compile().memory()
    assert len(figures.largest(np.int64(1))) == 1
    with pytest.raises(UsageError, match="is an integer"):
        figures.largest(n)  # type: ignore[arg-type]


@both_targets
def test_the_largest_buffers_have_the_users_names_and_lines(target: xla.Target) -> None:
    def function(params, x):
        hidden = jnp.sort(x @ params["w"])
        return lax.optimization_barrier(hidden).sum()

    figures = memory(function, {"w": struct(SIZE, 4 * SIZE)}, struct(4 * SIZE, SIZE), target=target)
    names = {b.name for b in figures.largest(20) if b.kind == "argument"}
    assert names == {"params['w']", "x"}
    first = function.__code__.co_firstlineno
    hidden = [b for b in figures.largest(20) if b.shape == (4 * SIZE, 4 * SIZE)]
    lines = {f"{__file__}:{first + 1}", f"{__file__}:{first + 2}"}
    assert {b.line for b in hidden} <= lines
    assert hidden
    assert {m.line for m in figures.timeline()} & lines
    assert figures.largest(2) == figures.largest(20)[:2]
    assert figures.largest(0) == figures.largest(-1) == ()


def test_a_loaded_executable_has_the_same_memory() -> None:
    program = compiled(lambda x: jnp.sort(jnp.sin(x)) @ x, ARRAY)
    loaded = xla.load_executable(program.serialize(), CPU)
    reloaded = olympus.stages.Compiled(program.signature, loaded, CPU).memory()
    assert reloaded == program.memory()
    assert reloaded.timeline() == program.memory().timeline()
    assert program.memory() is program.memory()


def test_a_bundle_has_the_same_memory(tmp_path: Path) -> None:
    traced = olympus.jit(lambda x: jnp.sort(jnp.sin(x)) @ x).trace(ARRAY)
    path = save(tmp_path / "program.olympus", traced, name="f", entry="f:f")
    loaded = artifact.load(path).compiled()
    memory_of_program = traced.lower().compile().memory()
    assert loaded.memory() == memory_of_program
    assert loaded.memory().largest(3) == memory_of_program.largest(3)


def test_without_a_schedule_the_peak_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled(lambda x: x + 1, ARRAY)
    unscheduled = program.executable.hlo_module()._replace(schedule={})
    monkeypatch.setattr(xla.Executable, "hlo_module", lambda self: unscheduled)
    unknown = program.memory()
    assert (unknown.arguments, unknown.results) == (COPY, COPY)
    assert (unknown.peak, unknown.allocated) == (None, None)
    for method in (unknown.timeline, unknown.largest):
        with pytest.raises(BackendError, match="what is live when is not known"):
            method()


@needs_gpu_compiler
def test_an_element_of_a_tuple_is_overwritten_only_by_a_result() -> None:
    def of_sorted(x: Any, places: Any) -> Any:
        first, second = lax.sort((jnp.sum(x, 1), jnp.max(x, 1)), num_keys=1)
        return jnp.sum((first / second)[places])

    program = compiled(of_sorted, struct(1000, 64), struct(1000, dtype="int32"), target=GPU)
    xla_peak = program.memory_analysis().peak_memory_in_bytes
    assert abs(program.memory().peak - xla_peak) < 100  # two reductions and three sorted arrays
    assert program.memory().peak > 4 * (64_000 + 1000 + 5 * 1000)


@both_targets
def test_the_sizes_are_those_of_xla(target: xla.Target) -> None:
    program = compiled(lambda x: jnp.sort(jnp.sin(x)) @ x, ARRAY, target=target)
    figures, analysis = program.memory(), program.memory_analysis()
    assert figures.arguments == analysis.argument_size_in_bytes
    assert figures.results == analysis.output_size_in_bytes
    assert figures.temporaries == analysis.temp_size_in_bytes
    assert figures.aliased == analysis.alias_size_in_bytes
    assert figures.code == analysis.generated_code_size_in_bytes
    assignment = program.executable.buffer_assignment()
    if target == CPU:  # the sum of the allocations of the compiler
        assert figures.allocated == assignment.allocated
    else:
        assert assignment is None


UNARY: list[Callable[..., Any]] = [
    jnp.sin,
    jnp.sort,
    lambda x: jnp.cumsum(x, axis=0),
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x * 2 + 1,
]
BINARY: list[Callable[..., Any]] = [
    jnp.add,
    jnp.matmul,
    jnp.multiply,
    lambda x, y: jnp.where(x > y, x, y),
]
STEPS: dict[str, Callable[..., Any]] = {
    "unary": lambda unary, binary, x, y: [unary(x)],
    "binary": lambda unary, binary, x, y: [binary(x, y)],
    "loop": lambda unary, binary, x, y: [lax.fori_loop(0, 3, lambda i, c: unary(binary(c, y)), x)],
    "scan": lambda unary, binary, x, y: lax.scan(lambda c, row: (unary(c) + row, c[0]), x, y),
    "branch": lambda unary, binary, x, y: [lax.cond(x[0, 0] > 0, unary, lambda x: binary(x, x), x)],
    "write": lambda unary, binary, x, y: [x.at[2].set(y[0])],
}


@st.composite
def programs(draw: st.DrawFn) -> Callable[..., Any]:
    """A program that computes matrices from two, also in loops and branches."""
    number = st.integers(0, 99)
    steps = draw(
        st.lists(st.tuples(st.sampled_from([*STEPS]), number, number), min_size=1, max_size=8)
    )
    result_numbers = draw(st.lists(number, min_size=1, max_size=3))

    def function(a, b):
        values = [a, b]
        for kind, left, right in steps:
            unary, binary = UNARY[left % len(UNARY)], BINARY[right % len(BINARY)]
            values += STEPS[kind](
                unary, binary, values[left % len(values)], values[right % len(values)]
            )
        return [values[i % len(values)] for i in result_numbers]

    return function


# the donated arguments are drawn, and may not fit a result
usable = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


@usable
@examples(12)
@given(function=programs(), donated=st.sampled_from([(), (0,), (0, 1)]))
def test_the_memory_of_drawn_cpu_programs_is_consistent(
    function: Callable[..., Any], donated: tuple[int, ...]
) -> None:
    memory(function, struct(8, 8), struct(8, 8), donate_argnums=donated)


@needs_gpu_compiler
@usable
@examples(8)
@given(function=programs(), donated=st.sampled_from([(), (0,), (0, 1)]))
def test_the_memory_of_drawn_gpu_programs_is_consistent(
    function: Callable[..., Any], donated: tuple[int, ...]
) -> None:
    memory(function, struct(8, 8), struct(8, 8), donate_argnums=donated, target=GPU)


class _LiveRange(NamedTuple):
    """The attributes of a value that `_bytes_at` uses."""

    start: int
    end: int


@given(
    st.lists(
        st.tuples(*(st.integers(0, most) for most in (12, 12, 2, 10))),
        max_size=12,
    )
)
def test_bytes_at_counts_the_live_bytes_of_each_step(
    drawn: list[tuple[int, int, int, int]],
) -> None:
    """A byte counts once at each step at which a value that uses it is live."""
    spots: list[Any] = [
        (
            _LiveRange(start, end),
            AllocationSlice(allocation, offset, 1 + (start + end + offset) % 7),
        )
        for start, end, allocation, offset in drawn
    ]
    expected = [
        len({
            (place.allocation, byte)
            for value, place in spots
            if value.start <= step <= value.end
            for byte in range(place.offset, place.offset + place.bytes)
        })
        for step in range(13)
    ]  # fmt: skip
    assert _bytes_at(13, spots).tolist() == expected
