"""The primitives' test table: every primitive has a row, and each row buys every law."""

from __future__ import annotations

from tests.primitives.case import Case
from tests.primitives.cases_control import CASES as CONTROL
from tests.primitives.cases_dot import CASES as DOT
from tests.primitives.cases_elementwise import CASES as ELEMENTWISE
from tests.primitives.cases_fft import CASES as FFT
from tests.primitives.cases_indexing import CASES as INDEXING
from tests.primitives.cases_linalg import CASES as LINALG
from tests.primitives.cases_random import CASES as RANDOM
from tests.primitives.cases_reduction import CASES as REDUCTION
from tests.primitives.cases_rules import CASES as RULES
from tests.primitives.cases_shape import CASES as SHAPE
from tests.primitives.cases_sort import CASES as SORT

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
