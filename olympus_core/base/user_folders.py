"""The folders of a user for the files of OLYMPUS, where the system has its own place for them.

On Linux these are `XDG_CACHE_HOME` and `XDG_CONFIG_HOME`, by default `~/.cache` and `~/.config`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def user_cache_folder() -> Path | None:
    """Return the folder for files that can be made again; None for a user without a home.

    >>> user_cache_folder().name
    'olympus'
    """
    from platformdirs import user_cache_path  # most commands need no such folder

    return _of_a_home(user_cache_path)


def user_settings_folder() -> Path | None:
    """Return the folder for the user's settings; None for a user without a home.

    >>> user_settings_folder().name
    'olympus'
    """
    from platformdirs import user_config_path  # most commands need no such folder

    return _of_a_home(user_config_path)


def _of_a_home(find: Callable[..., Path]) -> Path | None:
    """Return the folder that `find` returns; None for a user without a home.

    A folder that is relative to the working directory is not the user's own.
    """
    try:
        folder = find("olympus", appauthor=False)
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None
