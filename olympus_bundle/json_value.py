"""Untrusted JSON: the strict parser, and the parts of a document, read with the required type.

An error names the part, the required type, and the value.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from olympus_bundle.errors import ArtifactError, DataError

_T = TypeVar("_T")
#: A surrogate, as a character or as an escape sequence.
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
#: The names of the dtypes of NumPy and of ml_dtypes that an array may have.
_NUMPY = """
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
""".split()  # noqa: SIM905  (shorter)
_ML_DTYPES = """
bfloat16 int2 int4 uint2 uint4 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
""".split()  # noqa: SIM905


def parse_json(content: bytes | str) -> Any:
    """Return the data of a JSON document; bytes are UTF-8.

    Raises:
      DataError: it is not JSON, has a number that JSON does not have, such as NaN, or that is out
        of the range of a float, repeats a key of an object, has a text that is not Unicode, or is
        nested too deeply.

    >>> parse_json('{"flops": 128}')
    {'flops': 128}
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        data = _DECODER.decode(text)
        if _SURROGATE.search(text):  # two of them, one after the other, are one character
            json.dumps(data, ensure_ascii=False).encode()
        return data
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise DataError(f"it has a text that is not Unicode: {error.reason}") from error
    except ValueError as error:
        raise DataError(str(error)) from error
    except RecursionError as error:
        raise DataError("it is nested too deeply to be read") from error


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"JSON has no {constant}")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise DataError(f"the number {text:.40} is out of range")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        (repeated, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise DataError(f"the key {repeated!r:.80} is repeated")
    return members


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repeats, parse_float=_finite, parse_constant=_refuse_constant
)


class JsonValue:
    """A part of a JSON document, and where it is in it: empty for the document."""

    def __init__(self, value: Any, where: str = "") -> None:
        self.value, self.where = value, where

    def refuse(self, needed: str) -> NoReturn:
        """Raise ArtifactError: the value is not what is needed."""
        self.fail(f"must be {needed}, and is {self.value!r:.80}")

    def fail(self, fault: str) -> NoReturn:
        """Raise ArtifactError with the fault of the value."""
        raise ArtifactError(f"in its manifest, {self.where or 'the document'} {fault}")

    def fields(self, *names: str, optional: Sequence[str] = ()) -> dict[str, JsonValue]:
        """Return the fields of an object with exactly these names, besides the optional ones."""
        fields = self.entries()
        for name in [name for name in names if name not in fields]:
            self.fail(f"has no {name!r}")
        for name in [name for name in fields if name not in names and name not in optional]:
            self.fail(f"has an unknown field {name!r}")
        return fields

    def record(self, parts: Mapping[str, Callable[[JsonValue], Any]]) -> dict[str, Any]:
        """Return the fields of an object with exactly the names of `parts`, each read by its."""
        return {name: parts[name](part) for name, part in self.fields(*parts).items()}

    def entries(self) -> dict[str, JsonValue]:
        """Return the fields of an object, whatever their names."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        at = f"{self.where}." if self.where else ""
        return {name: JsonValue(part, f"{at}{name}") for name, part in self.value.items()}

    def mapping(self, parse: Callable[[JsonValue], _T]) -> dict[str, _T]:
        """Return the fields of an object, each read by `parse`."""
        return {name: parse(part) for name, part in self.entries().items()}

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

    def or_none(self, parse: Callable[[JsonValue], _T]) -> _T | None:
        """Return the value read by `parse`, or None."""
        return None if self.value is None else parse(self)

    def flag(self) -> bool:
        """Return a bool."""
        return self.value if isinstance(self.value, bool) else self.refuse("true or false")

    def size(self) -> int:
        """Return an integer of 0 or more, of at most 63 bits."""
        if type(self.value) is int and 0 <= self.value < 2**63:
            return self.value
        self.refuse("an integer of 0 or more, and below 2**63")

    def key(self) -> str | int:
        """Return a text or an integer."""
        value = self.value
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        self.refuse("text or an integer")

    def option(self) -> str | int | float | bool:
        """Return a text, a number, or a bool."""
        value = self.value
        return value if isinstance(value, str | int | float) else self.refuse("text or a number")

    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the name."""
        if self.text() in _NUMPY:
            return np.dtype(self.text())
        import ml_dtypes  # few programs have such an array

        if self.text() not in _ML_DTYPES or not hasattr(ml_dtypes, self.text()):
            self.refuse("the name of a dtype")
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.text()))
        return dtype
