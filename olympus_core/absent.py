"""Why a public namespace does not have a name of the API: left out on purpose, or not there yet.

The names are in `api_names.toml`, from which docs/differences.md is made too; it is read when an
error asks.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["api", "why_absent"]

_PENDING = "it is not there yet"
_WHERE = "see docs/differences.md"


@functools.cache
def api() -> dict[str, Any]:
    """What `api_names.toml` says: for each namespace its `names`, and those `absent`, with why."""
    import importlib.resources  # this and the next are not for a program without mistakes
    import tomllib

    text = importlib.resources.files("olympus_core").joinpath("api_names.toml").read_text("utf-8")
    return tomllib.loads(text)


def why_absent(namespace: str, name: str) -> str | None:
    """Why `namespace` has no `name`; None where that is not a name of the API.

    >>> why_absent("olympus", "distributed")
    'programs of several processes are not part of this version (see docs/differences.md)'
    """
    table = api().get(namespace, {})
    for group in table.get("absent", ()):
        if name in group["names"].split():
            return f"{group['why']} ({_WHERE})"
    full = f"{namespace}.{name}"
    known = name in table.get("names", "").split() or any(
        each == full or each.startswith(f"{full}.") for each in api()
    )
    return f"{_PENDING} ({_WHERE})" if known else None
