"""The files of a git revision in a folder of their own, and where each file is there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import UsageError

__all__ = ["Checkout"]


@dataclass(frozen=True)
class Checkout:
    """A revision's files: `tree` is their folder, and `top` is that of the working tree.

    Both are absolute, without symbolic links.
    """

    revision: str
    tree: Path
    top: Path

    def counterpart(self, folder: Path) -> Path:
        """The folder of the checkout for a folder of the working tree.

        Raises:
            UsageError: the revision does not have it.
        """
        place = folder.resolve().relative_to(self.top)
        found = self.tree / place
        if not found.is_dir():
            raise UsageError(f"the revision has no folder {place}")
        return found

    def moved(self, path: str | os.PathLike[str]) -> Path | None:
        """The path in the checkout for a path in the working tree; None for any other path.

        The file does not have to exist in the checkout.
        """
        real = Path(os.path.realpath(path))
        if real.is_relative_to(self.tree) or not real.is_relative_to(self.top):
            return None
        return self.tree / real.relative_to(self.top)
