"""The budgets of olympus.toml: `[budget]`, for all targets, and `[target.NAME.budget]`."""

from __future__ import annotations

import olympus
from olympus.errors import SpecError, UsageError
from olympus_cli.spec.devices import Devices
from olympus_cli.spec.limits import HOST_CALLBACK, LIMITED, Budget, Limit, parse_limit
from olympus_cli.spec.section import Section
from olympus_cli.spec.shapes import DTYPES
from olympus_cli.text.nearest import nearest, spelled


def budget_of(parent: Section, devices: Devices) -> Budget:
    """Return the budget in the table `budget` of `parent`; `devices` are the user's own.

    If `donation` is a key, the budget also requires that a program donates an array.

    Raises:
        SpecError: a key, a limit, its unit, a device or a rule is wrong.
    """
    table = parent.table("budget")
    data = {spelled(key, LIMITED): value for key, value in table.data.items()}
    if len(data) < len(table.data):
        twice = next(key for key in table.data if spelled(key, LIMITED) != key)
        table.fail(twice, f"is another spelling of {spelled(twice, LIMITED)}, which is also set")
    section = Section(table.source, table.keys, data)
    section.only((*LIMITED, "fits", "forbid", "donation"))
    limits = {
        key: _limit(section, key, value) for key, value in section.data.items() if key in LIMITED
    }
    donation = "donation" in section.data and bool(section.choice("donation", ("all-used",)))
    return Budget(limits, _fits(section, devices), _forbidden(section), donation, donation)


def _limit(section: Section, key: str, value: object) -> Limit:
    try:
        return parse_limit(value, LIMITED[key].quantity)
    except SpecError as error:
        section.fail(key, str(error), error.hint)


def _fits(section: Section, devices: Devices) -> olympus.Target | None:
    if "fits" not in section.data:
        return None
    name = section.text("fits", "")
    try:
        return olympus.target(olympus.backend_of(name, devices), name, devices)
    except UsageError as error:
        section.fail("fits", f"is invalid: {error}", error.hint)


_FORBIDDEN = "such as f64, stablehlo.transpose, stablehlo.while or host-callback"


def _operations() -> set[str]:
    """Return the names of all operations that a program may have."""
    known = {*olympus.analysis.OPERATIONS, "while", "case", "if", "call"}
    return {name for name in known if not name.startswith("_")}


def _forbidden(section: Section) -> tuple[str, ...]:
    names = section.texts("forbid")
    for name in names:
        if forbidden_name(name) is None:
            near = nearest(name, (*DTYPES, *_operations(), HOST_CALLBACK))
            hint = f"did you mean {near[0]}?" if near else _FORBIDDEN
            section.fail("forbid", f"has {name!r}, which is not a dtype or an operation", hint)
    return names


def forbidden_name(name: str) -> str | None:
    """Return the name in a cost for a name of `forbid`; None if it cannot be forbidden.

    >>> forbidden_name("f64"), forbidden_name("stablehlo.transpose")
    ('float64', 'transpose')
    """
    if name in DTYPES:
        return DTYPES[name]
    plain = name.removeprefix("stablehlo.").removeprefix("chlo.")
    if plain in _operations() or name == HOST_CALLBACK:
        return plain
    return name if name.startswith("custom call ") else None
