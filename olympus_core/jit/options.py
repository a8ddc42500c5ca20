"""The options of `jit`, and the parameters of a function that they name or number."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from olympus_core.base.errors import OptionError
from olympus_core.jit.inlining import Inline


def argument_positions(option: str, value: int | Iterable[int] | None) -> tuple[int, ...]:
    """Return the positions of arguments in an option; raise OptionError for other values."""
    if value is None:
        return ()
    try:
        return tuple(map(operator.index, (value,) if isinstance(value, int) else value))
    except TypeError:
        bad = (
            value
            if not isinstance(value, Iterable) or isinstance(value, str)
            else next(x for x in value if not hasattr(x, "__index__"))
        )
        term = f"'{type(bad).__name__}' object cannot be interpreted as an integer"
        raise OptionError(f"{term}: {option} needs ints, and got {value!r:.80}") from None


def _names(option: str, value: str | Iterable[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    names: tuple[Any, ...] = tuple(value) if isinstance(value, Iterable) else (value,)
    if any(not isinstance(name, str) for name in names):
        bad = next(name for name in names if not isinstance(name, str))
        raise OptionError(
            f"argument is not a string: {bad!r:.80}: {option} needs names of arguments, and got "
            f"{value!r:.80}"
        )
    return names


class JitOptions(NamedTuple):
    """The static arguments (values known while tracing), the donated ones, and other options.

    `inline` is what happens to a call in a function that is being traced. For an eager call, the
    program is compiled with `compiler_options`, sorted by name.
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    inline: Inline = Inline.AUTO
    compiler_options: tuple[tuple[str, Any], ...] = ()
    keep_unused: bool = False

    @staticmethod
    def of(
        fun: Callable[..., Any],
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        donate_argnums: int | Iterable[int] | None = None,
        donate_argnames: str | Iterable[str] | None = None,
    ) -> JitOptions:
        """Return the options, with positions and names completed from the signature.

        Raises UsageError for a position or name that the function does not have, or that is both
        static and donated.
        """
        parameters = parameters_of(fun)
        static = _complete(parameters, "static", static_argnums, static_argnames)
        donate = _complete(parameters, "donate", donate_argnums, donate_argnames)
        if both := set(static[1]) & set(donate[1]) or set(static[0]) & set(donate[0]):
            raise OptionError(
                "static_argnames and donate_argnames cannot intersect. Argument names "
                f"{{{', '.join(map(repr, sorted(both)))}}} appear in both: a static argument has "
                "no buffer to donate"
            )
        return JitOptions(*static, *donate)


def from_start(argnums: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return sorted positions of a call of `count` arguments, counted from the first one."""
    if not argnums or argnums[0] >= 0:
        return argnums
    return tuple(sorted({n + count if n < 0 else n for n in argnums}))


def parameters_of(fun: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function; `*args, **kwargs` if it has no signature."""
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return list(inspect.signature(lambda *args, **kwargs: None).parameters.values())


def positional_names(parameters: list[inspect.Parameter]) -> tuple[list[str], str]:
    """Return the names of the positional parameters, and the name of `*args`."""
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return positional, variadic[0] if variadic else "args"


def _complete(
    parameters: list[inspect.Parameter],
    what: str,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the positions and names of the arguments that `argnums` and `argnames` give."""
    of = inspect.Parameter
    kinds = [p.kind for p in parameters]
    positional, _ = positional_names(parameters)
    nums = set(argument_positions(f"{what}_argnums", argnums))
    names = set(_names(f"{what}_argnames", argnames))
    count = len(positional)
    if of.VAR_POSITIONAL not in kinds and any(not -count <= n < count for n in nums):
        raise OptionError(
            f"Jitted function has {what}_argnums={tuple(sorted(nums))}, but only accepts {count} "
            "positional arguments"
        )
    if of.VAR_POSITIONAL not in kinds:  # else a call has the number of arguments
        nums = {n + count if n < 0 else n for n in nums}
    unnamed = {p.name for p in parameters if p.kind in (of.POSITIONAL_ONLY, of.VAR_POSITIONAL)}
    if invalid := names & unnamed:
        raise OptionError(f"{_invalid(what, invalid)} These are positional-only")
    known = {p.name for p in parameters} - unnamed
    if of.VAR_KEYWORD not in kinds and (invalid := names - known):
        parameter_names = ", ".join(sorted(known)) or "no arguments by name"
        raise OptionError(
            f"{_invalid(what, invalid)} Function does not take these args: it takes "
            f"{parameter_names}"
        )
    all_nums = nums | {positional.index(n) for n in names if n in positional}
    all_names = names | {positional[n] for n in nums if 0 <= n < count}
    return tuple(sorted(all_nums)), tuple(sorted(all_names))


def _invalid(what: str, names: set[str]) -> str:
    shown = ", ".join(map(repr, sorted(names)))
    return f"Jitted function has invalid argnames {{{shown}}} in {what}_argnames."
