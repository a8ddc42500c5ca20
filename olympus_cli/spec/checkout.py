"""The files of a git revision in a separate folder, and the paths of files there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import UsageError


@dataclass(frozen=True)
class Checkout:
    """The files of a revision: `tree` is their folder, and `top` the folder of the working tree.

    Both are absolute, without symbolic links.
    """

    revision: str
    tree: Path
    top: Path

    def counterpart(self, folder: Path) -> Path:
        """Return the folder of the checkout for a folder of the working tree.

        Raises:
            UsageError: the revision does not have it.
        """
        place = folder.resolve().relative_to(self.top)
        found = self.tree / place
        if not found.is_dir():
            raise UsageError(f"the revision has no folder {place}")
        return found

    def moved(self, path: str | os.PathLike[str]) -> Path | None:
        """Return the path in the checkout for a path in the working tree; None for other paths.

        The file does not have to exist in the checkout.
        """
        real = Path(os.path.realpath(path))
        if real.is_relative_to(self.tree) or not real.is_relative_to(self.top):
            return None
        return self.tree / real.relative_to(self.top)
