"""The number of cases that the fuzzers try, and their first seed.

pytest tests/fuzz                          a quarter of the cases
pytest tests/fuzz --fuzz 1                 about a minute in all
pytest tests/fuzz --fuzz 500               a night
pytest tests/fuzz/test_x.py --fuzz-seed 81 the case of seed 81 first
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Fuzz:
    """The size of a run; a case is made from its seed alone, so that it can be made again."""

    first: int
    factor: float

    def seeds(self, count: int) -> range:
        """The seeds of a fuzzer that tries `count` cases with `--fuzz 1`; one at least."""
        return range(self.first, self.first + max(1, round(count * self.factor)))


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """The number of cases and the first seed from the options."""
    return Fuzz(request.config.getoption("--fuzz-seed"), request.config.getoption("--fuzz"))
