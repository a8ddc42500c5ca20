"""The values of the dimension variables of a program, from the shapes of its arguments.

A variable is solved from a size that is linear in it, after the variables that are in the rest of
that size: `a` from `f32[a]`, then `b` from `f32[a + 2*b]`.  All other sizes, and the constraints,
are checks of the arguments of a call.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base.dimensions.expression import SymbolicDim, max_dim, min_dim
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.dimensions.terms import FLOORDIV, MAX, MIN, DimFactor, DimProduct
from olympus_core.base.errors import ShapeError

if TYPE_CHECKING:
    from olympus_core.base.avals import ShapedArray

Size = SymbolicDim | int
Values = Mapping[str, Size]


class SolvedVariable(NamedTuple):
    """`variable` is `(length of the axis - rest) / factor`; the rest has earlier variables."""

    variable: str
    argument: int
    axis: int
    size: SymbolicDim
    rest: Size
    factor: int


class Check(NamedTuple):
    """The length of an axis of an argument is `size`."""

    argument: int
    axis: int
    size: SymbolicDim


class Solution(NamedTuple):
    """The steps that solve the variables, and the checks of all other symbolic sizes."""

    shapes: tuple[tuple[Size, ...], ...]
    scope: SymbolicScope | None
    steps: tuple[SolvedVariable, ...]
    checks: tuple[Check, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which they are solved."""
        return tuple([step.variable for step in self.steps])


def solved(avals: Sequence[ShapedArray], names: Sequence[str] = ()) -> Solution:
    """Return how the dimension variables of a program are solved from its arguments.

    `names` are those of the arguments, for messages.  Raises ShapeError if a variable cannot be
    solved, and for expressions of several scopes.
    """
    return _solved(tuple([a.shape for a in avals]), tuple(names))


@functools.lru_cache(maxsize=256)
def _solved(shapes: tuple[tuple[Size, ...], ...], names: tuple[str, ...]) -> Solution:
    waiting = [
        Check(i, axis, n)
        for i, shape in enumerate(shapes)
        for axis, n in enumerate(shape)
        if isinstance(n, SymbolicDim)
    ]
    scope = waiting[0].size.scope if waiting else None
    for check in waiting[1:]:
        waiting[0].size.scope.check_same(check.size, "in the shapes of the arguments")
    steps: list[SolvedVariable] = []
    known: set[str] = set()
    remaining = waiting
    checks: list[Check] = []
    while remaining:
        later: list[Check] = []
        for check in remaining:
            unknown = set(check.size.variables()) - known
            step = _step(check, known) if unknown else None
            if step is not None:
                steps.append(step)
                known.add(step.variable)
            elif unknown:
                later.append(check)
            else:
                checks.append(check)
        if len(later) == len(remaining):
            raise _unsolved(later, known, shapes, names)
        remaining = later
    return Solution(shapes, scope, tuple(steps), tuple(checks))


def _step(check: Check, known: set[str]) -> SolvedVariable | None:
    """Return the step that solves the only unknown variable of a size; None if it is not linear."""
    found: tuple[str, int] | None = None
    rest: dict[DimProduct, int] = {}
    for term, k in check.size.terms:
        if set(term.variables()) <= known:
            rest[term] = k
        elif found is None and term.variable is not None:
            found = term.variable, k
        else:
            return None
    if found is None:
        return None
    others = SymbolicDim.of(rest, check.size.scope)
    return SolvedVariable(found[0], check.argument, check.axis, check.size, others, found[1])


def _unsolved(
    checks: Sequence[Check],
    known: set[str],
    shapes: Sequence[tuple[Size, ...]],
    names: Sequence[str],
) -> ShapeError:
    unknown = sorted({v for c in checks for v in c.size.variables()} - known)
    listed = ", ".join(
        f"'{c.size}' for dimension size {argument_name(names, c.argument)}.shape[{c.axis}]"
        for c in checks
    )
    return ShapeError(
        f"Cannot solve for values of dimension variables {{{', '.join(map(repr, unknown))}}}. "
        f"We can only solve linear uni-variate constraints.{specifications(shapes, names)} "
        f"Unprocessed specifications: {listed}.",
        hint="give an argument a dimension that is the variable itself",
    )


def argument_name(names: Sequence[str], index: int) -> str:
    """Return the name of an argument for messages."""
    return names[index] if index < len(names) else f"args[{index}]"


def specifications(shapes: Sequence[tuple[Size, ...]], names: Sequence[str]) -> str:
    """Return the text with the symbolic shapes of the arguments, for messages."""
    texts = [
        f"{argument_name(names, i)}.shape = {_shape_text(shape)}"
        for i, shape in enumerate(shapes)
        if any(isinstance(n, SymbolicDim) for n in shape)
    ]
    return f" Using the following polymorphic shapes specifications: {','.join(texts)}."


