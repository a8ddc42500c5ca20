"""The user's own settings: `olympus/config.toml` in the folder for settings, and what it says.

No project and no bundle can change them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from olympus_cli.spec.section import Section
from olympus_cli.spec.toml import load

__all__ = ["Settings", "read_settings"]

_KEY_TEXTS = ("ssh-", "-----BEGIN")


@dataclass(frozen=True)
class Settings:
    """`trust` are the public keys of which one must have signed a bundle; none asks for none."""

    trust: tuple[Path | bytes, ...] = ()


def _file() -> Path | None:
    """Where the settings are: in `XDG_CONFIG_HOME`, or `~/.config` where that is not set.

    None for a user without a home, as a container may have one: no other place is the user's own.
    """
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    base = folder if os.path.isabs(folder) else os.path.expanduser("~/.config")
    return Path(base, "olympus", "config.toml") if os.path.isabs(base) else None


def read_settings() -> Settings:
    """The settings; those of an empty file where there is none.

    Raises:
        SpecError: the file cannot be read, or has a key or a value that it must not have.
    """
    path = _file()
    if path is None or not os.path.lexists(path):
        return Settings()
    source = load(path)
    top = Section(source, (), source.data)
    top.only(("bundles",))
    bundles = top.table("bundles")
    bundles.only(("trust",))
    keys = bundles.data.get("trust")
    texts = (keys,) if isinstance(keys, str) else bundles.texts("trust")
    if "trust" in bundles.data and not texts:
        bundles.fail("trust", "names no key", "remove it to run bundles without a signature")
    return Settings(tuple(_key(text, path.parent) for text in texts))


def _key(text: str, folder: Path) -> Path | bytes:
    """A key written out, or the path of its file, relative to the settings' folder."""
    if text.startswith(_KEY_TEXTS):
        return text.encode()
    return folder / os.path.expanduser(text)
