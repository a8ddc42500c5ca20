"""Repeated calls of a program, as in a user's loop; each call is waited for.

The arguments are on the device, in two sets that take turns if there is memory for both. A program
that donates arguments needs new ones for the next call. These are its own results if they take the
places of all donated arguments, as in `state = step(state)`, and copies otherwise. Copies are made
outside of the measured time. Results are replaced by copies of the first state at intervals: values
that grow or vanish from call to call would change the times.
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
from olympus.stages import array_trees as tree
from olympus_cli.bench.measure.steady import Clock
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable

#: The source of donated arguments: none are donated, results are fed back, or copies are made.
Donation = Literal["none", "fed back", "copied"]

_SETS = 2
_RENEWED = 64  # calls after which copies of the first state replace the results that are fed back
_SHARE = 4  # the second set may take 1 / `_SHARE` of the free memory


class Calls:
    """The calls of a program on a backend; with `copies`, no result is fed back.

    Raises:
        UsageError: the inputs do not fit the program.
    """

    def __init__(
        self,
        ready: Runnable,
        inputs: InputOptions,
        backend: olympus.Target,
        clock: Clock = time.perf_counter,
        *,
        copies: bool = False,
    ) -> None:
        self._ready, self._inputs, self._clock = ready, inputs, clock
        self._places = ready.places(backend)
        self._donated = [i for i, leaf in enumerate(ready.arguments) if leaf.donated]
        self._results = None if copies else _feeding(ready, self._donated)
        self._hosts = [inputs.arrays(ready.arguments)]
        self._sets = [self._put(self._hosts[0])]
        self._turn = 0  # the set of the next call
        self._given: dict[int, Any] = {}
        self._fed = 0
        self.processor_seconds = 0.0  # of all threads, in the last timed calls

    @property
    def donation(self) -> Donation:
        """The source of donated arguments."""
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
        """Return the seconds of the first call."""
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
        """Return the seconds of `calls` calls, one after the other."""
        with _no_collector():
            return self._each(calls) if self._donated else self._in_a_row(calls)

    def _in_a_row(self, calls: int) -> float:
        compiled, wait = self._ready.compiled, self._ready.wait
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
        """Return the seconds of calls with new arguments each: every call is timed separately."""
        compiled, clock, spent = self._ready.compiled, self._clock, 0.0
        self.processor_seconds = 0.0
        for _ in range(calls):
            turn, self._turn = self._turn, (self._turn + 1) % len(self._sets)
            arguments = self._given or self._copies(turn)
            arrays = [arguments.get(i, array) for i, array in enumerate(self._sets[turn])]
            args, kwargs = self._ready.bind(arrays)
            processor, begin = time.process_time(), clock()
            result = self._ready.wait(compiled(*args, **kwargs))
            spent += clock() - begin
            self.processor_seconds += time.process_time() - processor
            self._feed(result)
        return spent

    def _feed(self, result: Any) -> None:
        """Save the results that the next call takes as arguments, if they are to be fed back."""
        self._fed += 1
        if self._results is None or self._fed % _RENEWED == 0:
            self._given = {}
        else:
            leaves = tree.leaves(result)
            self._given = {i: leaves[place] for i, place in self._results.items()}

    def _copies(self, turn: int) -> dict[int, Any]:
        """Return new arrays with the values of the donated arguments."""
        hosts, places = self._hosts[turn], self._places
        copies = {i: self._ready.put(hosts[i], places[i]) for i in self._donated}
        self._ready.wait(list(copies.values()))
        return copies

    def _put(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arguments on the device, or sharded over several as the program needs.

        A donated argument is None, as each call needs a new one.
        """
        placed = [
            None if leaf.donated else self._ready.put(array, place)
            for leaf, array, place in zip(self._ready.arguments, arrays, self._places, strict=True)
        ]
        self._ready.wait([array for array in placed if array is not None])
        return placed


def _feeding(ready: Runnable, donated: Sequence[int]) -> dict[int, int] | None:
    """Return the result that takes the place of each donated argument; None if one has none."""
    if not donated:
        return None
    aliases = ready.compiled.runtime_executable().hlo_module().input_output_alias
    places = {alias.parameter: (alias.output_index or (0,))[0] for alias in aliases}
    if not all(i in places and _fits(ready, i, places[i]) for i in donated):
        return None
    return {i: places[i] for i in donated}


def _fits(ready: Runnable, argument: int, result: int) -> bool:
    """Return True if a result has the sharding of the argument that it replaces."""
    compiled, rank = ready.compiled, len(ready.arguments[argument].shape)
    if compiled.num_devices == 1:
        return True
    (want,) = tree.leaves(compiled.input_shardings)[argument : argument + 1]
    (sharding,) = tree.leaves(compiled.output_shardings)[result : result + 1]
    return len(ready.results[result].shape) == rank and want.is_equivalent_to(sharding, rank)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Disable Python's garbage collector during measurements."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
