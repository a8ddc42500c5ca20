"""The reference of each operation, written in NumPy, independent of its lowering.

A rule computes an operation in float64, whatever the program's dtypes, and bounds the error of a
correct evaluation in these dtypes. It shares no code with the operation's `lower`, so it detects a
wrong lowering. The factors of a matrix decomposition are checked by their properties instead.
"""

from __future__ import annotations

from olympus_core.verification.reference.contractions import CONTRACTIONS
from olympus_core.verification.reference.elementwise import ELEMENTWISE
from olympus_core.verification.reference.indexing import INDEXING
from olympus_core.verification.reference.matrices import MATRICES
from olympus_core.verification.reference.properties import PROPERTIES, Property
from olympus_core.verification.reference.random import RANDOM
from olympus_core.verification.reference.reductions import REDUCTIONS
from olympus_core.verification.reference.rule import Call, Rule
from olympus_core.verification.reference.shapes import SHAPES

__all__ = ["PROPERTIES", "RULES", "Call", "Property", "Rule"]

#: the rule of each primitive that has one, by its name
RULES: dict[str, Rule] = {
    **ELEMENTWISE,
    **SHAPES,
    **INDEXING,
    **REDUCTIONS,
    **CONTRACTIONS,
    **MATRICES,
    **RANDOM,
}
