"""A part of a JSON document that anybody may have written, read as what it has to be.

An error names the part, what it must be, and what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from olympus_core import dtypes
from olympus_core.errors import ArtifactError, DTypeError

__all__ = ["Value"]

_T = TypeVar("_T")


class Value:
    """A part of a JSON document, and where it is in it."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def refuse(self, needed: str) -> NoReturn:
        """Raise ArtifactError: this is not what is needed."""
        raise ArtifactError(
            f"in its manifest, {self.where} must be {needed}, and is {self.value!r:.80}"
        )

    def fields(self, *names: str, optional: Sequence[str] = ()) -> dict[str, Value]:
        """The fields of an object that has those of the names, and no other but the optional."""
        fields = self.entries()
        for name in [name for name in names if name not in fields]:
            raise ArtifactError(f"in its manifest, {self.where} has no {name!r}")
        for name in [name for name in fields if name not in names and name not in optional]:
            raise ArtifactError(f"in its manifest, {self.where} has an unknown field {name!r}")
        return fields

    def entries(self) -> dict[str, Value]:
        """The fields of an object, whatever their names."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return {name: Value(part, f"{self.where}.{name}") for name, part in self.value.items()}

    def each(self, parse: Callable[[Value], _T]) -> tuple[_T, ...]:
        """The elements of an array, each read by `parse`."""
        if not isinstance(self.value, list):
            self.refuse("an array")
        parts = enumerate(self.value)
        return tuple([parse(Value(part, f"{self.where}[{i}]")) for i, part in parts])

    def text(self) -> str:
        """Text."""
        return self.value if isinstance(self.value, str) else self.refuse("text")

    def name(self) -> str:
        """Text that can be shown in a line; no name of a program has other characters."""
        return self.text() if self.text().isprintable() else self.refuse("printable text")

    def text_or_none(self) -> str | None:
        """Text or null."""
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        """True or false."""
        return self.value if isinstance(self.value, bool) else self.refuse("true or false")

    def size(self) -> int:
        """An integer of 0 or more, of 63 bits at most."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
            return value
        self.refuse("an integer of 0 or more, and below 2**63")

    def count(self, most: int, least: int = 1) -> int:
        """An integer from `least` to `most`."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.refuse(f"an integer from {least} to {most}")

    def key(self) -> str | int:
        """Text or an integer."""
        if isinstance(self.value, str | int) and not isinstance(self.value, bool):
            return self.value
        self.refuse("text or an integer")

    def option(self) -> str | int | float | bool:
        """Text, a number, or true or false."""
        value = self.value
        return value if isinstance(value, str | int | float) else self.refuse("text or a number")

    def dtype(self) -> str:
        """The name of a dtype."""
        try:
            known = dtypes.long_name(dtypes.dtype(self.text())) == self.value
        except DTypeError:
            known = False
        return self.text() if known else self.refuse("the name of a dtype")
