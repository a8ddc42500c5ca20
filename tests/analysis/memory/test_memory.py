"""The memory of compiled programs: programs known to hold N copies say N, and XLA's sums agree."""

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
both = pytest.mark.parametrize("target", TARGETS)

SIZE = 128
COPY = SIZE * SIZE * 4  # bytes of one float32[SIZE, SIZE]
SMALL = COPY // 16  # more than the scalars and the tables of pointers of a program take
ARRAY = olympus.ShapeDtypeStruct((SIZE, SIZE), np.float32)
#: which are sorted as they are; floats have keys made for the CPU
INTEGERS = olympus.ShapeDtypeStruct((SIZE, SIZE), np.int32)


def struct(*shape: int, dtype: str = "float32") -> olympus.ShapeDtypeStruct:
    return olympus.ShapeDtypeStruct(shape, dtype)


def compiled(
    function: Callable[..., Any], *arguments: Any, target: xla.Target = CPU, **options: Any
) -> olympus.stages.Compiled:
    return olympus.jit(function, **options).trace(*arguments).lower(target).compile()


def memory(function: Callable[..., Any], *arguments: Any, **options: Any) -> Memory:
    found = compiled(function, *arguments, **options).memory()
    check(found)
    return found


def check(found: Memory) -> None:
    """What holds for every program."""
    sizes = (found.arguments, found.results, found.temporaries, found.constants)
    assert found.allocated == sum(sizes) - found.aliased
    assert found.peak <= found.allocated
    # what the caller gave and what it gets are there together at the end
    assert found.peak >= found.arguments + found.results + found.constants - found.aliased
    everything = found.largest(10**9)
    assert sum(buffer.bytes for buffer in everything) == found.peak
    assert [b.bytes for b in everything] == sorted((b.bytes for b in everything), reverse=True)
    timeline = found.timeline()
    assert [moment.position for moment in timeline] == list(range(len(timeline)))
    assert max(moment.bytes for moment in timeline) == found.peak


def copies(found: Memory) -> int:
    """How many arrays of COPY bytes are live at the peak; the scalars' remainder is small."""
    count, rest = divmod(found.peak, COPY)
    assert rest < SMALL
    return count


@both
@pytest.mark.parametrize("count", [2, 5, 9])
def test_results_are_held_together(count: int, target: xla.Target) -> None:
    found = memory(lambda x: [jnp.sin(x * i) for i in range(1, count + 1)], ARRAY, target=target)
    assert copies(found) == 1 + count
    assert {b.kind for b in found.largest(count)} == {"result"}


@both
@pytest.mark.parametrize("count", [3, 6])
def test_arrays_that_are_all_used_at_the_end_are_held_together(
    count: int, target: xla.Target
) -> None:
    """Each is sorted, which fuses with nothing, before any is used."""

    def function(x):
        held = lax.optimization_barrier([jnp.sort(x * i, axis=0) for i in range(1, count + 1)])
        return [jnp.sum(h) for h in held]

    found = memory(function, INTEGERS, target=target)
    assert copies(found) in (1 + count, 2 + count)  # a sort may need a copy to work in
    temporaries = [b for b in found.largest(1 + count) if b.kind == "temporary"]
    assert len(temporaries) >= count


@both
def test_a_chain_holds_no_more_however_long_it_is(target: xla.Target) -> None:
    def chain(count: int) -> Callable[..., Any]:
        def function(x):
            for i in range(count):
                x = jnp.sort(x, axis=i % 2)
            return x

        return function

    three, six = (copies(memory(chain(n), INTEGERS, target=target)) for n in (3, 6))
    assert three == six <= 4


@both
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


@both
def test_layers_hold_their_residuals_and_checkpoint_makes_them_again(target: xla.Target) -> None:
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
    of_three = 3 * COPY  # the weights of three layers
    kept = peak(6, layers) - peak(3, layers)
    assert 3 * 4 * activation <= kept - of_three < 3 * 5 * activation
    made_again = peak(6, olympus.checkpoint(layers)) - peak(3, olympus.checkpoint(layers))
    assert 3 * activation <= made_again - of_three < 3 * 2 * activation


