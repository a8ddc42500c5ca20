"""Calling a program again and again as a user's loop does, each call waited for.

The arguments are on the device, in two sets that take turns where there is memory for both.  A
program that takes the memory of its arguments, a donation, needs others for the next call: its own
results where they take the places of all donated arguments, as in `state = step(state)`, and copies
elsewhere.  These are made while no time is counted, and so they are now and then of the first state
too: values that grow or vanish from call to call would change the times.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import olympus
from olympus import tree
from olympus_cli.bench.measure.steady import Clock
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable

__all__ = ["Calls", "Donation"]

#: What becomes of donated arguments: there are none; results are fed back; copies are made.
Donation = Literal["none", "fed back", "copied"]

_SETS = 2
_RENEWED = 64  # calls after which results are not fed back any more, but copies of the first state
_SHARE = 4  # the second set may take one part in so many of the memory that is free


class Calls:
    """The calls of a program on a backend.

    Raises:
        UsageError: the inputs do not fit the program.
    """

    def __init__(
        self,
        ready: Runnable,
        inputs: InputOptions,
        backend: olympus.Target,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._ready, self._inputs, self._clock = ready, inputs, clock
        self._places = ready.places(backend)
        self._donated = [i for i, leaf in enumerate(ready.arguments) if leaf.donated]
        self._results = _feeding(ready, self._donated)
        self._hosts = [inputs.arrays(ready.arguments)]
        self._sets = [self._put(self._hosts[0])]
        self._turn = 0  # the set of the next call
        self._given: dict[int, Any] = {}
        self._fed = 0
        self.processor_seconds = 0.0  # of all threads, in the calls that were timed last

    @property
    def donation(self) -> Donation:
        """What becomes of donated arguments."""
        if not self._donated:
            return "none"
        return "copied" if self._results is None else "fed back"

    @property
    def sets(self) -> int:
        """The number of sets of inputs that take turns."""
        return len(self._sets)

    @property
    def input_bytes(self) -> int:
        """The bytes of one set of inputs."""
        return sum(leaf.bytes for leaf in self._ready.arguments)

    def first(self) -> float:
        """Seconds of the first call."""
        return self._each(1)

    def rotate(self, free: int | None) -> None:
        """Make the other sets of inputs, if `free` bytes of memory are enough (None: unknown)."""
        if not self._ready.arguments or free is None or self.input_bytes * _SHARE > free:
            return
        for number in range(1, _SETS):
            other = replace(self._inputs, seed=self._inputs.seed + number)
            self._hosts.append(other.arrays(self._ready.arguments))
            self._sets.append(self._put(self._hosts[-1]))

    def time(self, calls: int) -> float:
        """Seconds of so many calls, one after the other."""
        with _no_collector():
            return self._each(calls) if self._donated else self._in_a_row(calls)

    def _in_a_row(self, calls: int) -> float:
        compiled, wait = self._ready.compiled, olympus.block_until_ready
        bound = [self._ready.bind(arrays) for arrays in self._sets]
        turns = bound[self._turn :] + bound[: self._turn]
        self._turn = (self._turn + calls) % len(bound)
        order = itertools.islice(itertools.cycle(turns), calls)
        processor, begin = time.process_time(), self._clock()
        for args, kwargs in order:
            wait(compiled(*args, **kwargs))
        spent = self._clock() - begin
        self.processor_seconds = time.process_time() - processor
        return spent

    def _each(self, calls: int) -> float:
        """The same where the arguments of each call are others: each is timed by itself."""
        compiled, clock, spent = self._ready.compiled, self._clock, 0.0
        self.processor_seconds = 0.0
        for _ in range(calls):
            turn, self._turn = self._turn, (self._turn + 1) % len(self._sets)
            given = self._given or self._copies(turn)
            arrays = [given.get(i, array) for i, array in enumerate(self._sets[turn])]
            args, kwargs = self._ready.bind(arrays)
            processor, begin = time.process_time(), clock()
            result = olympus.block_until_ready(compiled(*args, **kwargs))
            spent += clock() - begin
            self.processor_seconds += time.process_time() - processor
            self._feed(result)
        return spent

    def _feed(self, result: Any) -> None:
        """Keep what the next call takes of the results, if it is time for it."""
        self._fed += 1
        if self._results is None or self._fed % _RENEWED == 0:
            self._given = {}
        else:
            leaves = tree.leaves(result)
            self._given = {i: leaves[place] for i, place in self._results.items()}

    def _copies(self, turn: int) -> dict[int, Any]:
        """New memory with the values of the donated arguments."""
        hosts, places = self._hosts[turn], self._places
        made = {i: olympus.device_put(hosts[i], places[i]) for i in self._donated}
        olympus.block_until_ready(list(made.values()))
        return made

    def _put(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments on the device, or as the program splits them among several.

        A donated one is None, as each call needs a new one.
        """
        placed = [
            None if leaf.donated else olympus.device_put(array, place)
            for leaf, array, place in zip(self._ready.arguments, arrays, self._places, strict=True)
        ]
        olympus.block_until_ready([array for array in placed if array is not None])
        return placed


def _feeding(ready: Runnable, donated: Sequence[int]) -> dict[int, int] | None:
    """Which result takes the place of each donated argument; None where one has none."""
    if not donated:
        return None
    aliases = ready.compiled.runtime_executable().hlo_module().input_output_alias
    places = {each.parameter: (each.output_index or (0,))[0] for each in aliases}
    if not all(i in places and _fits(ready, i, places[i]) for i in donated):
        return None
    return {i: places[i] for i in donated}


def _fits(ready: Runnable, argument: int, result: int) -> bool:
    """Whether a result lies where an argument must: its memory may have been split otherwise."""
    compiled, rank = ready.compiled, len(ready.arguments[argument].shape)
    if compiled.num_devices == 1:
        return True
    (want,) = tree.leaves(compiled.input_shardings)[argument : argument + 1]
    (found,) = tree.leaves(compiled.output_shardings)[result : result + 1]
    return len(ready.results[result].shape) == rank and want.is_equivalent_to(found, rank)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keep Python's garbage collector out of the times."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
