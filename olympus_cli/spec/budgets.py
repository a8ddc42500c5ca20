"""Reading budgets: `[budget]` of olympus.toml, for all targets, and `[target.NAME.budget]`."""

from __future__ import annotations

import olympus
from olympus.errors import SpecError, UsageError
from olympus_cli.nearest import did_you_mean
from olympus_cli.spec.limits import HOST_CALLBACK, LIMITED, Budget, Limit, parse_limit
from olympus_cli.spec.section import Section
from olympus_cli.spec.shapes import DTYPES

__all__ = ["budget_of", "forbidden_name"]


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
            known = (*DTYPES, *olympus.analysis.OPERATIONS, HOST_CALLBACK)
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
    if plain in olympus.analysis.OPERATIONS or name == HOST_CALLBACK:
        return plain
    return name if name.startswith("custom call ") else None
