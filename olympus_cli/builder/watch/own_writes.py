"""Files that the programs themselves write while they are built.

Without an exception for these, each build would start the next one.
"""

from __future__ import annotations

from pathlib import Path

from olympus_cli.builder.watch.changes import Changed

_MOST = 3  # builds in succession in which a file changes


class OwnWrites:
    """The files that changed during each of the last three builds: their changes are ignored.

    A change while no build runs is the user's, and ends the exception.
    """

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}
        self._ignored: set[Path] = set()

    def others(self, changed: Changed) -> tuple[list[Path], list[Path]]:
        """Return the changes to build for, and the files that are ignored from now on.

        >>> OwnWrites().others(Changed((Path("model.py"),), ()))
        ([PosixPath('model.py')], [])
        """
        if changed.later:
            self._ignored.difference_update(changed.later)
            self._counts.clear()
        known = [path for path in changed.during_build if path not in self._ignored]
        self._counts = {path: self._counts.get(path, 0) + 1 for path in known}
        new = [path for path in known if self._counts[path] >= _MOST]
        self._ignored.update(new)
        return [*(path for path in known if path not in self._ignored), *changed.later], new
