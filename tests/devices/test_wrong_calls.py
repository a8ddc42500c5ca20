"""A wrong call for several devices ends in one of our errors, and the process lives."""

from __future__ import annotations

import random

import pytest

from tests.devices.wrong_calls import calls, outcome


@pytest.mark.parametrize("seed", range(3))
def test_wrong_calls_end_in_an_error_of_ours_or_are_right(seed: int) -> None:
    every = [outcome(call) for call in calls(random.Random(seed), 150)]
    assert [wrong for wrong in every if wrong] == []
