"""The options of `olympus export` that only some formats have."""

from __future__ import annotations

from dataclasses import dataclass

import olympus


@dataclass(frozen=True)
class ExportOptions:
    """The values of the options; None for one that is not given.

    `target` is that of --backend, which all formats have.
    """

    stablehlo_version: str | None = None
    vjp_order: int | None = None
    module: str | None = None
    function: str | None = None
    wheel_version: str | None = None
    target: olympus.Target | None = None

    def given(self) -> dict[str, object]:
        """Return the values of the given options by field, without `target`."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        values.pop("target", None)
        return values
