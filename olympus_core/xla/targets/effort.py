"""`CompilerEffortLevel`: how much time the compiler may take."""

from __future__ import annotations

import enum


class CompilerEffortLevel(enum.Enum):
    """The effort of XLA for a fast program, or for one that fits the memory.

    It is the value of the compiler options `optimization_level` and `memory_fitting_level`.  Its
    names are valid values too: `CompilerEffortLevel("O1")` is `CompilerEffortLevel.O1`.

    >>> CompilerEffortLevel("O1")
    <CompilerEffortLevel.O1: 19>
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39

    @classmethod
    def _missing_(cls, value: object) -> CompilerEffortLevel | None:
        return cls.__members__.get(value) if isinstance(value, str) else None
