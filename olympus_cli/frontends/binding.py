"""Bind a target's arguments to the signature of its function.

Arrays fill the parameters that are not static, in order, as in a call. Arguments are passed by
position if possible, so that a program's inputs are in the order of its function's parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import TypeAlias

from olympus.errors import UsageError
from olympus_cli.spec.model import ArgSpec, SizeSpec, TargetSpec
from olympus_cli.spec.target_table import at_key, form_of, with_line
from olympus_cli.text.nearest import did_you_mean

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_SHAPE = '"f32[8,128]"'  # an example
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Static:
    """The value of a static argument, used in place of an array's shape."""

    value: object


Given: TypeAlias = "Static | ArgSpec"


@dataclass(frozen=True)
class Binding:
    """The arguments of the function, by position (with the parameters' `names`) and by name."""

    args: tuple[Given, ...]
    names: tuple[str, ...]
    kwargs: Mapping[str, Given]


def bind(function: str, signature: Signature, spec: TargetSpec) -> Binding:
    """Return the call of `function` (its name, for messages) that `spec` describes.

    Raises:
        UsageError: an argument is missing, extra, given twice or both as shape and static, or
            `donate` names none of the arrays.
    """
    parameters = signature.parameters
    arguments = _named(function, parameters, spec)
    extra = _fill(function, parameters, spec, arguments)
    with at_key(spec, "args"):
        _complete(function, parameters, arguments, spec)
    _check_varied(function, parameters, arguments, spec)
    _donations(function, spec, arguments)
    return _binding(parameters, arguments, extra)


def _named(
    function: str, parameters: Mapping[str, Parameter], spec: TargetSpec
) -> dict[str, Given]:
    arguments: dict[str, Given] = dict(spec.kwargs)
    for name, value in spec.static.items():
        if name in arguments:
            what = f"argument {name!r} is given both as a shape and as a static"
            raise with_line(UsageError(what), spec, *_keys(name, spec))
        arguments[name] = Static(value)
    names = [name for name, p in parameters.items() if p.kind not in _VARIADIC]
    if not any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        for name in arguments:
            if name not in names:
                hint = did_you_mean(name, names, "its arguments are")
                if name in spec.matrix:
                    rule = f"a key of the matrix that is not written as {{{name}}} is a static"
                    hint = f"{rule} argument; {hint}" if hint else f"{rule} argument"
                error = UsageError(f"{function} has no argument {name!r}", hint=hint)
                raise with_line(error, spec, *_keys(name, spec))
    _check_sizes(function, arguments, spec)
    return arguments


def _check_sizes(function: str, arguments: Mapping[str, Given], spec: TargetSpec) -> None:
    """Raise UsageError for a number in place of a shape, which only models take."""
    for name, value in arguments.items():
        if isinstance(value, SizeSpec):
            error = UsageError(
                f"argument {name!r} of {function} needs a shape, and got the number {value.size}",
                hint=f"{form_of(spec, 'static', name, str(value.size))} gives a value that is part "
                "of the program; an array of one number has the shape i32[]",
            )
            raise with_line(error, spec, *_keys(name, spec))


def _keys(name: str, spec: TargetSpec) -> tuple[str, ...]:
    """Return the key path of an argument in its target: a shape, a static, or a matrix key."""
    if name not in spec.static:
        return "args", name
    return ("matrix" if name in spec.matrix else "static"), name


def _fill(
    function: str,
    parameters: Mapping[str, Parameter],
    spec: TargetSpec,
    arguments: dict[str, Given],
) -> tuple[ArgSpec, ...]:
    """Put the arrays given by position into `given`; return the rest, which are for `*args`."""
    free = [n for n, p in parameters.items() if p.kind in _BY_POSITION and n not in spec.static]
    for name, value in zip(free, spec.args, strict=False):
        if name in arguments:
            what = f"argument {name!r} of {function} is given by position and by name"
            raise with_line(UsageError(what), spec, "args")
        arguments[name] = value
    extra = spec.args[len(free) :]
    if extra and not any(p.kind is Parameter.VAR_POSITIONAL for p in parameters.values()):
        statics = f" besides its statics ({', '.join(spec.static)})" if spec.static else ""
        arrays = "1 array" if len(free) == 1 else f"{len(free)} arrays"
        error = UsageError(
            f"{function} takes {arrays} by position{statics}; {len(spec.args)} shapes are given",
            hint=f"its arguments are {', '.join(parameters)}" if parameters else None,
        )
        raise with_line(error, spec, "args")
    return extra


def _complete(
    function: str,
    parameters: Mapping[str, Parameter],
    arguments: Mapping[str, Given],
    spec: TargetSpec,
) -> None:
    """Raise UsageError if an argument without a default is not given."""
    missing = [
        name
        for name, p in parameters.items()
        if p.default is Parameter.empty and p.kind not in _VARIADIC and name not in arguments
    ]
    if missing:
        name = missing[0]
        value = f'"{{{name}}}"' if name in spec.setting_keys else "3"
        raise UsageError(
            f"{function} needs argument{'s'[: len(missing) > 1]} {', '.join(map(repr, missing))}",
            hint=f"{form_of(spec, 'args', name, _SHAPE)} gives a shape, "
            f"{form_of(spec, 'static', name, value)} a value that is part of the program",
        )


def _check_varied(
    function: str,
    parameters: Mapping[str, Parameter],
    arguments: Mapping[str, Given],
    spec: TargetSpec,
) -> None:
    """Raise UsageError if an argument keeps its default although the matrix varies it."""
    for name in spec.setting_keys:
        if name in parameters and name not in arguments and parameters[name].kind not in _VARIADIC:
            default, value = parameters[name].default, f'"{{{name}}}"'
            error = UsageError(
                f"{function} would take {name} = {default!r} for every {name} of the matrix",
                hint=f"give it: {form_of(spec, 'static', name, value)}",
            )
            raise with_line(error, spec, "matrix", name)


def _donations(function: str, spec: TargetSpec, arguments: Mapping[str, Given]) -> None:
    arrays = [name for name, value in arguments.items() if not isinstance(value, Static)]
    for name in spec.donate:
        if name not in arrays:
            static = "a static argument" if name in arguments else "not an argument"
            error = UsageError(
                f"donate names {name!r}, which is {static} of {function}",
                hint=did_you_mean(name, arrays, "its arrays are"),
            )
            raise with_line(error, spec, "donate")


def _binding(
    parameters: Mapping[str, Parameter], arguments: Mapping[str, Given], extra: tuple[ArgSpec, ...]
) -> Binding:
    left = dict(arguments)
    names: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind not in _BY_POSITION or name not in left:
            break  # after an omitted default, the rest go by name
        names.append(name)
    args = [left.pop(name) for name in names]
    variadic = next((n for n, p in parameters.items() if p.kind is Parameter.VAR_POSITIONAL), "")
    names += [f"{variadic}[{i}]" for i in range(len(extra))]
    ordered = [name for name in parameters if name in left]
    ordered += [name for name in left if name not in parameters]
    return Binding((*args, *extra), tuple(names), {name: left[name] for name in ordered})
