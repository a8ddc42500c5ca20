"""The axis of a plot: its range, the place of a value on it, and the values of its labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_STEPS = (1, 2, 5, 10)
_SHORT = 3  # powers of ten
_MARGIN = 0.05  # of the range, on both sides, so that no point is on the frame
_FLAT = 0.1  # of the value, around values that are all equal


@dataclass(frozen=True)
class Axis:
    """The range from `low` to `high`, of logarithms if `log` is True.

    `text` formats a value of the axis for a label.
    """

    low: float
    high: float
    log: bool
    text: Callable[[float], str]

    def place(self, value: float) -> float:
        """Return the place of a value on the axis: 0 at its beginning, 1 at its end."""
        return (_scaled(value, self.log) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return round values in the range and their texts: about `most`, and two if possible.

        Values for which `text` returns "" are omitted.
        """
        values = _powers(self.low, self.high) if self.log else []
        if len(values) > most:
            values = values[:: -(-len(values) // most)]
        wanted = most
        while len(values) < 2 and wanted <= 4 * most:
            candidates = _round_values(*self._ends(), wanted)
            values = [value for value in candidates if value > 0 or not self.log]
            wanted += 1
        named: dict[str, float] = {}  # one value for each text: equal labels are not useful
        for value in values:
            named.setdefault(self.text(value), value)
        return [(value, text) for text, value in named.items() if text]

    def _ends(self) -> tuple[float, float]:
        return (10**self.low, 10**self.high) if self.log else (self.low, self.high)


def axis_of(
    values: Iterable[float], text: Callable[[float], str], *, log: bool = False
) -> Axis | None:
    """Return the axis that shows all values; None if there are none.

    >>> axis_of([1.0, 3.0], plain_number).place(2.0)
    0.5
    """
    scaled = [_scaled(value, log) for value in values]
    if not scaled:
        return None
    low, high = min(scaled), max(scaled)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        around = 0.5 if log else _FLAT * abs(low) or 1.0
        return Axis(low - around, high + around, log, text)
    margin = _MARGIN * (high - low)
    return Axis(low - margin, high + margin, log, text)


def plain_number(value: float) -> str:
    """Return a number as text with at most four significant digits.

    >>> plain_number(1500.0), plain_number(0.25)
    ('1500', '0.25')
    """
    return f"{value:.4g}"


def _scaled(value: float, log: bool) -> float:
    return math.log10(value) if log else value


def _powers(low: float, high: float) -> list[float]:
    """Return the powers of ten in a logarithmic range; twice and five times them if it is short."""
    powers = range(math.floor(low), math.floor(high) + 1)
    parts = (1, 2, 5) if high - low < _SHORT else (1,)
    values = (part * 10.0**power for power in powers for part in parts)
    return [value for value in values if low <= math.log10(value) <= high]


def _round_values(low: float, high: float, most: int) -> Iterator[float]:
    """Return multiples of 1, 2 or 5 times a power of ten, at most `most` of them."""
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((factor * power for factor in _STEPS if factor * power >= rough), 10 * power)
    first = math.ceil(low / step)
    return (number * step for number in range(first, math.floor(high / step) + 1))
