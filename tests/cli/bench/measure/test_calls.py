"""Calls with alternating inputs and with donated arguments, on a program that records them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus
from olympus.sharding import NamedSharding, PartitionSpec
from olympus_cli.bench.measure.calls import Calls
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable
from tests.cli.arrays import arg_info

CPU = olympus.target("cpu")


class Recording:
    """A compiled program that records the first element of each argument of each call."""

    def __init__(
        self,
        function: Any,
        shapes: tuple[tuple[int, ...], ...],
        donate: tuple[int, ...],
        **shardings: Any,
    ) -> None:
        structs = [olympus.ShapeDtypeStruct(shape, np.dtype("float32")) for shape in shapes]
        jitted = olympus.jit(function, donate_argnums=donate, **shardings)
        with warnings.catch_warnings():  # donated without a result that can use the memory
            warnings.simplefilter("ignore")
            self.compiled = jitted.lower(*structs).compile()
        self.in_tree, self.num_devices = self.compiled.in_tree, self.compiled.num_devices
        self.input_shardings = self.compiled.input_shardings
        self.output_shardings = self.compiled.output_shardings
        self.seen: list[tuple[float, ...]] = []
        self.seen_arrays: Callable[[Any], object] = lambda _args: None
        self.leaves = [arg_info(f"x{i}", "float32", s, i in donate) for i, s in enumerate(shapes)]

    def runtime_executable(self) -> Any:
        return self.compiled.runtime_executable()

    def __call__(self, *args: Any) -> Any:
        self.seen_arrays(args)
        self.seen.append(tuple(float(np.asarray(x).flat[0]) for x in args))
        return self.compiled(*args)

    def calls(self, inputs: InputOptions | None = None) -> Calls:
        outs = olympus.tree.leaves(self.compiled.out_info)
        ready = Runnable(self, self.leaves, [arg_info("", x.dtype, x.shape) for x in outs])
        return Calls(ready, inputs or InputOptions(), CPU)


def test_two_sets_of_inputs_alternate_by_sample() -> None:
    program = Recording(lambda x, y: x + y, ((8,), (8,)), ())
    calls = program.calls()
    assert calls.first() > 0
    calls.rotate(2**20)
    assert (calls.sets, calls.donation, calls.input_bytes) == (2, "none", 64)
    for count in (1, 1, 3, 2):
        assert calls.time(count) > 0
    a, b = program.seen[1], program.seen[2]
    assert a == program.seen[0] != b
    assert a[0] != b[0] and a[1] != b[1]
    assert program.seen[1:] == [a, b, a, b, a, b, a]


@pytest.mark.parametrize("free", [None, 0, 127])
def test_one_set_is_used_if_memory_is_short(free: int | None) -> None:
    program = Recording(lambda x: x * 2, ((8,),), ())
    calls = program.calls()
    calls.rotate(free)
    calls.time(4)
    assert calls.sets == 1
    assert len(set(program.seen)) == 1


def test_results_are_fed_back_as_donated_arguments() -> None:
    program = Recording(lambda x, s: (x * 1, s + 1), ((4,), (8,)), (1,))
    calls = program.calls()
    calls.rotate(2**20)
    assert calls.donation == "fed back"
    calls.time(3)
    calls.time(70)
    states = [seen[1] for seen in program.seen]
    first = states[0]
    assert states[:64] == pytest.approx([first + i for i in range(64)])
    assert abs(states[64]) < 1  # copied again, so that values do not diverge
    assert states[65] == pytest.approx(states[64] + 1)
    assert len({seen[0] for seen in program.seen}) == 2  # arguments without donation alternate


def test_donated_arguments_without_a_matching_result_are_copied() -> None:
    program = Recording(lambda s, x: x + s.sum(), ((8,), (3,)), (0,))
    calls = program.calls()
    calls.rotate(2**20)
    assert calls.donation == "copied"
    assert calls.time(5) > 0
    assert len(program.seen) == 5
    assert len({seen[0] for seen in program.seen}) == 2


def test_the_time_of_donated_calls_excludes_the_copies() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 1.0
        return now

    program = Recording(lambda s: s.sum(), ((8,),), (0,))
    calls = Calls(Runnable(program, program.leaves, []), InputOptions(), CPU, clock)
    assert calls.time(6) == 6.0  # each call reads the clock twice, one tick apart
    plain = Recording(lambda s: s.sum(), ((8,),), ())
    assert Calls(Runnable(plain, plain.leaves, []), InputOptions(), CPU, clock).time(6) == 1.0


def on_devices(*spec: Any) -> NamedSharding:
    return NamedSharding(
        olympus.make_mesh((2, 2), ("x", "y"), olympus.sharding.AxisType.Auto), PartitionSpec(*spec)
    )


@pytest.mark.parametrize(("result", "donation"), [("x", "fed back"), ("y", "copied")])
def test_inputs_have_the_placement_that_a_program_of_several_devices_needs(
    result: str, donation: str
) -> None:
    """A result that uses the memory of a donated argument may have another placement."""
    rows, columns = on_devices("x"), on_devices(None, "y")
    program = Recording(
        lambda s, x: (s + x, x.sum()), ((8, 8), (8, 8)), (0,),
        in_shardings=(rows, columns), out_shardings=(on_devices(result), None),
    )  # fmt: skip
    calls = program.calls()
    calls.rotate(2**20)
    assert (calls.donation, calls.sets) == (donation, 2)
    inputs = list[Any]()
    program.seen_arrays = inputs.append
    calls.time(3)
    assert [[x.sharding for x in args] for args in inputs] == [[rows, columns]] * 3
