"""Numerical verification of programs.

A program is run operation by operation beside a float64 run of NumPy, and its compiled form is
compared with both. The first wrong operation is reported with its source line.
"""

from __future__ import annotations

from olympus_core.verification.bisection import Run, first_wrong, prefix
from olympus_core.verification.comparison import Comparison, Tolerance, compare
from olympus_core.verification.dependencies import arguments_of
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
    "arguments_of",
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
