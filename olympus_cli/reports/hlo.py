"""Counts of the operations in the text of a StableHLO or HLO program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# `%0 = stablehlo.add ...`, `%1:2 = "stablehlo.sort"(...`, `%2 = call @f(...`
_OPERATION = re.compile(r'^\s*(?:%\S[^=]* = )?"?((?:stablehlo|chlo)\.\w+|(?:func\.)?call)\b', re.M)
# `  ROOT %fusion.1 = f32[8]{0} fusion(...`; the type of a tuple has blanks.  A line break is found
# sooner than "^" is.
_INSTRUCTION = re.compile(r"\n +(?:ROOT )?%?[\w.\-]+ = (?:[^\n(]\S*|\(.*?\)) ([a-z][a-z0-9\-]*)\(")

_ENDS = {"stablehlo.return"}  # of regions: no work is done there
_PLUMBING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


def operation_counts(stablehlo: str) -> dict[str, int]:
    """Return the operations of a StableHLO module by name; calls count as `call`.

    >>> operation_counts("  %0 = stablehlo.add %arg0, %arg0 : tensor<f32>")
    {'stablehlo.add': 1}
    """
    names = (name.removeprefix("func.") for name in _OPERATION.findall(stablehlo))
    return _counted(name for name in names if name not in _ENDS)


def instruction_counts(hlo: str) -> dict[str, int]:
    """Return the instructions of an HLO module by opcode, without data forwarding.

    >>> instruction_counts("ENTRY m {\\n  ROOT %a = f32[8]{0} add(%x, %x)\\n}")
    {'add': 1}
    """
    return _counted(name for name in _INSTRUCTION.findall(hlo) if name not in _PLUMBING)


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
