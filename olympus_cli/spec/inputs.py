"""The inputs and tolerances of a target in olympus.toml: distributions, files and functions."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olympus_cli.spec.section import Section
from olympus_cli.text.units import percentage

FORMS = '{ range = [0, 1] }, { normal = [0, 0.1] }, { file = "x.npy" } or { from = "model:init" }'
_KINDS = ("range", "normal", "file", "from")
_ALLOWED = ("nan", "inf")
_ENTRY = re.compile(r"[\w./-]+:[\w.]+")
_NUMBERS = ("rtol", "atol", "ulps")


@dataclass(frozen=True)
class InputSpec:
    """The source of an argument's values: exactly one of the first four fields is given.

    `range` is half-open; an integer argument gets integers in it.  `normal` is a mean and a
    standard deviation.  `file` is a .npy or .safetensors file.  `entry` is a function that returns
    the argument, and `values` are arguments of the function by name.
    """

    range: tuple[float, float] | None = None
    normal: tuple[float, float] | None = None
    file: Path | None = None
    entry: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ToleranceSpec:
    """The tolerances of results, for all dtypes and by dtype; `allow` may have "nan" and "inf"."""

    numbers: Mapping[str, float] = field(default_factory=dict)
    dtypes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    allow: tuple[str, ...] = ()


def input_specs(section: Section, root: Path) -> dict[str, InputSpec]:
    """Return the table `inputs` of a target, by the name of an argument or of a part of it.

    Raises:
        SpecError: a value has none of the forms, or its numbers are not a valid distribution.
    """
    table = section.table("inputs")
    return {key: _input(table, key, root) for key in table.data}


def _input(table: Section, key: str, root: Path) -> InputSpec:
    value = table.data[key]
    _refuse_parts(table, key, value)
    if not isinstance(value, dict) or len(value) != (2 if "with" in value else 1):
        table.wrong(key, FORMS, value)
    entry = table.table(key)
    entry.only((*_KINDS, *(["with"] if "from" in value else [])))
    if "from" in value:
        return _from_entry(table, key, entry)
    if "file" in value:
        return InputSpec(file=root / entry.path("file", ""))
    ((name, pair),) = value.items()
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_finite, pair)):
        entry.wrong(name, "an array of two numbers", pair)
    low, high = pair
    if name == "range":
        if low >= high:
            entry.fail(name, f"is empty: {low} is not below {high}")
        return InputSpec(range=(low, high))
    if high < 0:
        entry.fail(name, f"has the standard deviation {high}, which is below 0")
    return InputSpec(normal=(low, high))


def _refuse_parts(table: Section, key: str, value: object) -> None:
    """Raise SpecError for a table of the parts of an argument: `graph.senders = { ... }`."""
    keys, form = [key], value
    while isinstance(form, dict) and form and not any(name in _KINDS for name in form):
        part, form = next(iter(form.items()))
        keys.append(part)
    if len(keys) == 1 or not isinstance(form, dict) or not form:
        return
    first, *parts = keys
    name = first + "".join(f"[{part!r}]" for part in parts)
    kind = next(word for word in form if word in _KINDS)
    text = f"{{ {kind} = {json.dumps(form[kind])} }}"
    table.fail(
        key,
        f"is a table with the key {keys[1]!r}, and the name of a part of an argument is one key",
        f"write {json.dumps(name)} = {text}, or {json.dumps('.'.join(keys))} for an attribute",
    )


def _from_entry(table: Section, key: str, entry: Section) -> InputSpec:
    text = entry.text("from", "")
    if not _ENTRY.fullmatch(text):
        hint = 'write "package.module:function" or "path/file.py:function"'
        entry.fail("from", f"is {text!r}, which names no function", hint)
    if "*" in key:
        table.fail(key, "is a pattern, and a function returns one argument or a part of one")
    return InputSpec(entry=text, values=entry.table("with").data)


def _is_finite(x: object) -> bool:
    if isinstance(x, bool) or not isinstance(x, int | float):
        return False
    return abs(x) <= sys.float_info.max  # an integer may be larger than any float


def tolerance_spec(section: Section) -> ToleranceSpec:
    """Return the table `tolerance` of a target.

    Raises:
        SpecError: a key is neither a tolerance nor a float dtype, or a number is below 0.
    """
    table = section.table("tolerance")
    dtypes = {key: value for key, value in table.data.items() if isinstance(value, dict)}
    for key in dtypes:
        if not _is_float(key):
            table.fail(key, "is not the name of a float dtype", "such as float32 or bfloat16")
    own = Section(
        table.source, table.keys, {k: v for k, v in table.data.items() if k not in dtypes}
    )
    own.only((*_NUMBERS, "allow"))
    allow = own.texts("allow")
    for word in allow:
        if word not in _ALLOWED:
            own.fail("allow", f'has {word!r}, which is not "nan" or "inf"')
    return ToleranceSpec(_numbers(own), {key: _dtype_numbers(table, key) for key in dtypes}, allow)


def _is_float(name: str) -> bool:
    """Return True if `name` is the name of a float or complex dtype."""
    import numpy  # few targets need it

    from olympus.dtypes import issubdtype
    from olympus.errors import DTypeError

    try:
        return issubdtype(name, numpy.inexact)
    except DTypeError:
        return False


def _dtype_numbers(table: Section, key: str) -> dict[str, float]:
    entry = table.table(key)
    entry.only(_NUMBERS)
    return _numbers(entry)


def _numbers(section: Section) -> dict[str, float]:
    numbers: dict[str, Any] = {}
    for name in _NUMBERS:
        if name in section.data:
            value = section.data[name]
            if isinstance(value, str) and name != "ulps":
                value = percentage(value)
            if not _is_finite(value) or value < 0:
                form = "a number" if name == "ulps" else 'a number, or a text such as "1%",'
                section.wrong(name, f"{form} that is not below 0", section.data[name])
            numbers[name] = float(value)
    return numbers
