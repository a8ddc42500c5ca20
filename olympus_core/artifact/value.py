"""A part of an untrusted JSON document, read with the required type.

An error names the part, the required type, and the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from olympus_core.base import dtypes
from olympus_core.base.errors import ArtifactError, DTypeError

_T = TypeVar("_T")


class JsonValue:
    """A part of a JSON document, and where it is in it."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def refuse(self, needed: str) -> NoReturn:
        """Raise ArtifactError: the value is not what is needed."""
        raise ArtifactError(
            f"in its manifest, {self.where} must be {needed}, and is {self.value!r:.80}"
        )

    def fields(self, *names: str, optional: Sequence[str] = ()) -> dict[str, JsonValue]:
        """Return the fields of an object with exactly these names, besides the optional ones."""
        fields = self.entries()
        for name in [name for name in names if name not in fields]:
            raise ArtifactError(f"in its manifest, {self.where} has no {name!r}")
        for name in [name for name in fields if name not in names and name not in optional]:
            raise ArtifactError(f"in its manifest, {self.where} has an unknown field {name!r}")
        return fields

    def entries(self) -> dict[str, JsonValue]:
        """Return the fields of an object, whatever their names."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return {name: JsonValue(part, f"{self.where}.{name}") for name, part in self.value.items()}

    def each(self, parse: Callable[[JsonValue], _T]) -> tuple[_T, ...]:
        """Return the elements of an array, each read by `parse`."""
        if not isinstance(self.value, list):
            self.refuse("an array")
        parts = enumerate(self.value)
        return tuple([parse(JsonValue(part, f"{self.where}[{i}]")) for i, part in parts])

    def text(self) -> str:
        """Return a text."""
        return self.value if isinstance(self.value, str) else self.refuse("text")

    def name(self) -> str:
        """Return a text that can be shown in a line; a valid name has no other characters."""
        return self.text() if self.text().isprintable() else self.refuse("printable text")

    def text_or_none(self) -> str | None:
        """Return a text or None."""
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        """Return a bool."""
        return self.value if isinstance(self.value, bool) else self.refuse("true or false")

    def size(self) -> int:
        """Return an integer of 0 or more, of at most 63 bits."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
            return value
        self.refuse("an integer of 0 or more, and below 2**63")

    def count(self, most: int, least: int = 1) -> int:
        """Return an integer from `least` to `most`."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.refuse(f"an integer from {least} to {most}")

    def key(self) -> str | int:
        """Return a text or an integer."""
        if isinstance(self.value, str | int) and not isinstance(self.value, bool):
            return self.value
        self.refuse("text or an integer")

    def option(self) -> str | int | float | bool:
        """Return a text, a number, or a bool."""
        value = self.value
        return value if isinstance(value, str | int | float) else self.refuse("text or a number")

    def dtype(self) -> dtypes.DType:
        """Return the dtype of the name."""
        try:
            dtype = dtypes.dtype(self.text())
        except DTypeError:
            self.refuse("the name of a dtype")
        if dtypes.long_name(dtype) != self.value:
            self.refuse("the name of a dtype")
        return dtype
