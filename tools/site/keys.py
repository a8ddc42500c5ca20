"""The keys of olympus.toml as Markdown, from `keys.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import tomli

__all__ = ["described", "key_table"]


@cache
def described() -> dict[str, dict[str, dict[str, Any]]]:
    """For each table its keys, each with `type`, `default` and `meaning`."""
    text = Path(__file__).with_name("keys.toml").read_text(encoding="utf-8")
    return tomli.loads(text)


def key_table(table: str) -> str:
    """A row for each key of a table."""
    rows = described()[table].items()
    if all(each["default"] == "" for _, each in rows):
        lines = [f"| `{key}` | {each['type']} | {each['meaning']} |\n" for key, each in rows]
        return "| key | type | meaning |\n| --- | --- | --- |\n" + "".join(lines)
    lines = [
        f"| `{key}` | {each['type']} | {each['default']} | {each['meaning']} |\n"
        for key, each in rows
    ]
    return "| key | type | if absent | meaning |\n| --- | --- | --- | --- |\n" + "".join(lines)
