"""Guessing what a misspelt name was meant to be, for hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "likeness", "nearest", "renamed", "spelled"]

_MUCH = 0.15  # what is so much less like a name than the likest was not meant
_NEAR = 3  # names that a hint has at most
_MOST = 12  # names listed when none is near; more is noise


def nearest(name: str, valid: Iterable[str]) -> list[str]:
    """At most three of `valid` that look like `name`, the likest first, case aside.

    Example: `nearest("donat", ["donate", "entry"]) == ["donate"]`.
    """
    by_lower: dict[str, list[str]] = {}  # Config and CONFIG are two names
    for choice in valid:
        by_lower.setdefault(choice.lower(), []).append(choice)
    found = difflib.get_close_matches(name.lower(), by_lower, n=_NEAR, cutoff=0.6)
    if not found:
        return []
    least = likeness(name, found[0]) - _MUCH
    near = [choice for choice in found if likeness(name, choice) >= least]
    return [choice for lower in near for choice in by_lower[lower]][:_NEAR]


def renamed(extra: Sequence[str], missing: Sequence[str]) -> str | None:
    """A hint for the first unexpected name that has a near one among the missing names.

    >>> renamed(["epoch", "head.weight"], ["bias", "head.w"])
    'did you mean head.w instead of head.weight?'
    """
    pairs = ((name, nearest(name, missing)) for name in extra[:_MOST])
    return next(
        (f"did you mean {near[0]} instead of {name}?" for name, near in pairs if near), None
    )


def likeness(name: str, choice: str) -> float:
    """The similarity of two names, case aside: 1.0 if they are equal, 0.0 at the least."""
    return difflib.SequenceMatcher(None, choice.lower(), name.lower()).ratio()


def spelled(name: str, known: Iterable[str]) -> str:
    """The name of `known` that equals `name` up to `-` and `_`; `name` itself if none does.

    An exact match comes first: an imported history may have two such names.

    >>> spelled("peak_memory", ["peak-memory", "flops"])
    'peak-memory'
    """
    choices = list(known)
    if name in choices:
        return name
    plain = name.replace("-", "_")
    return next((each for each in choices if each.replace("-", "_") == plain), name)


def did_you_mean(name: str, valid: Iterable[str], intro: str = "valid names are") -> str | None:
    """A hint that names what is near, or, when nothing is, everything; None for nothing to name."""
    choices = sorted(set(valid))
    if not choices:
        return None
    near = nearest(name, choices)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    more = len(choices) - _MOST
    return f"{intro} " + ", ".join(choices[:_MOST]) + (f" and {more} more" if more > 0 else "")
