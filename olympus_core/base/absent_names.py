"""Reasons for names that a public namespace lacks: omitted on purpose, or not implemented yet.

The names are in `api_names.toml`, from which docs/explanation/differences.md is generated too;
it is read only for an error.
"""

from __future__ import annotations

import functools
from typing import Any

_PENDING = "it is not there yet"
_WHERE = "see docs/explanation/differences.md"


@functools.cache
def api() -> dict[str, Any]:
    """Return `api_names.toml`: each namespace's `names`, and the `absent` ones with reasons."""
    import importlib.resources  # imported here because only an error needs it
    import tomllib

    text = (
        importlib.resources.files("olympus_core.base").joinpath("api_names.toml").read_text("utf-8")
    )
    return tomllib.loads(text)


def why_absent(namespace: str, name: str) -> str | None:
    """Return the reason that `namespace` has no `name`; None if the API has no such name.

    >>> print(why_absent("olympus", "distributed"))
    programs of several processes are not part of this version (see docs/explanation/differences.md)
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
