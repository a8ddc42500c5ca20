"""The stores of compilation results, from olympus.toml and the environment.

Variables take precedence. Credentials are in the environment only: in `OLYMPUS_REMOTE_CACHE` as
user and password of the URL, or in other variables. A `CacheSpec` has none.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from olympus.errors import UsageError
from olympus.files import user_cache_folder
from olympus_cli.spec.section import Section

#: The use of stored results: "read" and "write" them, or only "write" those of this compilation.
Use = Literal["read", "write"]

#: The variables of the environment.
FOLDER, REMOTE, MODE = "OLYMPUS_CACHE_DIR", "OLYMPUS_REMOTE_CACHE", "OLYMPUS_REMOTE_CACHE_MODE"
#: The values of the mode of a remote store.
MODES = ("read-write", "read-only")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")


@dataclass(frozen=True)
class CacheSpec:
    """The stores of results: `folder` is None without one, and `remote` without a remote one.

    `is_default` is True if the user did not choose the folder. `remote` is a URL without
    credentials. `state` is a file with the failures of the remote store during a build.
    """

    folder: Path | None = None
    is_default: bool = False
    remote: str | None = None
    read_only: bool = False
    state: Path | None = None


def environment_cache() -> CacheSpec:
    """Return the stores for a program without a project.

    Raises:
        UsageError: a variable has an invalid value.
    """
    return _with_environment(CacheSpec(_default_folder(), is_default=True))


def cache_of(settings: Section, root: Path) -> CacheSpec:
    """Return the stores of a project; `settings` is its table, and `root` its folder.

    Raises:
        SpecError: a key has an invalid value.
        UsageError: a variable has an invalid value.
    """
    value = settings.data.get("cache", True)
    spec = CacheSpec(_default_folder(), is_default=True)
    if isinstance(value, str) and value:
        spec = CacheSpec(root / settings.path("cache", ""))
    elif not isinstance(value, bool):
        settings.wrong("cache", "true, false or the path of a folder", value)
    elif not value:
        spec = CacheSpec()
    remote = settings.text("remote-cache", "") or None
    mode = settings.choice("remote-cache-mode", MODES)
    if remote is not None and (problem := url_problem(remote)) is not None:
        hint = 'such as "https://cache.example.com" or "s3://bucket/prefix"'
        settings.fail("remote-cache", problem, hint)
    if remote is not None and remote != without_credentials(remote):
        hint = f"{REMOTE}_TOKEN has a token, and {REMOTE} a URL with user and password"
        settings.fail("remote-cache", "has credentials, which the environment must have", hint)
    return _with_environment(replace(spec, remote=remote, read_only=mode == "read-only"))


def _with_environment(spec: CacheSpec) -> CacheSpec:
    folder, is_default = spec.folder, spec.is_default
    if (path := os.environ.get(FOLDER)) is not None:
        folder, is_default = (Path(path).absolute() if path else None), False
    remote = os.environ.get(REMOTE, spec.remote or "").strip() or None
    if remote is not None and (problem := url_problem(remote)) is not None:
        raise UsageError(f"{REMOTE} {problem}", hint="such as https://cache.example.com")
    mode = os.environ.get(MODE) or MODES[spec.read_only]
    if mode not in MODES:
        raise UsageError(f"{MODE} must be {' or '.join(MODES)}; got {mode!r:.40}")
    url = None if remote is None or folder is None else without_credentials(remote)
    return CacheSpec(folder, is_default, url, mode == "read-only")


def _default_folder() -> Path | None:
    """Return the folder in the user's cache; None for a user without a home."""
    folder = user_cache_folder()
    return None if folder is None else folder / "results"


def url_problem(url: str) -> str | None:
    """Return the reason why the URL of a remote store is not used, without its text, or None.

    >>> url_problem("me:secret@example.com")
    'is not a URL'
    """
    if not _URL.fullmatch(url):
        return "is not a URL"
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname  # raise ValueError
    except ValueError:
        return "is a URL with an invalid host or port"
    if parts.netloc and "@" in url.partition(parts.netloc)[2]:
        return "is a URL with @ after the host; / @ ? # of a password are %2F %40 %3F %23"
    return None


def without_credentials(url: str) -> str:
    """Return a URL without user, password, query and fragment, which may have secrets.

    `url_problem` returns None for it.

    >>> without_credentials("https://me:secret@cache.example.com/a?token=1")
    'https://cache.example.com/a'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
