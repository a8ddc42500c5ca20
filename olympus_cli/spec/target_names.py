"""The names of targets on the command line: whole names, parts of a matrix, and patterns.

    train                    all combinations of its matrix
    train@batch=32           the combinations with this value, whatever the other keys are
    train@batch=32,dtype=*   values may be patterns
    'enc*', 'train@*'        * is any text, ? any character, [ab] one of these

A name that is equal to that of a target is only that target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from olympus_cli.text.nearest import did_you_mean

_WILD = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Return True if a text has a wildcard.

    >>> is_pattern("enc*"), is_pattern("train@batch=32")
    (True, False)
    """
    return _WILD.search(text) is not None


def matching(text: str, names: Sequence[str]) -> list[str]:
    """Return the names of targets that `text` selects, in order.

    >>> matching("f@n=1", ["f@n=1,k=2", "f@n=1,k=3", "f@n=2,k=2"])
    ['f@n=1,k=2', 'f@n=1,k=3']
    """
    if text in names:
        return [text]
    return [name for name in names if _matches(text, name)]


def _matches(text: str, name: str) -> bool:
    base, at, _ = name.partition("@")
    pattern, has_parts, parts = text.partition("@")
    if not has_parts:
        return fnmatchcase(base, pattern) or (is_pattern(text) and fnmatchcase(name, text))
    if not at or not fnmatchcase(base, pattern):
        return False
    values = matrix_values(name)
    return all(_has(values, part) for part in parts.split(","))


def _has(values: Mapping[str, str], part: str) -> bool:
    """Return True if the values of a combination have the part `key=value` of a name."""
    key, equals, value = part.partition("=")
    if not equals:
        return key == "*"
    return key in values and fnmatchcase(values[key], value)


def matrix_values(name: str) -> dict[str, str]:
    """Return the values of the matrix in the name of a target, as text.

    >>> matrix_values("train@batch=32,dtype=bf16")
    {'batch': '32', 'dtype': 'bf16'}
    """
    parts = name.partition("@")[2]
    pairs = (part.partition("=") for part in parts.split(",") if parts)
    return {key: value for key, _, value in pairs}


class Mismatch(NamedTuple):
    """The reason why a text selects no target, as the start of a sentence, and a hint."""

    message: str
    hint: str | None


def mismatch(text: str, names: Iterable[str]) -> Mismatch:
    """Return the reason why `text` selects none of `names`, with the nearest names.

    >>> mismatch("f@m=1", ["f@n=1"]).message
    "the matrix of target 'f' has no key 'm'"
    """
    known = list(names)
    base, has_parts, parts = text.partition("@")
    combinations = [matrix_values(name) for name in known if name.startswith(f"{base}@")]
    if has_parts and combinations:
        return _wrong_part(base, parts, combinations)
    bases = [name.partition("@")[0] for name in known]
    hint = did_you_mean(text, [*known, *bases], "targets are")
    if has_parts and base in bases:
        return Mismatch(f"target {base!r} has no matrix", f"write {base}")
    verb = "matches" if is_pattern(text) else "is named"
    return Mismatch(f"no target {verb} {text!r}", hint)


def _wrong_part(base: str, parts: str, combinations: Sequence[Mapping[str, str]]) -> Mismatch:
    """Return the first part that no combination of a target has."""
    for part in parts.split(","):
        key, equals, value = part.partition("=")
        keys = combinations[0]
        if not equals and key != "*":
            return Mismatch(
                f"{part!r} is no part of a matrix", f"write {base}@{next(iter(keys))}=..."
            )
        if equals and key not in keys:
            hint = did_you_mean(key, keys, "its keys are")
            return Mismatch(f"the matrix of target {base!r} has no key {key!r}", hint)
        values = dict.fromkeys(each[key] for each in combinations) if equals else {}
        if equals and not any(fnmatchcase(each, value) for each in values):
            some = ", ".join(values)
            return Mismatch(f"the matrix of target {base!r} has no {key}={value}", f"it has {some}")
    return Mismatch(f"no combination of target {base!r} has {parts}", None)
