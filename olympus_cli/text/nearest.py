"""The search for valid names similar to a misspelt one, for hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MUCH = 0.15  # a name this much less similar than the most similar one is left out
_NEAR = 3  # the most names in a hint
_MAX = 12  # the most names listed if none is near


def nearest(name: str, valid: Iterable[str]) -> list[str]:
    """Return at most three names of `valid` similar to `name`, the most similar first.

    The comparison ignores case.

    Example: `nearest("donat", ["donate", "entry"]) == ["donate"]`.
    """
    by_lower: dict[str, list[str]] = {}  # Config and CONFIG are different names
    for choice in valid:
        by_lower.setdefault(choice.lower(), []).append(choice)
    matches = difflib.get_close_matches(name.lower(), by_lower, n=_NEAR, cutoff=0.6)
    if not matches:
        return []
    least = likeness(name, matches[0]) - _MUCH
    near = [choice for choice in matches if likeness(name, choice) >= least]
    return [choice for lower in near for choice in by_lower[lower]][:_NEAR]


def renamed(extra: Sequence[str], missing: Sequence[str]) -> str | None:
    """Return a hint for the first unexpected name that is near a missing name; None if none is.

    >>> renamed(["epoch", "head.weight"], ["bias", "head.w"])
    'did you mean head.w instead of head.weight?'
    """
    pairs = ((name, nearest(name, missing)) for name in extra[:_MAX])
    return next(
        (f"did you mean {near[0]} instead of {name}?" for name, near in pairs if near), None
    )


def likeness(name: str, choice: str) -> float:
    """Return the similarity of two names without case, from 0.0 to 1.0 for equal names."""
    return difflib.SequenceMatcher(None, choice.lower(), name.lower()).ratio()


def spelled(name: str, known: Iterable[str]) -> str:
    """Return the name of `known` that equals `name` up to `-` and `_`; `name` if none does.

    An exact match comes first: an imported history may have two such names.

    >>> spelled("peak_memory", ["peak-memory", "flops"])
    'peak-memory'
    """
    choices = list(known)
    if name in choices:
        return name
    plain = name.replace("-", "_")
    return next((choice for choice in choices if choice.replace("-", "_") == plain), name)


def did_you_mean(name: str, valid: Iterable[str], intro: str = "valid names are") -> str | None:
    """Return a hint with the near names, or all names if none is near; None if there are none."""
    choices = sorted(set(valid))
    if not choices:
        return None
    near = nearest(name, choices)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    more = len(choices) - _MAX
    return f"{intro} " + ", ".join(choices[:_MAX]) + (f" and {more} more" if more > 0 else "")
