"""The user's own TPUs: tables in TOML with the figures of a generation and changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olympus_core.xla.messages import nearest
from olympus_core.xla.targets.device_tables import (
    RATE,
    SPEED,
    Fail,
    Number,
    check_name,
    check_rates,
    check_sources,
    sources_of,
)

NUMBERS: Mapping[str, Number] = {
    "memory": Number(2**24, 2**46, " of bytes", is_integer=True),
    "bandwidth": SPEED,
    "ici": SPEED,
    "dcn": SPEED,
    "vector_tflops": RATE,
}
_KEYS = ("like", "product", *NUMBERS, "tensor_tflops", "sources")
#: The keys that have a source together, by the name of the group.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory", "bandwidth"),
    "links": ("ici", "dcn"),
    "rates": ("vector_tflops", "tensor_tflops"),
}
_DTYPES = ("bfloat16", "float8", "int8")


def check_tpus(tables: Mapping[str, Any], existing: Mapping[str, object], fail: Fail) -> None:
    """Raise the error of a table with an invalid name, key or figure; `existing` are the TPUs."""
    for name, table in tables.items():
        check_name(name, table, existing, fail)
        _check(name, table, fail)


def _check(name: str, table: Mapping[str, Any], fail: Fail) -> None:
    for key, value in table.items():
        place = ("device", name, key)
        if key not in _KEYS:
            hint = nearest(key, _KEYS) or f"its keys are {', '.join(_KEYS)}"
            fail(place, f"[device.{name}], a TPU, has no key {key!r:.80}", hint)
        if key in NUMBERS:
            if not NUMBERS[key].takes(value):
                needs = NUMBERS[key].needs()
                fail(place, f"{'.'.join(place)} must be {needs}; got {value!r:.80}", None)
        elif key == "tensor_tflops":
            check_rates(place, value, fail, _DTYPES)
        elif key == "sources":
            check_sources(place, value, fail, _GROUPS)
        elif not isinstance(value, str):
            fail(place, f"{'.'.join(place)} must be a string; got {value!r:.80}", None)


def merged_sources(
    base: Mapping[str, tuple[str, ...]], table: Mapping[str, Any]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the sources of a table and its `like`; a changed figure drops that of its group."""
    changed = {group for group, keys in _GROUPS.items() if any(key in table for key in keys)}
    unchanged = {group: titles for group, titles in base.items() if group not in changed}
    return sources_of({"sources": {**unchanged, **table.get("sources", {})}})
