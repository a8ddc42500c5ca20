"""A check that results stay finite for inputs of other sizes and signs.

The compiled program runs on draws of several sizes. If a result has an infinity or a NaN, the
smallest such size is searched. There the program is run operation by operation, in its own dtypes
and in float64. It is a failure if the float64 result is well inside the range of the dtype, and an
exponential left the range before a logarithm, a quotient or a product that reverses it: then an
equivalent program without the overflow exists. Any other operation that leaves the range of its
dtype is a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.ir.olympuspr import Eqn, Olympuspr
from olympus_core.stages.stages import Traced
from olympus_core.verification.bisection import Run, first_wrong
from olympus_core.verification.comparison import compare
from olympus_core.verification.findings import Finding
from olympus_core.verification.floats import format_of, is_inexact, statistics
from olympus_core.verification.op_by_op import OpByOpRun
from olympus_core.verification.reference import RULES
from olympus_core.verification.values import Array, TrackedValue, widened
from olympus_core.verification.verify import ResultCheck

#: the largest size of inputs at which a fault fails; beyond it, it is a note
ORDINARY = 1e4
_SIZES = (100.0, ORDINARY)
_NEAR = 1.25  # ratio of a size with a fault and one without at which the search ends
_DECADES = 6.0  # of the magnitudes of a draw of mixed sizes
#: By primitive, where it reverses an exponential: from the overflows and the underflows of each
#: operand.
_REVERSED: dict[str, Callable[[Sequence[Array], Sequence[Array]], Array]] = {
    "log": lambda over, under: over[0] | under[0],
    "log1p": lambda over, under: over[0],
    "div": lambda over, under: (over[0] & over[1]) | (under[0] & under[1]),
    "mul": lambda over, under: (over[0] & under[1]) | (under[0] & over[1]),
}

_PATTERNS = ("both signs", "positive", "negative", "mixed sizes")
#: A function that runs the compiled program on flat arrays.
Program = Callable[[Sequence[Array]], Sequence[Array]]


class Draw(NamedTuple):
    """The inputs of a run: uniform of both signs or of one, or of magnitudes of six decades.

    `size` is their greatest magnitude.
    """

    pattern: str
    size: float

    def __str__(self) -> str:
        size = f"{self.size:.3g}"
        if self.pattern == "mixed sizes":
            return f"inputs of magnitude {self.size / 10**_DECADES:.3g} to {size}"
        low = "0" if self.pattern == "positive" else f"-{size}"
        return f"inputs in [{low}, {'0' if self.pattern == 'negative' else size}]"


class RangeFault(NamedTuple):
    """A result with infinities or NaNs where float64 has numbers, and the operation at fault."""

    draw: Draw
    result: str
    got: Array
    expected: Array
    finding: Finding | None
    fails: bool

    def check(self) -> ResultCheck:
        """Return the comparison with float64 on the draw, which fails."""
        counts = [
            f"{count} {singular if count == 1 else plural}"
            for is_kind, singular, plural in (
                (np.isnan, "NaN", "NaNs"),
                (np.isinf, "infinity", "infinities"),
            )
            if (count := int(np.count_nonzero(is_kind(self.got) & np.isfinite(self.expected))))
        ]
        why = f"has {' and '.join(counts)} for {self.draw}, and float64 has none"
        comparison = compare(self.got, self.expected, format_of(self.got.dtype).largest / 4)
        against = f"float64, {self.draw}"
        return ResultCheck(
            self.result, against, comparison, statistics(self.got), why, self.finding
        )


class Ranges(NamedTuple):
    """The draws that the compiled program ran on, and the faults: failures and notes."""

    draws: tuple[Draw, ...]
    faults: tuple[RangeFault, ...]


def can_vary(dtype: dtypes.DType) -> bool:
    """Return True if arrays of the dtype are drawn in other sizes: signed floats and complex.

    >>> can_vary(np.dtype("float32")), can_vary(np.dtype("int32"))
    (True, False)
    """
    return is_inexact(dtype) and dtypes.long_name(dtype) != "float8_e8m0fnu"


def judge_ranges(
    traced: Traced,
    inputs: Sequence[Array],
    results: Sequence[Array],
    varied: Sequence[bool],
    program: Program,
    *,
    run: Run,
    allow: Sequence[str] = (),
    seed: int = 0,
    on_operation: Callable[[], None] = lambda: None,
) -> Ranges:
    """Run the compiled `program` on other draws of those inputs that are `varied`.

    `results` are the results on `inputs`: elements that are not finite there are not checked, and
    neither are the kinds in `allow`, "nan" and "inf". `run` compiles parts of the program to find
    an operation that is wrong only in the compiled program.

    >>> judge_ranges(traced, [x], [y], [True], program, run=runner()).faults
    ()
    """
    is_varied = [v and can_vary(x.dtype) for x, v in zip(inputs, varied, strict=True)]
    if not any(is_varied) or not any(is_inexact(x.dtype) for x in results):
        return Ranges((), ())
    search = _SizeSearch(inputs, results, is_varied, program, frozenset(allow), seed)
    faults: list[RangeFault] = []
    classifier = _FaultClassifier(traced, run, search, on_operation)
    for draw in search.suspects():
        faults += classifier.faults(draw)
        if any(fault.fails for fault in faults):
            break
    return Ranges(tuple(search.draws), tuple(faults))


class _SizeSearch:
    """The search for the smallest sizes at which results of the compiled program are not finite."""

    def __init__(
        self,
        inputs: Sequence[Array],
        results: Sequence[Array],
        is_varied: Sequence[bool],
        program: Program,
        allow: frozenset[str],
        seed: int,
    ) -> None:
        self.inputs, self.is_varied, self.program = inputs, is_varied, program
        self.allow, self.seed = allow, seed
        self.finite = [_is_finite(x) for x in results]
        self.draws: list[Draw] = []
        formats = [format_of(x.dtype) for x, v in zip(inputs, is_varied, strict=True) if v]
        self.largest = min(dtype_format.largest for dtype_format in formats)
        self.smallest = max(dtype_format.normal for dtype_format in formats)

    def suspects(self) -> list[Draw]:
        """Return, for each pattern, the smallest draw with a result that is not finite, if any."""
        draws = [self.first(pattern, _SIZES[i > 0 :]) for i, pattern in enumerate(_PATTERNS)]
        beyond = 2 * math.sqrt(self.largest)
        if draws[0] is None and beyond > ORDINARY:
            draws.append(self.first(_PATTERNS[0], (beyond,), ORDINARY))
        tiny = Draw(_PATTERNS[0], math.sqrt(self.smallest))
        draws.append(tiny if self.bad(tiny) else None)
        return [draw for draw in draws if draw is not None]

    def first(self, pattern: str, sizes: Sequence[float], finite: float = 1.0) -> Draw | None:
        """Return the smallest tested draw of a pattern without finite results, or None."""
        for size in sizes:
            size = min(size, self.largest)
            if self.bad(Draw(pattern, size)):
                return self.smallest_bad(pattern, finite, size)
            finite = size
        return None

    def smallest_bad(self, pattern: str, low: float, high: float) -> Draw:
        """Return a draw within `_NEAR` times a size without such a result, by bisection."""
        while high / low > _NEAR:
            middle = float(f"{math.sqrt(low * high):.3g}")
            if not low < middle < high:
                break
            if self.bad(Draw(pattern, middle)):
                high = middle
            else:
                low = middle
        return Draw(pattern, high)

    def bad(self, draw: Draw) -> bool:
        """Return True if a result is finite on the given inputs, but not on this draw."""
        self.draws.append(draw)
        return any(map(np.any, self.places(self.program(self.arrays(draw)))))

    def places(self, results: Sequence[Array]) -> list[Array]:
        """Return True where elements are checked and are not finite."""
        return [
            finite & _is_faulty(np.asarray(result), self.allow)
            for result, finite in zip(results, self.finite, strict=True)
        ]

    def arrays(self, draw: Draw) -> list[Array]:
        """Return the inputs of a draw; inputs that do not vary are unchanged."""
        return [
            _drawn(draw, x, np.random.default_rng([self.seed, _PATTERNS.index(draw.pattern), i]))
            if varies
            else np.array(x)
            for i, (x, varies) in enumerate(zip(self.inputs, self.is_varied, strict=True))
        ]


def _drawn(draw: Draw, like: Array, rng: np.random.Generator) -> Array:
    info = format_of(like.dtype)

    def draw_part() -> Array:
        share = rng.random(like.shape)
        if draw.pattern == "mixed sizes":
            share = 10.0 ** (-_DECADES * share)
        signs = {"positive": 1.0, "negative": -1.0}
        sign = signs.get(draw.pattern) or 2.0 * rng.integers(0, 2, like.shape) - 1
        return np.asarray(sign * np.minimum(share * draw.size, info.largest))

    drawn = draw_part()
    return np.asarray(drawn + 1j * draw_part() if like.dtype.kind == "c" else drawn).astype(
        like.dtype
    )


def _is_finite(x: Array) -> Array:
    return np.isfinite(x) if is_inexact(x.dtype) else np.zeros(x.shape, bool)


def _is_faulty(x: Array, allow: frozenset[str]) -> Array:
    if not is_inexact(x.dtype):
        return np.zeros(x.shape, bool)
    is_faulty = np.zeros(x.shape, bool)
    for name, is_kind in (("nan", np.isnan), ("inf", np.isinf)):
        if name not in allow:
            is_faulty |= is_kind(x)
    return is_faulty


class _FaultClassifier:
    """A classifier of results that are not finite: a failure, a note, or correct."""

    def __init__(
        self, traced: Traced, run: Run, search: _SizeSearch, on_operation: Callable[[], None]
    ) -> None:
        self.traced, self.run, self.search = traced, run, search
        self.on_operation = on_operation

    def faults(self, draw: Draw) -> list[RangeFault]:
        """Return the faults of the results on a draw; none if float64 overflows as well."""
        inputs = self.search.arrays(draw)
        draw_results = [np.asarray(x) for x in self.search.program([np.array(x) for x in inputs])]
        values = _RangeRun(on_operation=self.on_operation).run(
            self.traced.reference_program, inputs
        )
        range_faults = []
        for name, x, value, at in zip(
            self.traced.result_names,
            draw_results,
            values,
            self.search.places(draw_results),
            strict=True,
        ):
            if at.any() and _is_inside(value):
                range_faults.append(self.fault(draw, name, x, value, inputs))
        return range_faults

    def fault(
        self, draw: Draw, name: str, result: Array, value: TrackedValue, inputs: Sequence[Array]
    ) -> RangeFault:
        """Return the fault of a result whose float64 value is well inside the range."""
        if np.isfinite(value.array).all():  # rounding moved it to the edge of a domain, perhaps
            program: Olympuspr = self.traced.reference_program
            blamed = first_wrong(program, inputs, self.run)
            return RangeFault(draw, name, result, value.wide, blamed, False)
        fails = value.undone is not None and 1 <= draw.size <= ORDINARY
        return RangeFault(draw, name, result, value.wide, value.undone or value.origin, fails)


def _is_inside(value: TrackedValue) -> bool:
    """Return True if the float64 result is below the root of the largest number of the dtype."""
    limit = math.sqrt(format_of(value.dtype).largest)
    return bool(np.all(np.isfinite(value.wide) & (np.abs(value.wide) <= limit)))


class _RangeRun(OpByOpRun):
    """A run without samples and checks, which follows exponentials that leave the range."""

    def __init__(self, *, on_operation: Callable[[], None]) -> None:
        super().__init__(on_operation=on_operation, samples=0, checks=False)

    def _trace_faults(self, eqn: Eqn, values: Sequence[TrackedValue], out: TrackedValue) -> None:
        if not is_inexact(out.dtype):
            return
        self._trace_nonfinite(eqn, values, out)
        floats = [v for v in values if is_inexact(v.dtype)]
        out.undone = next((v.undone for v in floats if v.undone is not None), None)
        overflowed, underflowed = _overflowed(out), _underflowed(out)
        if not (overflowed.any() or underflowed.any() or not np.isfinite(out.array).all()):
            return
        rule = RULES.get(eqn.primitive.name)
        if rule is not None and rule.is_exponential:
            at = (overflowed | underflowed) * 1.0
            out.beyond = self._finding("overflow", eqn, values, out, at)
        else:
            out.beyond = next((v.beyond for v in floats if v.beyond is not None), None)
        if out.undone is None and (at := _reverses_exponential(eqn, floats, out)).any():
            out.undone = self._finding("exponential", eqn, values, out, at * 1.0)


def _overflowed(v: TrackedValue) -> Array:
    """Return True where a value is infinite and float64 has a number."""
    return np.asarray(np.isinf(widened(v.array)) & np.isfinite(v.wide))


def _underflowed(v: TrackedValue) -> Array:
    """Return True where a value is zero and float64 has another number."""
    return np.asarray((v.array == 0) & (v.wide != 0) & np.isfinite(v.wide))


def _reverses_exponential(eqn: Eqn, floats: Sequence[TrackedValue], out: TrackedValue) -> Array:
    """Return True where a result is not finite, and its operation reverses an exponential.

    It is the logarithm of an overflowed or underflowed value, the quotient of two overflowed or two
    underflowed values, or the product of an overflowed and an underflowed value.
    """
    is_reversed = _REVERSED.get(eqn.primitive.name)
    if is_reversed is None or any(v.beyond is None for v in floats):
        return np.zeros(out.aval.shape, bool)
    finite_in_float64 = ~np.isfinite(widened(out.array)) & np.isfinite(out.wide)
    overflowed = [np.broadcast_to(_overflowed(v), out.aval.shape) for v in floats]
    underflowed = [np.broadcast_to(_underflowed(v), out.aval.shape) for v in floats]
    return np.asarray(finite_in_float64 & is_reversed(overflowed, underflowed))
