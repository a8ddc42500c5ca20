"""The options that commands share, as decorators; one name, one meaning, one help text.

A command stacks what it needs above its function, and passes what comes to `resolve`:

    @click.command("trace")
    @entry_options
    @json_option
    @verbose_option
    def command(text: str, shapes: str | None, statics: tuple[str, ...], project: str | None,
                as_json: bool) -> None: ...

A command's module is `olympus_cli/commands/<name>.py` and its click command is called `command`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from olympus_cli.streams import prints_apart

if TYPE_CHECKING:
    import pathlib

__all__ = [
    "FilePath",
    "FolderPath",
    "OutputPath",
    "PositiveNumber",
    "ProgramCommand",
    "entry_options",
    "json_option",
    "output_option",
    "program_options",
    "project_option",
    "shapes_option",
    "static_option",
    "target_options",
    "targets_argument",
    "verbose_option",
]

F = TypeVar("F", bound=Callable[..., Any])


class ProgramCommand(click.Command):
    """A command that runs code of the user's in this process: what that prints is not data."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click does."""
        with prints_apart():
            return super().invoke(ctx)


class FilePath(click.Path):
    """A path, absolute from the start: a user's module may leave the working directory."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> pathlib.Path:
        """The path that the text says."""
        import pathlib  # not for every command's help

        return pathlib.Path(value).absolute()


class FolderPath(FilePath):
    """A folder to write to, which stdout cannot be."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> pathlib.Path:
        """The path that the text says."""
        if value == "-":
            self.fail("a folder cannot be written to stdout; ./- is a folder.", param, ctx)
        return super().convert(value, param, ctx)


class OutputPath(FilePath):
    """A file to write to; "-" is stdout, which no path is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that the text says, or `"-"`."""
        return value if value == "-" else super().convert(value, param, ctx)


def _not_stdout(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """None for stdout: a command that prints what it makes writes it there anyway."""
    return None if value == "-" else value


class PositiveNumber(click.FloatRange):
    """A number above 0 and finite: of seconds, as many as the system's waits take."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=1e6)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number that the text says."""
        number: float = super().convert(value, param, ctx)
        if number != number:  # NaN is in every range
            self.fail(f"{value} is not a number above 0.", param, ctx)
        return number


def _remember_verbose(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["olympus.verbose"] = True


project_option = click.option(
    "--project",
    metavar="PATH",
    help="Use the olympus.toml at PATH; otherwise look for one upward from here.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON document to stdout."
)
output_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputPath(),
    callback=_not_stdout,
    help="Write to FILE, whole or not at all; - is stdout.",
)
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember_verbose,
    help="Show the Python traceback of an error.",
)
targets_argument = click.argument("names", metavar="[TARGET]...", nargs=-1)


shapes_option = click.option(
    "--shapes",
    metavar="SHAPES",
    help='Give the shapes of arguments: "f32[8,128], i32[]", "x=f32[8]", "p={w=f32[3,4]}".',
)
static_option = click.option(
    "--static",
    "statics",
    metavar="NAME=VALUE",
    multiple=True,
    help="Give a static argument, its value in TOML: train=false, n=3, mode='\"fast\"'.",
)


def entry_options(function: F, metavar: str = "ENTRY|TARGET") -> F:
    """ENTRY|TARGET as `text`, then `shapes`, `statics` and `project`."""
    text = click.argument("text", metavar=metavar)
    for decorate in (project_option, static_option, shapes_option, text):
        function = decorate(function)
    return function


def program_options(function: F) -> F:
    """As `entry_options`, for a command that takes a built FILE.olympus too."""
    return entry_options(function, "ENTRY|TARGET|FILE.olympus")


def target_options(function: F) -> F:
    """`backend` and `device`: what the program is built for, instead of what the target says."""
    for decorate in (
        click.option("--device", metavar="NAME", help="Choose the accelerator, such as h200."),
        click.option("--backend", metavar="NAME", help="Choose cpu or gpu; tpu to lower."),
    ):
        function = decorate(function)
    return function
