"""The options by which `run` and `bench` are told what to feed to a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from olympus_cli.inputs import InputOptions, parse_int_range

__all__ = ["input_options"]

_OPTIONS = (
    click.option(
        "--int-range",
        metavar="LOW:HIGH",
        default="0:8",
        show_default=True,
        help="Where seeded integers are drawn from; HIGH is not.",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the inputs."
    ),
    click.option(
        "--inputs",
        "file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A .npz file with an array for each argument, or a .npy file for the only one.",
    ),
)


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--inputs, --seed and --int-range, as one parameter `inputs`."""

    @functools.wraps(function)
    def gather(*args: Any, file: Path | None, seed: int, int_range: str, **rest: Any) -> Any:
        options = InputOptions(file, seed, parse_int_range(int_range))
        return function(*args, inputs=options, **rest)

    for option in _OPTIONS:
        gather = option(gather)
    return gather