@both
def test_donation_saves_a_copy(target: xla.Target) -> None:
    def step(state, x):
        return jnp.sin(state) * 2 + x

    plain = memory(step, ARRAY, ARRAY, target=target)
    donated = memory(step, ARRAY, ARRAY, target=target, donate_argnums=0)
    assert (copies(plain), copies(donated)) == (3, 2)
    assert (plain.aliased, donated.aliased) == (0, COPY)


@both
def test_a_loop_carries_its_state_in_place(target: xla.Target) -> None:
    """However often it runs: the state, its next value and the argument."""

    def function(x, n):
        return lax.fori_loop(0, n, lambda i, c: jnp.sort(c, axis=0), x)

    found = memory(function, INTEGERS, struct(dtype="int32"), target=target)
    assert copies(found) in (2, 3, 4)
    steps = [m.operation for m in found.timeline()]
    assert sum("while" in step or "sort" in step for step in steps) >= 1


@both
def test_operations_are_called_as_the_program_calls_them(target: xla.Target) -> None:
    """By scopes and operation, whether a backward pass made it or not, and without the root."""

    def function(x):
        with olympus.named_scope("layer"):
            return jnp.sum(jnp.sin(x @ x))

    found = memory(olympus.grad(function), ARRAY, target=target)
    told = {each.operation for each in found.largest()} | {m.operation for m in found.timeline()}
    assert not [name for name in told if "jit" in name or "transpose(" in name]
    assert any(name.startswith("layer/") for name in told)


@both
def test_a_write_into_a_loops_state_takes_no_copy(target: xla.Target) -> None:
    def function(x):
        def body(i, table):
            return lax.dynamic_update_slice(table, x[None] * i, (i, 0, 0))

        return lax.fori_loop(0, 20, body, jnp.zeros((20, SIZE, SIZE)))

    found = memory(function, ARRAY, target=target)
    assert copies(found) in (21, 22)
    assert found.largest(1)[0].kind == "result"
    assert found.largest(1)[0].shape == (20, SIZE, SIZE)


@both
def test_branches_take_turns(target: xla.Target) -> None:
    """The dearer of two branches counts, not both."""

    def dear(x):
        held = lax.optimization_barrier([jnp.sort(x * i, axis=0) for i in range(1, 5)])
        return sum(h[0] for h in held)

    def function(p, x):
        return lax.cond(p, dear, lambda x: dear(x + 1) * 2, x)

    both_branches = memory(function, struct(dtype="bool"), ARRAY, target=target)
    one = memory(dear, ARRAY, target=target)
    assert both_branches.peak <= one.peak + 3 * COPY


def test_a_constant_is_held_for_the_whole_run() -> None:
    table = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    for target in (CPU,):
        found = memory(lambda x: x @ table, ARRAY, target=target)
        assert found.constants == COPY
        assert copies(found) == 3
        assert {b.kind for b in found.largest(3)} == {"argument", "result", "constant"}
        assert all(m.bytes >= 2 * COPY for m in found.timeline())


@needs_gpu_compiler
def test_a_constant_of_a_gpu_program_is_counted() -> None:
    table = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    found = memory(lambda x: x @ table, ARRAY, target=GPU)
    assert found.constants >= COPY
    assert "constant" in {b.kind for b in found.largest(4)}


@both
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
def test_the_bytes_of_an_element(dtype: str, size: int, target: xla.Target) -> None:
    found = memory(lambda x: x[::-1], struct(1000, dtype=dtype), target=target)
    assert (found.arguments, found.results) == (1000 * size, 1000 * size)
    assert found.peak == 2000 * size
    assert [(b.dtype, b.bytes) for b in found.largest(2)] == [(dtype, 1000 * size)] * 2


