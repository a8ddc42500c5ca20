"""A wrong call for several devices raises an error of OLYMPUS and does not crash."""

from __future__ import annotations

import random

import pytest

from tests.devices.wrong_calls import calls, outcome


@pytest.mark.parametrize("seed", range(3))
def test_drawn_calls_succeed_or_raise_an_error_of_olympus(seed: int) -> None:
    outcomes = [outcome(call) for call in calls(random.Random(seed), 150)]
    assert [message for message in outcomes if message] == []
