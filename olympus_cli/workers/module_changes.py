"""The changes of a program to modules of Python and OLYMPUS, found with a snapshot before it.

Such a change makes correct code fail, which is not a defect of OLYMPUS.
"""

from __future__ import annotations

import builtins
import sys
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType, MethodType

from olympus_cli.faults.failure import Failure

# The types of attributes to compare; variables of modules change in normal use.
_COMPARED_TYPES = (type, FunctionType, BuiltinFunctionType, MethodType)
# Modules that replace functions of Python by their own when they are imported.
_HARMLESS = ("typing_extensions", "torch.package.package_importer")


def _number_and_last() -> tuple[int, str | None]:
    """Return the number of loaded modules and the name of the last.

    Any other module is a new last one. A look at all names writes to them, and a fork copies them.
    """
    return len(sys.modules), next(reversed(sys.modules), None)


_last: list[Snapshot] = []


@dataclass(frozen=True)
class Snapshot:
    """The attributes of all loaded modules, and the import path."""

    modules: dict[str, dict[str, object]]
    path: list[str]
    number: int
    last: str | None

    @staticmethod
    def take() -> Snapshot:
        """Return a snapshot of the process."""
        loaded = {name: module for name, module in sys.modules.items() if name != "__main__"}
        return Snapshot(
            {name: dict(getattr(module, "__dict__", {})) for name, module in loaded.items()},
            list(sys.path),
            *_number_and_last(),
        )

    @staticmethod
    def of_now() -> Snapshot:
        """Return the last snapshot if nothing has been imported since, else a new one.

        A snapshot writes to all objects that it refers to, and a fork then copies their pages.
        """
        if not _last or not _last[0].has_modules_of_now():
            _last[:] = [Snapshot.take()]
        return _last[0]

    def has_modules_of_now(self) -> bool:
        """Return True if the same modules are loaded now, and the import path is the same."""
        return self.path == sys.path and (self.number, self.last) == _number_and_last()

    def changes(self) -> list[str]:
        """Return the names of the functions and classes that were replaced or removed since."""
        changed = []
        for name, before in self.modules.items():
            module = sys.modules.get(name)
            if module is None:
                changed.append(f"sys.modules[{name!r}]")
                continue
            now = getattr(module, "__dict__", {})
            changed += [
                f"{name}.{key}"
                for key, value in before.items()
                if isinstance(value, _COMPARED_TYPES)
                and now.get(key) is not value
                and getattr(now.get(key), "__module__", None) not in _HARMLESS
            ]
        if not set(self.path) <= set(sys.path):
            changed.append("sys.path")
        return changed

    def blamed(self, failure: Failure) -> Failure:
        """Return `failure`, or a TraceError in place of an InternalError if there are changes.

        The message of the TraceError names the first change.
        """
        if failure.kind != "InternalError":
            return failure
        changed = self.changes()
        if not changed:
            return failure
        # the most used names come first
        changed.sort(key=lambda name: not name.startswith(builtins.__name__ + "."))
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return replace(
            failure,
            kind="TraceError",
            message=f"the program has changed {changed[0]}{more}, which olympus uses: "
            f"{failure.message}",
        )
