"""The tables of devices in TOML, checked key by key, with `like` resolved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from olympus_core.base.errors import SpecError
from olympus_core.xla.messages import nearest

#: Raises the error of a mistake: the path of the key, the message, and a hint.
Fail = Callable[[tuple[str, ...], str, str | None], NoReturn]

#: The keys that have a source together, by the name of the group.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "chip": ("capability", "cores", "clock_ghz", "l2_cache"),
    "memory": ("memory", "bus_bits", "pin_gbit", "bandwidth"),
    "links": ("nvlink", "pcie", "watts"),
    "rates": ("tflops", "tensor_tflops"),
}
_DTYPES = ("float64", "float32", "tf32", "bfloat16", "float16", "float8", "int8")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # a part of the names of folders too
_MAX_DEPTH = 100  # devices that are each like the next
# it is inserted into a text for the compiler
_PRODUCT = re.compile(r"[\w .,+()/-]{1,100}", re.ASCII)


def _plain(number: float) -> str:
    """Return a number without an exponent, with separated thousands."""
    return f"{number:,.0f}" if number >= 1 else f"{number:.6f}".rstrip("0")


class Number(NamedTuple):
    """A number from `low` to `high`, whole or not, and its unit."""

    low: float
    high: float
    unit: str
    is_integer: bool = False

    def needs(self) -> str:
        """The description of a valid value."""
        kind = "a whole number" if self.is_integer else "a number"
        return f"{kind}{self.unit} from {_plain(self.low)} to {_plain(self.high)}"

    def takes(self, value: object) -> bool:
        """Return True for a valid value."""
        if isinstance(value, bool) or not isinstance(
            value, int if self.is_integer else int | float
        ):
            return False
        return self.low <= value <= self.high  # False for NaN


# The bounds are wide: they detect a wrong unit, and values too large for the compiler's integers.
RATE = Number(1e-6, 1e6, " of 10^12 operations a second")
SPEED = Number(1e8, 1e15, " of bytes a second")
_NUMBERS: Mapping[str, Number] = {
    "cores": Number(1, 4096, "", is_integer=True),
    "clock_ghz": Number(0.01, 20, " of GHz"),
    "l2_cache": Number(2**12, 2**36, " of bytes", is_integer=True),
    "memory": Number(2**24, 2**46, " of bytes", is_integer=True),
    "bandwidth": SPEED,
    "bus_bits": Number(1, 2**20, " of bits", is_integer=True),
    "pin_gbit": Number(0.01, 1000, " of Gbit/s"),
    "nvlink": SPEED,
    "pcie": SPEED,
    "watts": Number(0.1, 1e5, " of watts"),
}
_NEEDED = ("capability", "cores", "clock_ghz", "l2_cache", "memory", "bandwidth")
_KEYS = ("like", "product", "capability", *_NUMBERS, *GROUPS["rates"], "sources")


def plain_fail(_keys: tuple[str, ...], message: str, hint: str | None) -> NoReturn:
    """Raise SpecError, without a file and its lines."""
    raise SpecError(message, hint=hint)


def is_name(text: str) -> bool:
    """Return True if a text is a valid name of a device.

    >>> is_name("h100-mine"), is_name("../h100")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None


def resolved(
    tables: Mapping[str, Any], existing: Mapping[str, Mapping[str, Any]], fail: Fail
) -> dict[str, dict[str, Any]]:
    """Return the tables with all figures, checked, with those of `like` filled in.

    `existing` are whole tables. Raises the errors of `fail`.
    """
    for name, table in tables.items():
        check_name(name, table, existing, fail)
        _check(name, table, fail)
    complete: dict[str, dict[str, Any]] = {}
    for name in tables:
        complete[name] = _filled(name, tables, existing, (), fail)
        for key in _NEEDED:
            if key not in complete[name]:
                message = f"device.{name} has no {key}"
                fail(
                    ("device", name),
                    message,
                    'like = "h200" takes the missing figures from an h200',
                )
    return complete


def check_name(name: str, table: object, existing: Mapping[str, object], fail: Fail) -> None:
    """Raise the error of a table's name that is not valid, or is in `existing`."""
    place = ("device", name)
    if not isinstance(table, Mapping):
        fail(place, f"device.{name} must be a table; got {table!r:.80}", None)
    if not is_name(name):
        form = "letters, digits and _ . - only, 64 at most, and no . or - at its beginning"
        fail(place, f"{name!r:.100} is not a valid name of a device: {form}", None)
    if name in ("cpu", "gpu", "tpu"):
        fail(place, f"{name!r} is a backend, and cannot be the name of a device", None)
    if name in existing:
        hint = f'give yours another name, and write like = "{name}"'
        fail(place, f"a device is already named {name!r}", hint)


