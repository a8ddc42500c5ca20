"""The explanation of a build: why each target is fresh or stale, with every reason."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olympus_cli.builder.lines import Built, TargetOutcome

_INDENT = " " * 8  # of the reasons, under the name of their target
_SAME = "its program is the same as at the last build"


def explanation_text(built: Built, width: int | None = None) -> str:
    """Return the status and the name of each target, and its reasons on the lines below.

    Lines are folded to `width` columns if it is given.
    """
    lines: list[str] = []
    for outcome, _folder in built:
        lines.append(f"{outcome.status:<7} {outcome.target}")
        for reason in all_reasons(outcome):
            lines += _folded(reason, width)
    return "".join(f"{line}\n" for line in lines)


def all_reasons(outcome: TargetOutcome) -> Iterator[str]:
    """Yield the reasons of a target as text, the reason to trace it first."""
    if outcome.failure is not None:
        yield outcome.failure.message
        return
    from olympus_cli.builder.reasons import NeverBuilt  # takes a while, and most builds need none

    reasons = [*outcome.traced_because, *outcome.reasons]
    if any(reason.kind == NeverBuilt.__name__ for reason in reasons):
        reasons = list(outcome.reasons)  # a target that was never built has no recorded inputs
    texts = list(dict.fromkeys(reason.text for reason in reasons))
    yield from texts
    if outcome.status == "fresh":
        yield _SAME if texts else f"unchanged: {outcome.unchanged}"


def _folded(text: str, width: int | None) -> list[str]:
    if width is None:
        return [_INDENT + line for line in text.splitlines()]
    room = max(width, 2 * len(_INDENT))
    wrapper = textwrap.TextWrapper(room, _INDENT, f"{_INDENT}  ", break_on_hyphens=False)
    return [part for line in text.splitlines() for part in wrapper.wrap(line)]
