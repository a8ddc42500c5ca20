"""The error classes as Markdown, from `olympus.errors`."""

from __future__ import annotations

import inspect

from olympus import errors

__all__ = ["classes", "error_table", "names"]


def classes() -> list[type[errors.OlympusError]]:
    """The error classes by exit code and name, the base class apart."""
    found = {value.__name__: value for value in vars(errors).values() if inspect.isclass(value)}
    own = [each for each in found.values() if issubclass(each, errors.OlympusError)]
    own.remove(errors.OlympusError)
    return sorted(own, key=lambda each: (each.exit_code, each.__name__))


def names() -> list[str]:
    """The names of the classes in `olympus.errors`, without the other names of JAX for them."""
    return [_name(each) for each in classes()]


def error_table() -> str:
    """A row for each class: its exit code, the classes that it derives from, and its meaning."""
    rows = "".join(
        f"| `{_name(each)}` | {each.exit_code} | {_bases(each)} | {_meaning(each)} |\n"
        for each in classes()
    )
    return f"| class | exit | derives from | meaning |\n| --- | --- | --- | --- |\n{rows}"


def _name(cls: type) -> str:
    """The name in `olympus.errors`, which need not be the one that tracebacks show."""
    return next(name for name, value in vars(errors).items() if value is cls)


def _bases(cls: type) -> str:
    return ", ".join(
        f"`{_name(b) if b in vars(errors).values() else b.__name__}`" for b in cls.__bases__
    )


def _meaning(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split()).replace("|", r"\|")
