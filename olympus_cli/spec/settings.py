"""The user's settings: the file `olympus/config.toml` in the folder for settings.

No project and no bundle can change them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from olympus.files import user_settings_folder
from olympus_cli.spec.section import Section
from olympus_cli.spec.toml import load

_KEY_TEXTS = ("ssh-", "-----BEGIN")


@dataclass(frozen=True)
class Settings:
    """`trust` has public keys, one of which must have signed a bundle; if empty, none is needed."""

    trust: tuple[Path | bytes, ...] = ()


def _file() -> Path | None:
    """Return the path of the settings.

    None for a user without a home, for example in a container: no other place is the user's own.
    """
    folder = user_settings_folder()
    return None if folder is None else folder / "config.toml"


def read_settings() -> Settings:
    """Return the settings; the defaults if there is no file.

    Raises:
        SpecError: the file cannot be read, or has an invalid key or value.
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
    """Return a key written out, or the path of its file, relative to the settings' folder."""
    if text.startswith(_KEY_TEXTS):
        return text.encode()
    return folder / os.path.expanduser(text)
