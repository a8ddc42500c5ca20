"""The options of `run` and `bench` for bundles, inputs, effort and baselines.

They are not in `shared.py`, which every command's help needs, because they import NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from olympus.errors import SpecError, UsageError
from olympus_cli.bench.compare.attempts import Against
from olympus_cli.bench.compare.verdict import MIN_ROUNDS, ROUNDS
from olympus_cli.bench.measure.work import Effort
from olympus_cli.options.shared import (
    FilePath,
    memory_limit_option,
    positive_number,
    whole_number,
)
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions, parse_int_range
from olympus_cli.spec.bench import parse_threshold

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

_MAX_ROUNDS = 100  # processes of a side: more take longer than a narrower interval is worth

_INPUT = (
    click.option(
        "--int-range",
        metavar="LOW:HIGH",
        default="0:8",
        show_default=True,
        help="Draw integers from this range; HIGH is excluded.",
    ),
    click.option(
        "--seed",
        type=whole_number(0, 2**64 - 1),
        metavar="N",
        default=0,
        show_default=True,
        help="Draw the inputs from this seed.",
    ),
    click.option(
        "--inputs",
        "file",
        metavar="FILE",
        type=FilePath(),
        help="Read the inputs from a .npz or .safetensors file with an array for each argument, or "
        "a single input from a .npy file.",
    ),
)


def _share(text: str | float) -> float:
    """Return a share given as a number or, like the threshold, in percent: "2%" is 0.02."""
    if isinstance(text, str) and text.endswith("%"):
        return positive_number(text.removesuffix("%")) / 100
    return positive_number(text)


_BUDGET = (
    click.option(
        "--time-limit",
        type=positive_number,
        default=Effort.time_limit,
        show_default=True,
        metavar="SECONDS",
        help="Measure the calls of a target for at most this time; the start, the compilation and "
        "the first call are not included. A comparison takes at least 4 pairs of samples a round.",
    ),
    click.option(
        "--precision",
        type=_share,
        default=Effort.precision,
        show_default=True,
        metavar="RATIO",
        help="Measure until the median is known to this precision, such as 0.02 or 2%: its 95% "
        "interval is then at most RATIO of the median on each side.",
    ),
    click.option(
        "--give-up",
        type=positive_number,
        metavar="SECONDS",
        help="Fail a target that takes longer than this, including its compilation.",
    ),
    memory_limit_option,
)


def _threshold(text: str | float) -> float:
    with suppress(ValueError):
        text = float(text)
    try:
        return parse_threshold(text)
    except SpecError as error:
        raise click.BadParameter(f"{error}, {error.hint}") from error


_BASELINE = (
    click.option(
        "--baseline",
        metavar="NAME|FILE|git:REV",
        help="Compare with a saved baseline, a FILE.json, a FILE.olympus, or the target at a git "
        "revision; fail if a metric is worse.",
    ),
    click.option(
        "--against",
        "library",
        type=click.Choice(("jax",)),
        help="Compare the target, a JAX function, with JAX's own compilation of it; with "
        "--threshold, fail if a metric is worse.",
    ),
    click.option(
        "--save-baseline",
        "save",
        metavar="NAME",
        help="Save the measurements as baselines/NAME.json, beside olympus.toml.",
    ),
    click.option(
        "--threshold",
        metavar="PERCENT",
        type=_threshold,
        help="Ignore changes below this, such as 5%; the default is that of olympus.toml, or 5%.",
    ),
    click.option(
        "--rounds",
        type=whole_number(1, _MAX_ROUNDS),
        metavar="N",
        help="Measure each side of the comparison in N processes, and again in N more if the "
        "result is unclear; "
        f"the default is {ROUNDS} with --baseline, --against or --save-baseline, and 1 without.",
    ),
)


_BUNDLE = (
    click.option(
        "--recompile/--no-recompile",
        default=True,
        show_default=True,
        help="Recompile a FILE.olympus that does not fit this machine, or refuse it.",
    ),
    click.option(
        "--native/--no-native",
        default=True,
        show_default=True,
        help="Run the native code in a FILE.olympus, or compile its StableHLO.",
    ),
    click.option(
        "--trust",
        metavar="KEY",
        multiple=True,
        type=FilePath(),
        help="Run a FILE.olympus only if this public key verifies its signature; may be repeated.",
    ),
)


def bundle_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --recompile, --native and --trust, as one parameter `allowed`."""

    @functools.wraps(function)
    def gather(
        *args: Any,
        recompile: bool,
        native: bool,
        trust: tuple[Path, ...],
        size: int | None = None,
        **rest: Any,
    ) -> Any:
        return function(*args, allowed=BundleOptions(recompile, native, trust, size), **rest)

    return _decorated(gather, reversed(_BUNDLE))


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --inputs, --seed and --int-range, as one parameter `inputs`."""

    @functools.wraps(function)
    def gather(*args: Any, file: Path | None, seed: int, int_range: str, **rest: Any) -> Any:
        options = InputOptions(file, seed, parse_int_range(int_range))
        return function(*args, inputs=options, **rest)

    return _decorated(gather, _INPUT)


def effort_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an `Effort`, as one parameter `effort`."""

    @functools.wraps(function)
    def gather(
        *args: Any,
        precision: float,
        time_limit: float,
        give_up: float | None,
        memory_limit: int | None,
        **rest: Any,
    ) -> Any:
        effort = Effort(precision, time_limit, give_up, memory_limit)
        return function(*args, effort=effort, **rest)

    return _decorated(gather, _BUDGET)


def baseline_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of comparisons and of saved baselines, as one parameter `against`."""

    @functools.wraps(function)
    def gather(
        *args: Any,
        baseline: str | None,
        library: str | None,
        save: str | None,
        threshold: float | None,
        rounds: int | None,
        **rest: Any,
    ) -> Any:
        if library is not None and baseline is not None:
            raise UsageError("--against cannot be combined with --baseline: each is the other side")
        if threshold is not None and baseline is None and library is None:
            raise UsageError(
                "--threshold needs --baseline or --against",
                hint="add --baseline NAME, FILE or git:REV, the other side of the comparison",
            )
        if save is not None and rounds is not None and rounds < MIN_ROUNDS:
            raise UsageError(
                f"--save-baseline {save} needs at least {MIN_ROUNDS} rounds; got --rounds {rounds}",
                hint=f"write --rounds {MIN_ROUNDS} or more; the default is {ROUNDS}",
            )
        against = Against(baseline, save, threshold, rounds, library is not None)
        return function(*args, against=against, **rest)

    return _decorated(gather, reversed(_BASELINE))


def _decorated(function: Callable[..., Any], options: Iterable[Option]) -> Callable[..., Any]:
    for option in options:
        function = option(function)
    return function
