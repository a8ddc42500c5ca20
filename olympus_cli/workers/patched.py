"""What a program has changed of Python's and our own modules: a snapshot before, names after.

Such a change makes code fail that is right; that is not a defect of ours.
"""

from __future__ import annotations

import builtins
import sys
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType, MethodType

from olympus_cli.faults.failure import Failure

__all__ = ["Snapshot"]

# What modules give to others; their variables change as they work.
_GIVEN = (type, FunctionType, BuiltinFunctionType, MethodType)
# It replaces functions of `typing` by its own, whoever imports it.
_HARMLESS = "typing_extensions"


@dataclass(frozen=True)
class Snapshot:
    """The functions and classes of all loaded modules, and the places that modules come from."""

    modules: dict[str, dict[str, object]]
    path: list[str]

    @staticmethod
    def taken() -> Snapshot:
        """The process as it is now."""
        loaded = {name: module for name, module in sys.modules.items() if name != "__main__"}
        return Snapshot(
            {name: dict(getattr(module, "__dict__", {})) for name, module in loaded.items()},
            list(sys.path),
        )

    def changes(self) -> list[str]:
        """What has been replaced or taken away since, by name."""
        found = []
        for name, before in self.modules.items():
            module = sys.modules.get(name)
            if module is None:
                found.append(f"sys.modules[{name!r}]")
                continue
            now = getattr(module, "__dict__", {})
            found += [
                f"{name}.{key}"
                for key, value in before.items()
                if isinstance(value, _GIVEN)
                and now.get(key) is not value
                and getattr(now.get(key), "__module__", None) != _HARMLESS
            ]
        if not set(self.path) <= set(sys.path):
            found.append("sys.path")
        return found

    def blamed(self, failure: Failure) -> Failure:
        """`failure`, or, if it would be a defect of ours, the change by the program behind it."""
        if failure.kind != "InternalError":
            return failure
        changed = self.changes()
        if not changed:
            return failure
        # those that everything uses say the most
        changed.sort(key=lambda name: not name.startswith(builtins.__name__ + "."))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return replace(
            failure,
            kind="TraceError",
            message=f"the program has changed {changed[0]}{more}, which olympus itself runs on: "
            f"{failure.message}",
        )
