"""Budgets and their limits: a number, a text with a unit, or relative to a saved figure.

flops = 2_000_000         peak-memory = "64 MiB"       estimated-time = "3 ms"
flops = "2 GFLOP"         bytes = "1.5 GB"             operations = "+1%"
flops = "2*b*784 + 1000"  in symbolic sizes of the target's arguments
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import olympus
from olympus.errors import ShapeError, SpecError, UsageError
from olympus_cli.text.nearest import nearest
from olympus_cli.text.units import byte_size, count, duration

_TOO_LARGE = "is {:.80}, which is too large for a limit"
_LARGEST_FACTOR = 1e6  # of the saved figure: a larger one is a mistake

_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)")
_RELATIVE = re.compile(r"([+-])\s*([0-9]+(?:\.[0-9]+)?)\s*%")
#: A text that may be an expression in symbolic sizes: it has a letter and an operator.
_FORMULA = re.compile(r"(?=.*[A-Za-z_])(?=.*[*^(+-])[\w\s()*+/%^,-]+", re.ASCII)
_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{letter}i": 1024.0 ** (i + 1) for i, letter in enumerate("KMGTP")}


@dataclass(frozen=True)
class Quantity:
    """A kind of figure that can be limited: its units with their sizes, and its text."""

    name: str
    units: Mapping[str, float]

    def shown(self, figure: float) -> str:
        """Return the text of a figure, with its unit.

        >>> QUANTITIES["bytes"].shown(2**21)
        '2.00 MiB'
        """
        return {"bytes": byte_size, "seconds": duration}.get(self.name, count)(figure)


QUANTITIES = {
    "flops": Quantity("flops", {f"{p}{u}": n for p, n in _DECIMAL.items() for u in ("FLOP", "")}),
    "bytes": Quantity(
        "bytes",
        {f"{p}B": n for p, n in (*_DECIMAL.items(), *_BINARY.items())} | {"": 1.0, "kiB": 1024.0},
    ),
    "count": Quantity("count", dict(_DECIMAL)),
    "seconds": Quantity("seconds", {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "": 1.0}),
}


@dataclass(frozen=True)
class Limit:
    """The upper limit of a figure: `most`, or `factor` times the saved figure.

    A `formula` in the symbolic sizes has no value before these have values: see `at`.
    """

    text: str
    most: float | None = None
    factor: float | None = None
    formula: str | None = None

    def at(self, sizes: Mapping[str, int]) -> Limit:
        """Return the limit for values of the symbolic sizes; itself if it has no formula.

        Raises UsageError for an unknown size, or a limit below 0.

        >>> Limit("2*b", formula="2*b").at({"b": 8}).most
        16.0
        """
        if self.formula is None:
            return self
        from olympus.stages import formula_value  # few limits are formulas

        value = formula_value(self.formula, sizes)
        shown = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        if value < 0:
            raise UsageError(
                f"{self.formula!r:.80} is {value} for {shown}, and a limit is 0 or more"
            )
        text = f"{self.text} = {count(value)} for {shown}" if sizes else self.text
        return Limit(text, most=float(value))

    def of(self, saved: float | None) -> float | None:
        """Return the greatest allowed figure; None if it depends on a saved figure that is None.

        >>> Limit("+1%", factor=1.01).of(200.0)
        202.0
        """
        if self.factor is None:
            return self.most
        return None if saved is None else saved * self.factor


@dataclass(frozen=True)
class Limited:
    """The quantity that a key limits; `compiles` is True if only a compiled program has it."""

    quantity: Quantity
    compiles: bool = False


_FLOPS, _BYTES = QUANTITIES["flops"], QUANTITIES["bytes"]
_COUNT, _SECONDS = QUANTITIES["count"], QUANTITIES["seconds"]

#: The quantities that a budget may limit, by key.
LIMITED: Mapping[str, Limited] = {
    "flops": Limited(_FLOPS),
    "matmul-flops": Limited(_FLOPS),
    "transcendentals": Limited(_COUNT),
    "bytes": Limited(_BYTES),
    "operations": Limited(_COUNT),
    "peak-memory": Limited(_BYTES, compiles=True),
    "argument-memory": Limited(_BYTES, compiles=True),
    "temporary-memory": Limited(_BYTES, compiles=True),
    "collective-bytes": Limited(_BYTES, compiles=True),
    "collectives": Limited(_COUNT, compiles=True),
    "fusions": Limited(_COUNT, compiles=True),
    "custom-calls": Limited(_COUNT, compiles=True),
    "executable-size": Limited(_BYTES, compiles=True),
    "bundle-size": Limited(_BYTES, compiles=True),
    "estimated-time": Limited(_SECONDS, compiles=True),
}

HOST_CALLBACK = "host-callback"  # any operation that calls the host while the program runs


@dataclass(frozen=True)
class Budget:
    """The budget of a target: limits by key, and three rules.

    `fits` is a device whose memory must suffice.  `forbid` are long names of dtypes, names of
    StableHLO operations without the dialect, or `HOST_CALLBACK`.  With `must_donate`, a program
    that donates no array violates `all_donations_used`; otherwise that rule does not apply to it.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    fits: olympus.Target | None = None
    forbid: tuple[str, ...] = ()
    all_donations_used: bool = False
    must_donate: bool = False

    def __bool__(self) -> bool:
        return self != Budget()

    @property
    def compiles(self) -> bool:
        """True if the program must be compiled to check the budget."""
        return self.fits is not None or any(LIMITED[key].compiles for key in self.limits)

    def at(self, sizes: Mapping[str, int]) -> Budget:
        """Return the budget for values of the symbolic sizes; raise UsageError as `Limit.at`."""
        if not any(limit.formula for limit in self.limits.values()):
            return self
        return replace(self, limits={key: limit.at(sizes) for key, limit in self.limits.items()})

    def under(self, own: Budget) -> Budget:
        """Return this budget of all targets, combined with a target's `own`.

        Limits and `fits` of `own` replace these; the other rules of both apply.
        """
        return Budget(
            {**self.limits, **own.limits},
            own.fits or self.fits,
            tuple(dict.fromkeys((*self.forbid, *own.forbid))),
            self.all_donations_used or own.all_donations_used,
            self.must_donate or own.must_donate,
        )


