"""The keys of olympus.toml as Markdown, from their descriptions in the package."""

from __future__ import annotations

from olympus_cli.spec.key_descriptions import key_descriptions

__all__ = ["key_table"]


def key_table(table: str) -> str:
    """A row for each key of a table."""
    rows = key_descriptions()[table].items()
    if all(each["default"] == "" for _, each in rows):
        lines = [f"| `{key}` | {each['type']} | {each['meaning']} |\n" for key, each in rows]
        return "| key | type | meaning |\n| --- | --- | --- |\n" + "".join(lines)
    lines = [
        f"| `{key}` | {each['type']} | {each['default']} | {each['meaning']} |\n"
        for key, each in rows
    ]
    return "| key | type | if absent | meaning |\n| --- | --- | --- | --- |\n" + "".join(lines)
