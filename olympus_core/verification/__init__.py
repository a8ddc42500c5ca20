"""Are the numbers of a program right?

A program is run operation by operation beside a float64 run of NumPy, and its compiled form is
compared with that.  The first operation that is wrong is found, with the line that it stands at.
"""

from __future__ import annotations

from olympus_core.verification.bisection import Run, first_wrong, prefix
from olympus_core.verification.comparison import Comparison, Tolerance, compare
from olympus_core.verification.findings import Element, Finding
from olympus_core.verification.floats import Statistics, statistics, ulps
from olympus_core.verification.interpreter import interpret
from olympus_core.verification.ranges import Draw, RangeFault, Ranges, can_vary, judge_ranges
from olympus_core.verification.verify import ResultCheck, Verification, runner, verify

__all__ = [
    "Comparison",
    "Draw",
    "Element",
    "Finding",
    "RangeFault",
    "Ranges",
    "ResultCheck",
    "Run",
    "Statistics",
    "Tolerance",
    "Verification",
    "can_vary",
    "compare",
    "first_wrong",
    "interpret",
    "judge_ranges",
    "prefix",
    "runner",
    "statistics",
    "ulps",
    "verify",
]
