"""Signals that arrive while no exception may be raised."""

from __future__ import annotations

import pytest

from olympus_cli.process import interrupts


def test_a_signal_is_raised_at_the_end_of_the_outermost_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred() as outer:
        with interrupts.deferred() as inner:
            interrupts.raise_soon(KeyboardInterrupt())
            done.append("inner")
        assert len(inner) == len(outer) == 1
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_error_does_not_discard_a_signal() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        interrupts.raise_soon(KeyboardInterrupt())
        raise OSError("no process left")


def test_nothing_is_raised_without_a_signal() -> None:
    with interrupts.deferred() as came:
        pass
    assert came == []
