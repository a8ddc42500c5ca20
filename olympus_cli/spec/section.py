"""A reader of one TOML table, key by key; errors on types and unknown keys have the line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from olympus_cli.spec.toml import toml_key
from olympus_cli.text.nearest import did_you_mean, nearest

_CALLED = {str: "a string", dict: "a table", list: "an array", bool: "a boolean"}


class Source(Protocol):
    """The source of a table, for messages: a file, or a substitute for one."""

    @property
    def path(self) -> Path:
        """The path of the source."""

    def named(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the key path that a message has for the value at `keys`."""

    def fail(self, keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        """Raise an error about the value at `keys`."""


@dataclass(frozen=True)
class Section:
    """The table at the key path `keys` of `source`."""

    source: Source
    keys: tuple[str, ...]
    data: dict[str, Any]

    def fail(self, key: str, message: str, hint: str | None = None) -> NoReturn:
        """Raise SpecError about `key` of this table, or about a part of it such as `args[0].w`."""
        parts = [key] if key in self.data else re.split(r"[.\[]", key)
        name = toml_key(key) if key in self.data else key
        keys = (*self.keys, *parts)
        section = self.source.named(keys)[: -len(parts)]
        self.source.fail(keys, f"{'.'.join((*section, name))} {message}", hint)

    def dotted(self, *keys: str) -> str:
        """Return the key path of a value of this table, for messages."""
        return ".".join(self.source.named((*self.keys, *keys)))

    def only(self, keys: Iterable[str]) -> None:
        """Raise SpecError for a key that is not in `keys`; the hint has the nearest valid key."""
        valid = tuple(keys)
        for key in self.data:
            if key not in valid:
                keys = self.source.named((*self.keys, key))[:-1]
                name = f"[{'.'.join(keys)}]" if keys else self.source.path.name
                message = f"{name} has no key {key!r}"
                hint = did_you_mean(key, valid, "its keys are")
                self.source.fail((*self.keys, key), message, hint)

    def text(self, key: str, default: str) -> str:
        """Return the string at `key`."""
        value = self.data.get(key, default)
        return value if isinstance(value, str) else self.wrong(key, "a string", value)

    def path(self, key: str, default: str) -> str:
        """Return the string at `key`, after a check that a file or a folder can have this name."""
        value = self.text(key, default)
        if "\0" in value:
            self.fail(key, f"is {value!r}, and a path cannot have a NUL character")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> Any:
        """Return the string at `key`, one of `choices`; the default is the first of them."""
        value = self.text(key, choices[0])
        if value not in choices:
            near = nearest(value, choices)
            hint = f"did you mean {' or '.join(near)}?" if near else None
            self.fail(key, f"must be {' or '.join(choices)}; got {value!r}", hint)
        return value

    def flag(self, key: str) -> bool:
        """Return the boolean at `key`; the default is False."""
        value = self.data.get(key, False)
        return value if isinstance(value, bool) else self.wrong(key, "true or false", value)

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the strings of the array at `key`."""
        value = self.data.get(key, list(default))
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.wrong(key, "an array of strings", value)

    def table(self, key: str) -> Section:
        """Return the table at `key`; empty if there is none."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            self.wrong(key, "a table", value)
        return Section(self.source, (*self.keys, key), value)

    def wrong(self, key: str, wanted: str, value: object) -> NoReturn:
        """Raise SpecError with the type that `key` needs and the value that it got."""
        got = next((name for kind, name in _CALLED.items() if isinstance(value, kind)), "")
        self.fail(key, f"must be {wanted}; got {got or 'the value'} {value!r}".replace("  ", " "))
