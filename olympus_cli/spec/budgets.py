"""Budgets in olympus.toml: `[budget]` for all targets, `[target.NAME.budget]` for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import olympus
from olympus.errors import SpecError, UsageError
from olympus_cli.nearest import did_you_mean
from olympus_cli.spec.limits import QUANTITIES, Limit, Quantity, parse_limit
from olympus_cli.spec.section import Section
from olympus_cli.spec.shapes import DTYPES

__all__ = ["HOST_CALLBACK", "LIMITED", "Budget", "Limit", "Limited", "budget_of", "forbidden_name"]


@dataclass(frozen=True)
class Limited:
    """What a key limits, and whether the program has to be compiled to know it."""

    quantity: Quantity
    compiles: bool = False


_FLOPS, _BYTES = QUANTITIES["flops"], QUANTITIES["bytes"]
_COUNT, _SECONDS = QUANTITIES["count"], QUANTITIES["seconds"]

#: What a budget may limit, by its key.
LIMITED: Mapping[str, Limited] = {
    "flops": Limited(_FLOPS),
    "matmul-flops": Limited(_FLOPS),
    "transcendentals": Limited(_COUNT),
    "bytes": Limited(_BYTES),
    "operations": Limited(_COUNT),
    "peak-memory": Limited(_BYTES, compiles=True),
    "argument-memory": Limited(_BYTES, compiles=True),
    "temporary-memory": Limited(_BYTES, compiles=True),
    "fusions": Limited(_COUNT, compiles=True),
    "custom-calls": Limited(_COUNT, compiles=True),
    "executable-size": Limited(_BYTES, compiles=True),
    "bundle-size": Limited(_BYTES, compiles=True),
    "estimated-time": Limited(_SECONDS, compiles=True),
}

HOST_CALLBACK = "host-callback"  # any operation that calls the host while the program runs


@dataclass(frozen=True)
class Budget:
    """What a target may be at most: limits by their keys, and three rules.

    `fits` is a device whose memory must do; `forbid` are dtypes by their long names, operations by
    those of StableHLO without the dialect, or `HOST_CALLBACK`.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    fits: olympus.Target | None = None
    forbid: tuple[str, ...] = ()
    all_donations_used: bool = False

    def __bool__(self) -> bool:
        return self != Budget()

    @property
    def compiles(self) -> bool:
        """Whether the program has to be compiled to judge it."""
        return self.fits is not None or any(LIMITED[key].compiles for key in self.limits)

    def under(self, own: Budget) -> Budget:
        """This budget, of all targets, with what a target says of its own over it."""
        return Budget(
            {**self.limits, **own.limits},
            own.fits or self.fits,
            tuple(dict.fromkeys((*self.forbid, *own.forbid))),
            self.all_donations_used or own.all_donations_used,
        )


def budget_of(parent: Section) -> Budget:
    """What the table `budget` of `parent` says.

    Raises:
        SpecError: a key, a limit, its unit, a device or a rule is wrong.
    """
    section = parent.table("budget")
    section.only((*LIMITED, "fits", "forbid", "donation"))
    limits = {
        key: _limit(section, key, value) for key, value in section.data.items() if key in LIMITED
    }
    donation = "donation" in section.data and section.choice("donation", ("all-used",))
    return Budget(limits, _fits(section), _forbidden(section), bool(donation))


def _limit(section: Section, key: str, value: object) -> Limit:
    try:
        return parse_limit(value, LIMITED[key].quantity)
    except SpecError as error:
        section.fail(key, str(error), error.hint)


def _fits(section: Section) -> olympus.Target | None:
    if "fits" not in section.data:
        return None
    try:
        return olympus.target("gpu", section.text("fits", ""))
    except UsageError as error:
        section.fail("fits", f"is wrong: {error}", error.hint)


def _forbidden(section: Section) -> tuple[str, ...]:
    names = section.texts("forbid")
    for name in names:
        if forbidden_name(name) is None:
            known = (*DTYPES, *olympus.stages.OPERATIONS, HOST_CALLBACK)
            hint = did_you_mean(name, known, "such as f64, stablehlo.transpose or host-callback")
            section.fail("forbid", f"has {name!r}, which is not a dtype or an operation", hint)
    return names


def forbidden_name(name: str) -> str | None:
    """What a name of `forbid` is called in a cost; None where it is nothing that can be forbidden.

    >>> forbidden_name("f64"), forbidden_name("stablehlo.transpose")
    ('float64', 'transpose')
    """
    if name in DTYPES:
        return DTYPES[name]
    plain = name.removeprefix("stablehlo.").removeprefix("chlo.")
    if plain in olympus.stages.OPERATIONS or name == HOST_CALLBACK:
        return plain
    return name if name.startswith("custom call ") else None
