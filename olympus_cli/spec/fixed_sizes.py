"""The fixed sizes of a target with symbolic sizes: those of `at`, and the least other ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from olympus.errors import ShapeError, UsageError
from olympus_cli.spec.entries import program_file
from olympus_cli.spec.model import ArgSpec, OfClass, ShapeSpec, TargetSpec
from olympus_cli.spec.section import Section
from olympus_cli.spec.target_table import at_key

_Shape = tuple[int | str, ...]


def with_fixed_sizes(spec: TargetSpec) -> TargetSpec:
    """Return a target with fixed sizes, whose `general` is the one with symbolic sizes.

    A target without symbolic sizes is returned as it is.

    Raises:
        UsageError: `at` has a name that is in no shape, or the sizes break a constraint.
    """
    shapes = list(dict.fromkeys(symbolic_shapes(spec)))
    if not shapes and spec.at and spec.general is None and program_file(spec.entry) is None:
        with at_key(spec, "at"):
            name = next(iter(spec.at))
            raise UsageError(f"no shape has the symbolic size {name!r}")
    if not shapes:
        with at_key(spec, "budget"):
            spec.budget.at({})  # it has no formula
        return spec
    from olympus.stages import fixed_sizes  # few targets have symbolic sizes

    with at_key(spec, "at" if spec.at else "constraints"):
        sizes, fixed = fixed_sizes(shapes, spec.constraints, spec.at)
    with at_key(spec, "budget"):
        budget = spec.budget.at(sizes)
    known = dict(zip(shapes, fixed, strict=True))
    return replace(
        spec,
        args=tuple([_fixed(arg, known) for arg in spec.args]),
        kwargs={name: _fixed(arg, known) for name, arg in spec.kwargs.items()},
        constraints=(),
        sizes=sizes,
        budget=budget,
        general=spec,
    )


def symbolic_shapes(spec: TargetSpec) -> Iterator[_Shape]:
    """Yield the symbolic shapes of the arguments of a function, in order."""
    if program_file(spec.entry) is None:  # the sizes of a file have names of their own
        for leaf in _leaves((*spec.args, *spec.kwargs.values())):
            if any(isinstance(n, str) for n in leaf.shape):
                yield leaf.shape


def _leaves(args: Iterable[ArgSpec]) -> Iterator[ShapeSpec]:
    for arg in args:
        match arg:
            case ShapeSpec():
                yield arg
            case OfClass():
                yield from _leaves(arg.parts.values())
            case dict():
                yield from _leaves(arg.values())
            case list():
                yield from _leaves(arg)


def _fixed(arg: ArgSpec, known: Mapping[_Shape, tuple[int, ...]]) -> ArgSpec:
    match arg:
        case ShapeSpec():
            return replace(arg, shape=known.get(arg.shape, arg.shape))
        case OfClass():
            return replace(arg, parts={k: _fixed(x, known) for k, x in arg.parts.items()})
        case dict():
            return {k: _fixed(x, known) for k, x in arg.items()}
        case list():
            return [_fixed(x, known) for x in arg]
    return arg


def at_of(section: Section) -> dict[str, int]:
    """Return the table `at` of a target: values of symbolic sizes.

    Raises:
        SpecError: a value is not a number of 1 or more.
    """
    table = section.table("at")
    for name, value in table.data.items():
        if type(value) is not int or value < 1:
            table.wrong(name, "a number of 1 or more", value)
    return dict(table.data)


def checked_constraints(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return constraints on symbolic sizes; raise UsageError if one is none, or they conflict."""
    if texts:
        from olympus.export import SymbolicScope  # few targets have symbolic sizes

        try:
            SymbolicScope(texts)
        except ShapeError as error:
            reason = str(error).partition(". Parsed")[0]
            raise UsageError(
                f"is not valid: {reason}",
                hint='write comparisons, such as constraints = ["1 <= b <= 1024", "b % 8 == 0"]',
            ) from error
    return texts


def parse_sizes(options: Sequence[str]) -> dict[str, int]:
    """Return the values of `--at`; raise UsageError for another form than NAME=N.

    >>> parse_sizes(["b=64", "c=2,d=8"])
    {'b': 64, 'c': 2, 'd': 8}
    """
    sizes: dict[str, int] = {}
    for part in ",".join(options).split(",") if options else ():
        name, _, number = part.strip().partition("=")
        if not name.isidentifier() or not number.isdecimal() or int(number) < 1:
            raise UsageError(
                f"--at needs NAME=N with a number of 1 or more, and got {part!r}",
                hint="such as --at b=64",
            )
        sizes[name] = int(number)
    return sizes
