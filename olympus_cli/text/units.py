"""Numbers as readable text: times in seconds, sizes in bytes, counts, shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_UNKNOWN = "unknown"
_PERCENTAGE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")
_MANY_TIMES = 10  # from this ratio on, text has a factor instead of a percentage


def percentage(text: str) -> float:
    """Return the share that a text gives in percent; NaN for any other text.

    >>> percentage("5%"), percentage("5")
    (0.05, nan)
    """
    match = _PERCENTAGE.fullmatch(text.strip())
    return float(match.group(1)) / 100 if match else math.nan


def duration(seconds: float | None) -> str:
    """Return a time as text, with three significant digits.

    >>> duration(0.01234), duration(3.2e-6), duration(75.0)
    ('12.3 ms', '3.20 us', '75.0 s')
    """
    if seconds is None:
        return _UNKNOWN
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def byte_size(size: float | None) -> str:
    """Return a size in bytes as text, in units of 1024.

    >>> byte_size(0), byte_size(1536), byte_size(5 * 2**20)
    ('0 B', '1.50 KiB', '5.00 MiB')
    """
    return _scaled(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


_SIZE_UNITS = (
    (1000, ("B", "kB", "MB", "GB", "TB", "PB")),
    (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB")),
)


def limit_texts(limit: int, size: float) -> tuple[str, str]:
    """Return a limit in bytes and a size as text, both in the unit in which the limit is round.

    >>> limit_texts(4_000_000_000, 5.21e9), limit_texts(2**30, 3 * 2**29)
    (('4 GB', '5.210 GB'), ('1 GiB', '1.500 GiB'))
    >>> limit_texts(10, 128)
    ('10 B', '128 B')
    """
    for base, units in _SIZE_UNITS:
        power = max(n for n in range(len(units)) if base**n <= max(limit, 1))
        scaled = limit / base**power
        if round(scaled, 2) == scaled:
            digits = 3 if power else 0  # a size is a whole number of bytes
            unit = units[power]
            return f"{scaled:g} {unit}", f"{size / base**power:.{digits}f} {unit}"
    return byte_size(limit), byte_size(size)


def count(number: float | None) -> str:
    """Return a number as text, in units of 1000.

    >>> count(999), count(1_500_000)
    ('999', '1.50 M')
    """
    return _scaled(number, 1000, ("", "k", "M", "G", "T", "P", "E"))


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, whose plural ends in "s".

    >>> counted(1, "figure"), counted(0, "figure")
    ('1 figure', '0 figures')
    """
    return f"{number} {noun}" + "s" * (number != 1)


def quantity(value: float | None, unit: str) -> str:
    """Return a value with its unit: "s", "B", "count", or any other, in units of 1000.

    A rate has three significant digits, and "1/s" is shown as calls a second.

    >>> quantity(0.0123, "s"), quantity(2**21, "B"), quantity(2.5e9, "FLOP/s"), quantity(7, "count")
    ('12.3 ms', '2.00 MiB', '2.50 GFLOP/s', '7')
    >>> quantity(12.345, "1/s"), quantity(2e6, "B/s")
    ('12.3 calls/s', '2.00 MB/s')
    """
    if unit == "s":
        return duration(value)
    if unit == "B":
        return byte_size(value)
    if unit == "count" or value is None:
        return count(value)
    if unit.endswith("/s"):
        value = float(f"{value:.3g}")
    number, _, prefix = count(value).partition(" ")
    return f"{number} {prefix}{'calls/s' if unit == '1/s' else unit}"


def change(ratio: float | None) -> str:
    """Return a ratio as a difference in percent, or as a factor if it is ten or more.

    >>> change(1.2), change(0.5), change(12.0), change(None)
    ('+20.0%', '-50.0%', '12 times', '')
    """
    if ratio is None:
        return ""
    return f"{ratio:.3g} times" if ratio >= _MANY_TIMES else f"{100 * (ratio - 1):+.1f}%"


def array_type(dtype: str, shape: Sequence[int]) -> str:
    """Return a dtype and a shape as one word.

    >>> array_type("float32", (8, 128))
    'float32[8,128]'
    """
    return f"{dtype}[{','.join(map(str, shape))}]"


def _scaled(number: float | None, step: int, units: Sequence[str]) -> str:
    if number is None:
        return _UNKNOWN
    value, index = float(number), 0
    while value >= step and index < len(units) - 1:
        value, index = value / step, index + 1
    text = f"{value:g}" if index == 0 else _digits(value)
    return f"{text} {units[index]}".rstrip()


def _digits(value: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"
