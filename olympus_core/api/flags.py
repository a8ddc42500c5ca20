"""The options of `config` as flags of the command line: `--jax_enable_x64=true`.

The package `absl-py` is used if it is installed, because its own parser refuses flags that are not
registered. Without it, only `parse` works.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from olympus_core.base.errors import ConfigError

_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")

#: sets the option of a flag's name
Update = Callable[[str, Any], None]


def register(options: dict[str, Any], update: Update) -> None:
    """Define a flag of absl for each option, with its value; `app.run` then sets the options.

    A flag that is defined already stays as it is. Raises ImportError if absl is not installed.
    """
    flags = importlib.import_module("absl.flags")
    app = importlib.import_module("absl.app")
    for name, value in options.items():
        if name not in flags.FLAGS:
            define = flags.DEFINE_bool if isinstance(value, bool) else flags.DEFINE_string
            define(name, value, f"the option {name} of OLYMPUS")
    app.call_after_init(lambda: _apply(flags.FLAGS, options, update))


def _apply(values: Any, options: Iterable[str], update: Update) -> None:
    for name in options:
        if name in values and values[name].present:
            update(name, values[name].value)


def parse(arguments: Sequence[str], options: dict[str, Any], update: Update) -> None:
    """Set the options that are flags among the arguments of a command, up to `--`.

    A flag is `--jax_name=value`, or `--jax_name` for True. Raises ConfigError for a switch with a
    value that is neither true nor false. Other arguments are ignored.
    """
    for name, text in _flags(arguments, options):
        if text is None:
            update(name, True)
        elif not isinstance(options[name], bool):
            update(name, text)
        elif text.lower() in _TRUE + _FALSE:
            update(name, text.lower() in _TRUE)
        else:
            raise ConfigError(f"the flag --{name} is true or false, not {text!r}")


def _flags(arguments: Sequence[str], options: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the value of each flag of an option; None is a missing value."""
    for argument in itertools.takewhile(lambda a: a != "--", arguments):
        name, equals, text = argument.removeprefix("--").partition("=")
        if argument.startswith("--") and name in options:
            yield name, text if equals else None
