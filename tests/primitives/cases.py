"""The primitives' test table: every primitive has a row, and each row buys every law."""

from __future__ import annotations

from case import Case
from cases_control import CASES as CONTROL
from cases_dot import CASES as DOT
from cases_elementwise import CASES as ELEMENTWISE
from cases_fft import CASES as FFT
from cases_indexing import CASES as INDEXING
from cases_linalg import CASES as LINALG
from cases_random import CASES as RANDOM
from cases_reduction import CASES as REDUCTION
from cases_rules import CASES as RULES
from cases_shape import CASES as SHAPE
from cases_sort import CASES as SORT

__all__ = ["CASES"]

CASES: list[Case] = [
    *ELEMENTWISE,
    *SHAPE,
    *INDEXING,
    *REDUCTION,
    *SORT,
    *DOT,
    *CONTROL,
    *RULES,
    *RANDOM,
    *LINALG,
    *FFT,
]
