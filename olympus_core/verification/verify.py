"""Verification of a traced program: the comparisons, and the findings of differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import tree
from olympus_core.base.errors import UsageError
from olympus_core.execution.compilation import Linalg, Repeats
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.stages.stages import Interface, Traced
from olympus_core.verification.bisection import Run, first_wrong
from olympus_core.verification.comparison import Comparison, Tolerance, compare, explained
from olympus_core.verification.findings import Finding
from olympus_core.verification.floats import (
    Statistics,
    digits_lost,
    format_of,
    is_inexact,
    statistics,
)
from olympus_core.verification.op_by_op import Evaluator, OpByOpRun
from olympus_core.verification.values import Array, TrackedValue, largest, widened

#: the references that a program itself has
OWN = ("op-by-op", "float64")
#: A result below this, relative to 1, may be all rounding error, in units of its roundoff.
_NEAR_ZERO = 16.0
#: A result below this, relative to its operands, is zero up to the rounding of float64.
_VANISHES = 2.0**-40


_CALLED = {"nan": ("NaN", "NaNs"), "inf": ("infinity", "infinities")}


class ResultCheck(NamedTuple):
    """One result compared with one reference; `why` is the reason of a failure, or None.

    `finding` is the operation that causes it, if one was found.
    """

    result: str
    against: str
    comparison: Comparison
    statistics: Statistics
    why: str | None = None
    finding: Finding | None = None


class Verification(NamedTuple):
    """The comparisons and findings of a verification.

    `operations` are wrong on their own. `checked` operations were compared with the
    reference. The `unchecked` ones, by name, have no rule there. `notes` do not fail the
    verification.
    """

    checks: tuple[ResultCheck, ...]
    operations: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    checked: int
    unchecked: dict[str, int]

    @property
    def compared(self) -> int:
        """The number of compared elements; if it is 0, nothing was verified."""
        return sum(check.comparison.size for check in self.checks)

    @property
    def passed(self) -> bool:
        """True if nothing is wrong."""
        return not self.operations and all(check.why is None for check in self.checks)


def runner(
    target: xla.Target | None = None,
    *,
    repeats: Repeats = "auto",
    linalg: Linalg = "auto",
    compiler_options: xla.Options | None = None,
    optimize: xla.Optimize = "default",
) -> Run:
    """Return a function that compiles a program in this way, and runs it on flat arrays.

    >>> runner()(jit(lambda x: 2 * x).trace(numpy.ones(2)).olympuspr, [np.ones(2, "float32")])
    [array([2., 2.], dtype=float32)]
    """

    def run(program: Olympuspr, inputs: Sequence[Array]) -> list[Array]:
        ins, outs = tuple(program.in_avals), tuple(program.out_avals)
        names = tuple(f"x{i}" for i in range(len(ins)))
        in_tree = tree.structure(((0,) * len(ins), {}))
        signature = Interface("part", in_tree, tree.structure([0] * len(outs)), names, ins, outs)
        lowered = Traced(signature, program).lower(target, repeats=repeats, linalg=linalg)
        compiled = lowered.compile(compiler_options, optimize=optimize)
        return [array_to_numpy(x) for x in compiled(*inputs)]

    return run


def verify(
    traced: Traced,
    inputs: Sequence[Array],
    results: Sequence[Array],
    *,
    against: Sequence[str] = ("op-by-op",),
    references: Mapping[str, Sequence[Array]] | None = None,
    tolerances: Mapping[str, Tolerance] | None = None,
    allow: Sequence[str] = (),
    run: Run | None = None,
    seed: int = 0,
    coarse_products: bool = False,
    evaluators: dict[str, Evaluator] | None = None,
    on_operation: Callable[[], None] = lambda: None,
) -> Verification:
    """Verify `results`, which a compiled form of a program returned for flat `inputs`.

    They are compared with the program run operation by operation ("op-by-op"), in float64
    ("float64"), and with the `references`, the results of other runs by their names. `tolerances`
    are by the name of a dtype; without one, the difference that rounding explains is allowed.
    `allow` has "nan" and "inf" if results may have these. If a result differs, `run` compiles parts
    of the program to find the first wrong operation. `on_operation` is called before each operation
    that is run alone, to show progress.

    Raises UsageError for an `against` that is neither.

    >>> x = np.float32([1, 2])
    >>> traced = jit(lambda x: 2 * x).trace(x)
    >>> verify(traced, [x], [np.asarray(traced.lower().compile()(x))]).passed
    True
    """
    _check_references(against, references or {})

    def make() -> OpByOpRun:
        return OpByOpRun(
            seed=seed,
            coarse_products=coarse_products,
            evaluators=evaluators,
            on_operation=on_operation,
        )

    runs = make()
    values = runs.run(traced.reference_program, inputs)
    checker = _ResultChecker(tolerances or {}, frozenset(allow))
    expected = {name: _expected(name, values, references or {}) for name in against}
    checks = [
        checker.check(name, result, np.asarray(actual), np.asarray(reference), value)
        for name in against
        for result, actual, reference, value in zip(
            traced.result_names, results, expected[name], values, strict=True
        )
    ]
    notes: list[Finding] = []
    if run is not None and not runs.findings and any(c.why and not c.finding for c in checks):
        wrong_operation = first_wrong(traced.reference_program, inputs, run, make)
        checks, notes = _blamed(checks, wrong_operation)
    return Verification(
        tuple(checks), tuple(runs.findings), tuple(notes), runs.checked, dict(runs.unchecked)
    )


def _check_references(against: Sequence[str], references: Mapping[str, Sequence[Array]]) -> None:
    """Raise UsageError for a name in `against` of no reference."""
    for name in against:
        if name not in OWN and name not in references:
            known = ", ".join([*OWN, *references])
            raise UsageError(f"the references to verify against are {known}, and not {name!r}")


def _expected(
    name: str, values: Sequence[TrackedValue], references: Mapping[str, Sequence[Array]]
) -> Sequence[Array]:
    """Return the results of a reference; `values` are those of the run operation by operation."""
    return references.get(name) or [
        value.wide if name == "float64" else value.array for value in values
    ]


def _blamed(
    checks: Sequence[ResultCheck], wrong_operation: Finding | None
) -> tuple[list[ResultCheck], list[Finding]]:
    """Return the checks with the finding; they pass if the operation differs by rounding only."""
    if wrong_operation is not None and wrong_operation.kind == "sensitive":
        return [c if c.finding else c._replace(why=None) for c in checks], [wrong_operation]
    return [
        c._replace(finding=wrong_operation) if c.why and not c.finding else c for c in checks
    ], []


def _is_zero(value: TrackedValue) -> bool:
    """Return True if the exact result is zero relative to its operands."""
    if value.loss is None:
        return False
    ends = [abs(x) for s in value.loss.operands for x in (s.minimum, s.maximum) if x is not None]
    return largest(value.wide) <= _VANISHES * max(ends, default=0.0)


class _ResultChecker:
    """A check of a result: equal within the tolerance, finite, and with some correct digits."""

    def __init__(self, tolerances: Mapping[str, Tolerance], allow: frozenset[str]) -> None:
        self.tolerances = tolerances
        self.allow = allow

    def check(
        self, against: str, name: str, got: Array, want: Array, value: TrackedValue
    ) -> ResultCheck:
        """Compare one result with one reference."""
        tolerance = self.tolerances.get(value.dtype.name, self.tolerances.get(""))
        if got.shape != want.shape:
            comparison = Comparison(got.size, got.size, None, np.inf, None)
            why = f"has shape {got.shape}, and {against} has {want.shape}"
            return ResultCheck(name, against, comparison, statistics(got), why)
        comparison = compare(got, want, explained(value), tolerance)
        result_check = ResultCheck(name, against, comparison, statistics(got))
        if (fault := self._nonfinite(got, value)) is not None:
            return result_check._replace(why=fault, finding=value.origin)
        if comparison.mismatches and value.origin is not None and np.isnan(want).any():
            count = int(np.count_nonzero(np.isnan(want)))
            why = f"differs from {against}, which has {count} {_CALLED['nan'][count > 1]}"
            return result_check._replace(why=why, finding=value.origin)
        if comparison.mismatches:
            cause = value.loss or value.own_loss if against == "float64" else None
            return result_check._replace(why=f"differs from {against}", finding=cause)
        if tolerance is None and self._has_lost_its_digits(value):
            return result_check._replace(
                why="has lost its digits to rounding", finding=value.loss or value.own_loss
            )
        return result_check

    def _nonfinite(self, actual: Array, value: TrackedValue) -> str | None:
        if not is_inexact(actual.dtype) or (value.origin is None and not np.isnan(actual).any()):
            return None
        with np.errstate(all="ignore"):
            for name, is_kind in (("nan", np.isnan), ("inf", np.isinf)):
                count = int(np.count_nonzero(is_kind(actual)))
                if count and name not in self.allow:
                    return f"has {count} {_CALLED[name][count > 1]}"
        return None

    def _has_lost_its_digits(self, value: TrackedValue) -> bool:
        """Return True if the program's own dtypes leave a result without correct digits."""
        if not is_inexact(value.dtype) or _is_zero(value):
            return False
        limit = digits_lost(value.roundoff)
        floor = _NEAR_ZERO * value.roundoff
        with np.errstate(all="ignore"):
            error = largest(widened(value.array) - value.wide)
        return error > limit * largest(value.wide) + max(floor, format_of(value.dtype).floor)
