"""The options by which `run` and `bench` are told what to run, what to feed to it, and how long.

Apart from `options.py`, which every command's help needs, for these import NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from olympus_cli.bench.stages import Budget
from olympus_cli.options import FilePath, PositiveNumber
from olympus_cli.program.bundle import BundleOptions
from olympus_cli.program.inputs import InputOptions, parse_int_range

__all__ = ["budget_options", "bundle_options", "input_options"]

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

_INPUT = (
    click.option(
        "--int-range",
        metavar="LOW:HIGH",
        default="0:8",
        show_default=True,
        help="Where seeded integers are drawn from; HIGH is not.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="What it makes the inputs from.",
    ),
    click.option(
        "--inputs",
        "file",
        metavar="FILE",
        type=FilePath(),
        help="A .npz file with an array for each argument, or a .npy file for the only one.",
    ),
)
_BUDGET = (
    click.option(
        "--time-limit",
        type=PositiveNumber(),
        default=Budget.time_limit,
        show_default=True,
        metavar="SECONDS",
        help="Measure a target's calls no longer than this.",
    ),
    click.option(
        "--precision",
        type=PositiveNumber(),
        default=Budget.precision,
        show_default=True,
        metavar="RATIO",
        help="Measure until half the interval of the median is this part of it.",
    ),
)


_BUNDLE = (
    click.option(
        "--recompile/--no-recompile",
        default=True,
        help="Whether a FILE.olympus that does not fit this machine is compiled again.",
    ),
    click.option(
        "--native/--no-native",
        default=True,
        help="Whether the native code in a FILE.olympus may run, or the program is compiled from "
        "its StableHLO.",
    ),
    click.option(
        "--trust",
        metavar="KEY",
        multiple=True,
        type=FilePath(),
        help="Run a FILE.olympus only if it is signed with this public key; may be repeated.",
    ),
)


def bundle_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--recompile, --native and --trust, as one parameter `allowed`."""

    @functools.wraps(function)
    def gather(
        *args: Any, recompile: bool, native: bool, trust: tuple[Path, ...], **rest: Any
    ) -> Any:
        return function(*args, allowed=BundleOptions(recompile, native, trust), **rest)

    return _decorated(gather, reversed(_BUNDLE))


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--inputs, --seed and --int-range, as one parameter `inputs`."""

    @functools.wraps(function)
    def gather(*args: Any, file: Path | None, seed: int, int_range: str, **rest: Any) -> Any:
        options = InputOptions(file, seed, parse_int_range(int_range))
        return function(*args, inputs=options, **rest)

    return _decorated(gather, _INPUT)


def budget_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--precision and --time-limit, as one parameter `budget`."""

    @functools.wraps(function)
    def gather(*args: Any, precision: float, time_limit: float, **rest: Any) -> Any:
        return function(*args, budget=Budget(precision, time_limit), **rest)

    return _decorated(gather, _BUDGET)


def _decorated(function: Callable[..., Any], options: Iterable[Option]) -> Callable[..., Any]:
    for option in options:
        function = option(function)
    return function