@both
def test_empty_arrays_and_programs_without_arguments(target: xla.Target) -> None:
    assert memory(lambda x: x * 2, struct(0, 4), target=target).peak == 0
    found = memory(lambda: jnp.ones((3, 3)), target=target)
    assert (found.arguments, found.results) == (0, 36)
    assert found.peak - found.constants == 36
    nothing = memory(lambda x: (), ARRAY, target=target)
    assert nothing.peak >= COPY


def chain(count: int, located: int | None) -> HloModule:
    """A chain of so many negations, of which one has a location, or none has."""
    from jaxlib import _hlo  # the product has no parser of HLO's text

    there = ', metadata={op_name="neg" source_file="/model.py" source_line=41}'
    lines = ["HloModule m, is_scheduled=true", "ENTRY main {", "v0 = f32[8] parameter(0)"]
    for n in range(1, count + 1):
        root = "ROOT " if n == count else ""
        lines.append(f"{root}v{n} = f32[8] negate(v{n - 1}){there if n == located else ''}")
    raw = _hlo.hlo_module_from_text("\n".join([*lines, "}"])).as_serialized_hlo_module_proto()
    return read_hlo_module(raw)


@pytest.mark.parametrize("located", [None, 1, 150, 300])
def test_lines_are_found_in_one_search(
    located: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = chain(300, located)
    asked = 0
    plain = Instruction.line.fget  # type: ignore[attr-defined]

    def counted(self: Instruction) -> str | None:
        nonlocal asked
        asked += 1
        line: str | None = plain(self)
        return line

    monkeypatch.setattr(Instruction, "line", property(counted))
    lines = Lines(module)
    found = {
        each.name: lines.line(each, module.entry) for each in module.entry.instructions.values()
    }
    want = "/model.py:41" if located else None
    assert found == {name: want if name != "v0" else None for name in found}
    assert asked < 5 * len(found)


def test_a_line_is_that_of_the_nearest_operand_and_else_of_the_nearest_user() -> None:
    from jaxlib import _hlo  # the product has no parser of HLO's text

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
    found = {each.name: lines.line(each, entry) for each in entry.instructions.values()}
    one, two = "/model.py:1", "/model.py:2"
    assert found == {
        "p": None, "u": one, "a": one, "b": one, "c": one, "d": two, "e": two, "f": two
    }  # fmt: skip


@pytest.mark.parametrize("n", ["x", 1.5, None, True])
def test_the_number_of_the_largest_is_an_integer(n: object) -> None:
    found = olympus.jit(lambda x: x + 1).lower(np.ones(8, np.float32)).compile().memory()
    assert len(found.largest(np.int64(1))) == 1
    with pytest.raises(UsageError, match="is an integer"):
        found.largest(n)  # type: ignore[arg-type]


@both
def test_the_largest_have_the_users_names_and_lines(target: xla.Target) -> None:
    def function(params, x):
        hidden = jnp.sort(x @ params["w"])
        return lax.optimization_barrier(hidden).sum()

    found = memory(function, {"w": struct(SIZE, 4 * SIZE)}, struct(4 * SIZE, SIZE), target=target)
    names = {b.name for b in found.largest(20) if b.kind == "argument"}
    assert names == {"params['w']", "x"}
    first = function.__code__.co_firstlineno
    hidden = [b for b in found.largest(20) if b.shape == (4 * SIZE, 4 * SIZE)]
    lines = {f"{__file__}:{first + 1}", f"{__file__}:{first + 2}"}
    assert {b.line for b in hidden} <= lines
    assert hidden
    assert {m.line for m in found.timeline()} & lines
    assert found.largest(2) == found.largest(20)[:2]
    assert found.largest(0) == found.largest(-1) == ()


def test_a_stored_executable_says_the_same() -> None:
    made = compiled(lambda x: jnp.sort(jnp.sin(x)) @ x, ARRAY)
    loaded = xla.load_executable(made.serialize(), CPU)
    again = olympus.stages.Compiled(made.signature, loaded, CPU).memory()
    assert again == made.memory()
    assert again.timeline() == made.memory().timeline()
    assert made.memory() is made.memory()


def test_a_bundle_says_the_same(tmp_path: Path) -> None:
    traced = olympus.jit(lambda x: jnp.sort(jnp.sin(x)) @ x).trace(ARRAY)
    path = save(tmp_path / "program.olympus", traced, name="f", entry="f:f")
    loaded = artifact.load(path).compiled()
    made = traced.lower().compile().memory()
    assert loaded.memory() == made
    assert loaded.memory().largest(3) == made.largest(3)


def test_a_backend_that_tells_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled(lambda x: x + 1, ARRAY)
    unscheduled = made.executable.hlo_module()._replace(schedule={})
    monkeypatch.setattr(xla.Executable, "hlo_module", lambda self: unscheduled)
    unknown = made.memory()
    assert (unknown.arguments, unknown.results) == (COPY, COPY)
    assert (unknown.peak, unknown.allocated) == (None, None)
    for ask in (unknown.timeline, unknown.largest):
        with pytest.raises(BackendError, match="what is live when is not known"):
            ask()


@both
def test_xlas_own_figures_are_kept(target: xla.Target) -> None:
    made = compiled(lambda x: jnp.sort(jnp.sin(x)) @ x, ARRAY, target=target)
    found, told = made.memory(), made.memory_analysis()
    assert found.arguments == told.argument_size_in_bytes
    assert found.results == told.output_size_in_bytes
    assert found.temporaries == told.temp_size_in_bytes
    assert found.aliased == told.alias_size_in_bytes
    assert found.code == told.generated_code_size_in_bytes
    assignment = made.executable.buffer_assignment()
    if target == CPU:  # the sum of the compiler's own allocations
        assert found.allocated == assignment.allocated
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
    """A program on two matrices that makes more of them, in loops and branches too."""
    number = st.integers(0, 99)
    steps = draw(
        st.lists(st.tuples(st.sampled_from([*STEPS]), number, number), min_size=1, max_size=8)
    )
    wanted = draw(st.lists(number, min_size=1, max_size=3))

    def function(a, b):
        made = [a, b]
        for kind, left, right in steps:
            unary, binary = UNARY[left % len(UNARY)], BINARY[right % len(BINARY)]
            made += STEPS[kind](unary, binary, made[left % len(made)], made[right % len(made)])
        return [made[i % len(made)] for i in wanted]

    return function


# which of the arguments fit a result is drawn too
usable = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")


@usable
@examples(12)
@given(function=programs(), donated=st.sampled_from([(), (0,), (0, 1)]))
def test_any_cpu_program(function: Callable[..., Any], donated: tuple[int, ...]) -> None:
    memory(function, struct(8, 8), struct(8, 8), donate_argnums=donated)


@needs_gpu_compiler
@usable
@examples(8)
@given(function=programs(), donated=st.sampled_from([(), (0,), (0, 1)]))
def test_any_gpu_program(function: Callable[..., Any], donated: tuple[int, ...]) -> None:
    memory(function, struct(8, 8), struct(8, 8), donate_argnums=donated, target=GPU)


class _Lived(NamedTuple):
    """What `_bytes_at` looks at of a value."""

    start: int
    end: int


@given(
    st.lists(
        st.tuples(*(st.integers(0, most) for most in (12, 12, 2, 10))),
        max_size=12,
    )
)
def test_bytes_that_are_taken_at_each_step(drawn: list[tuple[int, int, int, int]]) -> None:
    """Each byte that a value lies on counts once, while any of its values is live."""
    spots: list[Any] = [
        (_Lived(start, end), AllocationSlice(allocation, offset, 1 + (start + end + offset) % 7))
        for start, end, allocation, offset in drawn
    ]
    want = [
        len({
            (place.allocation, byte)
            for value, place in spots
            if value.start <= step <= value.end
            for byte in range(place.offset, place.offset + place.bytes)
        })
        for step in range(13)
    ]  # fmt: skip
    assert _bytes_at(13, spots).tolist() == want
