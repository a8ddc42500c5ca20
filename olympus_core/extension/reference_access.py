"""The primitives `get_p` and `swap_p`, which read and replace the whole value of a reference.

They are bound to references alone, and are no equations of a program: a program has the values of
its references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.library import refs
from olympus_core.transforms.references import is_reference


class ReferenceAccess(UserPrimitive):
    """An operation on a reference, which `access` of the reference, an index and values does."""

    def __init__(self, name: str, access: Callable[..., Any], num_values: int) -> None:
        super().__init__(name)
        self.ref_primitive = True
        self.access = access
        self.num_values = num_values

    def bind(self, *args: Any, tree: Any, **params: Any) -> Any:
        """Return the old value of the reference `args[0]`; `tree` is the structure of its index.

        Raises ArgumentError for another value than a reference, UnsupportedError for an index.
        """
        reference, *values = args
        if not is_reference(reference):
            raise ArgumentError(
                f"`{self.name}` must be called on `Ref` types: {get_aval(reference).long_name()}."
            )
        if tree.num_leaves or len(values) != self.num_values:
            raise UnsupportedError(
                f"{self.name}_p accesses the whole value of a reference, and it got an index",
                hint=f"use olympus.ref.{self.name}",
            )
        return self.access(reference, None, *values)


get_p = ReferenceAccess("get", refs.get, 0)
swap_p = ReferenceAccess("swap", refs.swap, 1)
