"""The proof for a traced program: which results have the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from olympus_core.base.errors import PaddingError, UsageError
from olympus_core.stages.stages import Traced
from olympus_core.verification.padding.flow import RowFlow
from olympus_core.verification.padding.programs import PROGRAM_RULES
from olympus_core.verification.padding.rules import ARRAY_RULES
from olympus_core.verification.padding.values import Padding, scalar

#: Raised with every change after which a program that was accepted may be refused.
PROOF_VERSION = 1

#: The fills of the padded rows of an argument: zeros, copies of its last row, or False in a mask,
#: an argument that is True in the other rows.
FILLS = ("zeros", "edge", "mask")


class PaddedAxes(NamedTuple):
    """For each array, by its axis with rows, the number of elements of one row along it."""

    arguments: tuple[Mapping[int, int], ...]
    results: tuple[Mapping[int, int], ...]


def prove_rows_independent(
    traced: Traced,
    other: Traced,
    sizes: tuple[int, int],
    fills: Sequence[str] = (),
    symbol: str = "batch",
) -> PaddedAxes:
    """Prove that padded rows of the arguments do not change the other rows of the results.

    `traced` and `other` are one function, traced for two numbers of rows, `sizes`. An axis whose
    length differs between them has the rows. `fills` has one of `FILLS` for each argument; by
    default all are zeros.

    Raises:
      PaddingError: rows mix, or the results depend on the number of rows; with the line.
      UsageError: no argument has rows, or the traces have other arguments.

    >>> x8, x9 = (ShapeDtypeStruct((n, 3), "float32") for n in (8, 9))
    >>> f = jit(lambda x: numpy.tanh(x).sum(axis=1))
    >>> prove_rows_independent(f.trace(x8), f.trace(x9), (8, 9))
    PaddedAxes(arguments=({0: 1},), results=({0: 1},))
    """
    programs = traced.reference_program, other.reference_program
    flow = RowFlow(symbol, sizes, {**ARRAY_RULES, **PROGRAM_RULES})
    if len(programs[0].invars) != len(programs[1].invars):
        raise UsageError("the two traces have other arguments")
    kinds = list(fills) or ["zeros"] * len(programs[0].invars)
    operands, arguments = [], []
    for var, twin, kind in zip(programs[0].invars, programs[1].invars, kinds, strict=True):
        axes = flow.padded_axes(var.aval, twin.aval, None)
        value = None if kind == "edge" else scalar(0, var.aval)
        operands.append(Padding(dict.fromkeys(axes, value)))
        arguments.append({axis: var.aval.shape[axis] // sizes[0] for axis in axes})
    if not any(arguments):
        raise UsageError(f"no argument of '{traced.fun_name}' has the size {symbol}")
    flow.follow(*programs, operands)
    results = []
    for one, two in zip(programs[0].outvars, programs[1].outvars, strict=True):
        axes = flow.padded_axes(one.aval, two.aval, None)
        results.append({axis: one.aval.shape[axis] // sizes[0] for axis in axes})
    return PaddedAxes(tuple(arguments), tuple(results))


__all__ = ["FILLS", "PROOF_VERSION", "PaddedAxes", "PaddingError", "prove_rows_independent"]