def _check(name: str, table: Mapping[str, Any], fail: Fail) -> None:
    for key, value in table.items():
        place = ("device", name, key)

        def fail_value(
            needs: str, value: object = value, place: tuple[str, ...] = place
        ) -> NoReturn:
            fail(place, f"{'.'.join(place)} must be {needs}; got {value!r:.80}", None)

        if key not in _KEYS:
            hint = nearest(key, _KEYS) or f"its keys are {', '.join(_KEYS)}"
            fail(place, f"[device.{name}] has no key {key!r:.80}", hint)
        if key in _NUMBERS:
            if not _NUMBERS[key].takes(value):
                fail_value(_NUMBERS[key].needs())
        elif key in GROUPS["rates"]:
            check_rates(place, value, fail)
        elif key == "sources":
            check_sources(place, value, fail)
        elif not isinstance(value, str):
            fail_value("a string")
        elif key == "product" and not _PRODUCT.fullmatch(value):
            fail_value("1 to 100 letters, digits, blanks and . , + ( ) / -")


def check_rates(
    place: tuple[str, ...], value: object, fail: Fail, dtypes: Sequence[str] = _DTYPES
) -> None:
    """Raise the error of a value that is no table of rates of `dtypes`."""
    if not isinstance(value, Mapping):
        fail(place, f"{'.'.join(place)} must be a table of rates; got {value!r:.80}", None)
    for dtype, rate in value.items():
        where = (*place, str(dtype))
        if dtype not in dtypes:
            hint = nearest(str(dtype), dtypes) or f"the dtypes are {', '.join(dtypes)}"
            fail(where, f"{'.'.join(place)} has no dtype {dtype!r:.80}", hint)
        if not RATE.takes(rate):
            fail(where, f"{'.'.join(where)} must be {RATE.needs()}; got {rate!r:.80}", None)


def check_sources(
    place: tuple[str, ...], value: object, fail: Fail, groups: Iterable[str] = GROUPS
) -> None:
    """Raise the error of a value that is no table of the sources of `groups`."""
    if not isinstance(value, Mapping):
        fail(place, f"{'.'.join(place)} must be a table of arrays; got {value!r:.80}", None)
    for group, titles in value.items():
        where = (*place, str(group))
        if group not in groups:
            hint = nearest(str(group), groups) or f"the groups are {', '.join(groups)}"
            fail(where, f"{'.'.join(place)} has no group {group!r:.80}", hint)
        if not isinstance(titles, list) or not all(isinstance(x, str) for x in titles):
            fail(where, f"{'.'.join(where)} must be an array of strings; got {titles!r:.80}", None)


def _filled(
    name: str,
    tables: Mapping[str, Any],
    existing: Mapping[str, Mapping[str, Any]],
    above: tuple[str, ...],
    fail: Fail,
) -> dict[str, Any]:
    """Return the table `name`, completed with the figures of its `like`."""
    if name in existing:
        return dict(existing[name])
    own = dict(tables[name])
    if "like" not in own:
        return own
    base, place = own.pop("like"), ("device", name, "like")
    if base in (name, *above):
        circle = " -> ".join((*above, name, base))
        fail(place, f"device.{name}.like goes in a circle: {circle}", None)
    if len(above) > _MAX_DEPTH:
        fail(place, f"device.{name}.like is one of more than {_MAX_DEPTH} in a row", None)
    if base not in tables and base not in existing:
        hint = nearest(base, [*tables, *existing])
        fail(place, f"device.{name}.like is {base!r:.80}, and no device has this name", hint)
    return _merged(_filled(base, tables, existing, (*above, name), fail), own)


def _merged(base: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the figures of `own`; a changed figure drops the source of its group."""
    changed = {group for group, keys in GROUPS.items() if any(key in own for key in keys)}
    sources = {k: v for k, v in base.get("sources", {}).items() if k not in changed}
    merged = {**base, **own, "sources": {**sources, **own.get("sources", {})}}
    for key in GROUPS["rates"]:
        merged[key] = {**base.get(key, {}), **own.get(key, {})}
    if "product" not in own:  # it is not that product
        merged.pop("product", None)
    return merged


def sources_of(table: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the sources of a table, by group, in the order of the groups."""
    sources = table.get("sources", {})
    return tuple((group, tuple(sources[group])) for group in GROUPS if sources.get(group))
