"""The permitted uses of a bundle on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BundleOptions:
    """The permitted uses of a bundle, and its required signature.

    With `recompile`, it is compiled again if it does not fit this machine. With `native`, its
    native code may run. If `trust` has public keys, one of them must have signed it. A bundle for
    several sizes is called with `size` rows; by default with as many as its largest size.
    """

    recompile: bool = True
    native: bool = True
    trust: tuple[Path, ...] = ()
    size: int | None = None
