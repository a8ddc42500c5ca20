"""The descriptions of the keys of olympus.toml, for the reference and for the JSON Schema."""

from __future__ import annotations

import importlib.resources
from functools import cache

import tomli

#: For each key its `type`, its `default` and its `meaning`, which may have links of Markdown.
Keys = dict[str, dict[str, str]]


@cache
def key_descriptions() -> dict[str, Keys]:
    """Return the keys of each table, in the order of the parser, from `keys.toml`."""
    file = importlib.resources.files("olympus_cli.spec").joinpath("keys.toml")
    return tomli.loads(file.read_text("utf-8"))
