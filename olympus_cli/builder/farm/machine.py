"""The facts about a machine that the outputs of a build depend on, compared between machines."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

import olympus
from olympus.artifact import COMPILERS
from olympus_cli.builder.freshness.inputs import machine_facts
from olympus_cli.builder.key import device_figures
from olympus_cli.program.versions import installed_version
from olympus_cli.text.packages import PACKAGES

PROBE = "the build folder"

_MOST_SHOWN = 60  # characters of a fact
_CPU = olympus.Target("cpu")


def facts(kinds: Sequence[str], probe: str) -> dict[str, str]:
    """Return the facts about this machine by name, for backends of `kinds`.

    `probe` is a file that the caller has written in the build folder: a machine that does not share
    the folder lacks it.

    >>> facts(["cpu"], "/home/me/build/.olympus-new-farm")["olympus"]
    '0.1.0'
    """
    packages = sorted({"numpy", "ml_dtypes", *(name for kind in kinds for name in COMPILERS[kind])})
    try:
        seen = Path(probe).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        seen = "not shared with this machine"
    return {
        **machine_facts(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "olympus": olympus.__version__,
        "the files of olympus": _own_files(),
        **{name: installed_version(name) or "not installed" for name in packages},
        "the measured figures of the CPU": device_figures(_CPU),
        PROBE: seen,
    }


def _own_files() -> str:
    """Return the SHA-256 of the modules of OLYMPUS: two checkouts may have one version."""
    digest = hashlib.sha256()
    home = Path(olympus.__file__).parent.parent
    for package in PACKAGES:
        for path in sorted((home / package).rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(home)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Return the first difference between two machines as text; None if there is none.

    >>> difference({"jaxlib": "0.10.2"}, {"jaxlib": "0.11.0"})
    'jaxlib is 0.11.0 there, and 0.10.2 here'
    """
    for name, value in ours.items():
        other = theirs.get(name, "unknown")
        if other == value:
            continue
        if name == PROBE:
            return f"{PROBE} is not shared with it"
        if name == "processor features":
            return _features(set(value.split()), set(other.split()))
        if max(len(value), len(other)) > _MOST_SHOWN:
            return f"{name} differ"
        return f"{name} is {other} there, and {value} here"
    return None


def _features(ours: set[str], theirs: set[str]) -> str:
    """Return the difference of two sets of instruction sets as text."""
    lacks, has = sorted(ours - theirs), sorted(theirs - ours)
    parts = [f"lacks {' '.join(lacks)}"] if lacks else []
    parts += [f"has {' '.join(has)} in addition"] if has else []
    return f"its processor {' and '.join(parts)}"
