"""Signals that come where nothing may be raised."""

from __future__ import annotations

import pytest

from olympus_cli.process import interrupts


def test_what_comes_is_raised_at_the_end_of_the_outermost() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred() as outer:
        with interrupts.deferred() as inner:
            interrupts.raise_soon(KeyboardInterrupt())
            done.append("inner")
        assert len(inner) == len(outer) == 1
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_error_does_not_lose_what_came() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        interrupts.raise_soon(KeyboardInterrupt())
        raise OSError("no process left")


def test_nothing_is_raised_where_nothing_came() -> None:
    with interrupts.deferred() as came:
        pass
    assert came == []