def _shape_text(shape: tuple[Size, ...]) -> str:
    return str(tuple(shape))


def evaluated(size: Size, values: Values) -> Size:
    """Return a size where its variables have `values`, which may be symbolic too.

    >>> evaluated(symbolic_shape("2*b + 1")[0], {"b": 3})
    7
    """
    if isinstance(size, int):
        return size
    total: Size = 0
    for term, k in size.terms:
        value: Size = k
        for factor, power in term.factors:
            value = value * _factor(factor, values) ** power
        total = total + value
    return total


def _factor(factor: DimFactor, values: Values) -> Any:
    if factor.is_variable:
        if factor.name not in values:
            raise ShapeError(
                f"Encountered dimension variable '{factor.name}' that is not appearing in the "
                "shapes of the function arguments.\nThe following dimension variables are "
                f"appearing in the shapes of the function arguments: {list(values)}"
            )
        return values[factor.name]
    x, y = (evaluated(n, values) for n in factor.operands)
    if factor.name == MAX:
        return max_dim(x, y)
    if factor.name == MIN:
        return min_dim(x, y)
    return (operator.floordiv if factor.name == FLOORDIV else operator.mod)(x, y)


class Actual(NamedTuple):
    """The values of the variables of a call, and the texts on how they were obtained."""

    values: dict[str, Size]
    obtained: str


def bound_variables(
    solution: Solution, shapes: Sequence[Sequence[Size]], names: Sequence[str] = ()
) -> dict[str, Size]:
    """Return the values of the variables for arguments of the given shapes.

    The shapes may be symbolic themselves, in another scope.  Raises ShapeError if they do not match
    the symbolic shapes or the constraints; the message names the argument, the axis, the required
    size and the size that was given.
    """
    values: dict[str, Size] = {}
    obtained = " Obtained dimension variables: "
    specs = specifications(solution.shapes, names)
    for step in solution.steps:
        where = f"{argument_name(names, step.argument)}.shape[{step.axis}]"
        given = shapes[step.argument][step.axis]
        value = given - evaluated(step.rest, values)
        if step.factor != 1:
            value, remainder = divmod(value, step.factor)
            if remainder != 0:
                raise _mismatch(
                    f"Division had remainder {remainder} when computing the value of "
                    f"'{step.variable}'",
                    specs,
                    obtained,
                )
        values[step.variable] = value
        obtained += (
            f"'{step.variable}' = {value} from specification '{step.size}' for dimension {where} "
            f"(= {given}), "
        )
        if not _holds(value - 1):
            raise _mismatch(
                f"Expected value >= 1 for dimension variable '{step.variable}'", specs, obtained
            )
    for check in solution.checks:
        where = f"{argument_name(names, check.argument)}.shape[{check.axis}]"
        given, wanted = shapes[check.argument][check.axis], evaluated(check.size, values)
        if given != wanted:
            raise _mismatch(
                f"Found inconsistency between dimension size {where} (= {given}) and the "
                f"specification '{check.size}' (= {wanted})",
                specs,
                obtained,
            )
    _check_constraints(solution, values, specs, obtained)
    return values


def _mismatch(reason: str, specs: str, obtained: str) -> ShapeError:
    return ShapeError(
        f"Input shapes do not match the polymorphic shapes specification. {reason}.{specs}"
        f"{obtained.rstrip(', ')}."
    )


def _check_constraints(solution: Solution, values: Values, specs: str, obtained: str) -> None:
    if solution.scope is None:
        return
    for constraint in solution.scope.constraints:
        variables = set(_variables(constraint.difference))
        if not variables <= set(values):
            continue
        found = evaluated(constraint.difference, values)
        holds = found == 0 if constraint.is_equality else _holds(found)
        if not holds:
            kind = "equal" if constraint.is_equality else "greater or equal"
            raise ShapeError(
                f"Input shapes do not match the symbolic shape constraint {constraint.text}. "
                f"Expected '{constraint.difference}' to be {kind} to 0, but found {found}."
                f"{specs}{obtained.rstrip(', ')}."
            )


def _variables(size: Size) -> Sequence[str]:
    return list(size.variables()) if isinstance(size, SymbolicDim) else []


def _holds(size: Size) -> bool:
    """Return True if a size is at least 0 for all values of its variables."""
    return (size.scope.bounds(size)[0] if isinstance(size, SymbolicDim) else size) >= 0