def parse_limit(value: object, quantity: Quantity) -> Limit:
    """Return the limit in a value of TOML.

    Raises:
        SpecError: it is not a number or a text in this form, or the quantity has no such unit.

    >>> parse_limit("64 MiB", QUANTITIES["bytes"]).most
    67108864.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < math.inf:
            raise SpecError(f"must not be negative or infinite; got {value!s:.80}")
        if value > sys.float_info.max:  # an integer may be larger than any float
            raise SpecError(_TOO_LARGE.format(str(value)))
        return Limit(quantity.shown(value), most=float(value))
    if not isinstance(value, str):
        raise SpecError(f"must be a number, or a text with a unit; got {value!r:.80}")
    text = value.strip()
    if match := _RELATIVE.fullmatch(text):
        sign = 1 if match.group(1) == "+" else -1
        factor = 1 + sign * float(match.group(2)) / 100
        if factor < 0:
            raise SpecError(f"must be at least -100%; got {text!r:.80}")
        if factor > _LARGEST_FACTOR:
            raise SpecError(f"must be at most +{_LARGEST_FACTOR - 1:.0%}; got {text!r:.80}")
        return Limit(text, factor=factor)
    match = _TEXT.fullmatch(text)
    if match is None and _FORMULA.fullmatch(text):
        return Limit(_checked_formula(text), formula=text)
    if match is None:
        form = 'a number with a unit, or relative, such as "+1%"'
        raise SpecError(f"must be {form}; got {text!r:.80}")
    number, unit = float(match.group(1)), match.group(2)
    if unit not in quantity.units:
        raise SpecError(
            f"is {text!r:.80}, and {unit!r:.80} is not a unit of {quantity.name}",
            hint=_units_hint(unit, quantity),
        )
    most = number * quantity.units[unit]
    if most == math.inf:
        raise SpecError(_TOO_LARGE.format(repr(text)))
    return Limit(text, most=most)


def _checked_formula(text: str) -> str:
    from olympus.export import symbolic_shape  # few limits are formulas

    try:
        symbolic_shape(text)
    except ShapeError as error:
        reason = str(error).partition(". Parsed")[0]
        raise SpecError(
            f"must be a number with a unit, or a formula; got {text!r:.80}: {reason}"
        ) from error
    return text


def _units_hint(unit: str, quantity: Quantity) -> str:
    """Return a hint with the nearest units, or all; of units of one size, only the longest name."""
    names: dict[float, str] = {}
    for name, size in quantity.units.items():
        if name and len(name) > len(names.get(size, "")):
            names[size] = name
    if near := nearest(unit, names.values()):
        return f"did you mean {' or '.join(near)}?"
    return f"its units are {', '.join(names.values())}"
