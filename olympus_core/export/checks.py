"""The safety checks of an exported program, and how to leave one out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from olympus_core.base.errors import ArgumentError

#: The targets of custom calls that later versions of XLA keep.
_STABLE_CALLS = re.compile(
    r"lapack_\w+|stablehlo\.dynamic_\w+|shape_assertion|Sharding|SPMD\w+|annotate_device_placement|"
    r"mhlo\.\w+|chlo\.\w+|TopK|ApproxTopK|Qr|Eigh|LuDecomposition|cu_threefry2x32\w*|cusolver_\w+|"
    r"cu\w+|xla\.\w+"
)


@dataclasses.dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check of an exported program that is left out.

    >>> export(jit(f), disabled_checks=[DisabledSafetyCheck.custom_call("my_kernel")])(x)
    """

    name: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Allow calls on platforms that the program was not exported for.

        >>> DisabledSafetyCheck.platform()
        platform
        """
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Allow custom calls of a target, which later versions of XLA may not have.

        >>> DisabledSafetyCheck.custom_call("my_kernel").is_custom_call()
        'my_kernel'
        """
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """Return the target that `custom_call` allows; None for another check."""
        head, _, target = self.name.partition(":")
        return target if head == "custom_call" else None

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def check_calls(module: Any, checks: Sequence[DisabledSafetyCheck]) -> None:
    """Raise ArgumentError (a ValueError) for custom calls that later versions may not have."""
    allowed = {check.is_custom_call() for check in checks}
    targets = set(re.findall(r'custom_call @"?([\w.$\-]+)', str(module)))
    unstable = sorted(t for t in targets if not _STABLE_CALLS.fullmatch(t) and t not in allowed)
    if unstable:
        raise ArgumentError(
            "Cannot serialize code with custom calls whose targets have no compatibility "
            f"guarantees. Examples are:\n  {', '.join(unstable)}",
            hint=f"allow it: disabled_checks=[DisabledSafetyCheck.custom_call({unstable[0]!r})]",
        )
