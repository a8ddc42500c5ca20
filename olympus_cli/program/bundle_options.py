"""The permitted uses of a bundle on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class BundleOptions:
    """The permitted uses of a bundle, and its required signature.

    With `recompile`, it is compiled again if it does not fit this machine. With `native`, its
    native code may run. If `trust` has public keys, one of them must have signed it. A bundle for
    several sizes is called with `size` rows; by default with as many as its largest size. One with
    symbolic sizes is called with `sizes`; by default with the sizes of its build.
    """

    recompile: bool = True
    native: bool = True
    trust: tuple[Path, ...] = ()
    size: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_size(self) -> bool:
        """Return True if a size is given."""
        return self.size is not None or bool(self.sizes)
