"""The primitives' test table: every primitive has a row, and each row buys every law."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest

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

__all__ = ["CASES", "with_dtypes"]

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


def with_dtypes(
    dtypes_of: Callable[[Case], Sequence[str]],
    night: Collection[str] = (),
    *,
    one_row: bool = False,
) -> list[Any]:
    """Return the parameters of a test: each row with each of its dtypes.

    A row runs by day with its first dtype. It runs at night with another dtype that is in `night`
    or that an earlier row of its primitive has: a rule depends on the dtype in the same way in all
    rows. With `one_row`, the later rows of a primitive run at night with all dtypes. A later row
    has the mark `later_row`.
    """
    parameters, tested = [], set()
    primitives = set[str]()
    for case in CASES:
        dtypes = list(dict.fromkeys(dtypes_of(case)))
        is_later = case.primitive in primitives
        for position, dtype in enumerate(dtypes):
            repeated = dtype in night or (case.primitive, dtype) in tested
            marks = [pytest.mark.later_row] if is_later else []
            if (one_row and is_later) or (position and repeated):
                marks.append(pytest.mark.night)
            parameters.append(pytest.param(case, dtype, id=f"{case.id}-{dtype}", marks=marks))
            tested.add((case.primitive, dtype))
        if dtypes:
            primitives.add(case.primitive)
    return parameters
