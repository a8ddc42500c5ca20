"""The options of `olympus export` that only some formats have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExportOptions:
    """The values of the options; None for one that is not given."""

    stablehlo_version: str | None = None
    vjp_order: int | None = None
    module: str | None = None
    function: str | None = None
    wheel_version: str | None = None

    def given(self) -> dict[str, object]:
        """Return the values of the given options by field."""
        return {name: value for name, value in vars(self).items() if value is not None}
