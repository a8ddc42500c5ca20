"""The options that commands share, as decorators; each name has one meaning and one help text.

A command puts the decorators above its function.  Several options are passed as one parameter:

    @click.command("trace", cls=Command)
    @entry_options
    @output_option("the program", printed=True)
    @common_options
    def command(request: Request, output: Path | None, as_json: bool) -> None: ...

A command's module is `olympus_cli/commands/<name>.py` and its click command is called `command`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from olympus_cli.process.process_tree import has_process_files
from olympus_cli.text.option_values import FORMATS, LINALG, OPTIMIZE, REPEATS, WEIGHTS

if TYPE_CHECKING:
    import pathlib

F = TypeVar("F", bound=Callable[..., Any])

# The help texts of the words in the metavars of arguments.
_ARGUMENTS = {
    "ENTRY": "A function: package.module:function or path/file.py:function; "
    "or a file: step.mlir, model.onnx or step.olympus.",
    "TARGET": "A target of olympus.toml.",
    "FILE.olympus": "A bundle, which a build writes.",
    "DIR": "A folder; the default is the working directory.",
}


class Command(click.Command):
    """A command whose help describes its arguments."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for the arguments, then the options as click does."""
        words = [p.metavar or "" for p in self.params if isinstance(p, click.Argument)]
        rows = [(name, text) for name, text in _ARGUMENTS.items() if name in "".join(words)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)


#: The key of `click.Context.meta` for the words of the command line, for hints.
COMMAND_LINE = "olympus.command_line"
#: Names of stdout.  As a path, /dev/stdout is stderr's file in a command (`streams.data_alone`).
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class FilePath(click.Path):
    """A path, made absolute when parsed: a user's module may change the working directory."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> pathlib.Path:
        """Return the path."""
        import pathlib  # not for every command's help

        return pathlib.Path(value).absolute()


class WritablePath(FilePath):
    """A file to write to; it is an error, before the work, if it cannot be written."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> pathlib.Path:
        """Return the path."""
        from olympus_cli.terminal.output import check_writable  # not for every command's help

        path = super().convert(value, param, ctx)
        check_writable(path)
        return path


class FolderPath(FilePath):
    """A folder to write to; "-" is an error, and so is the name of a bundle without a folder."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> pathlib.Path:
        """Return the path."""
        if value == "-":
            self.fail(
                "a folder cannot be written to stdout; write ./- for a folder named -.", param, ctx
            )
        path = super().convert(value, param, ctx)
        if path.suffix == ".olympus" and not path.is_dir():
            self.fail(
                "the outputs are a folder of files, with the bundle, and "
                f"{value!r} names a bundle; write {str(value).removesuffix('.olympus')!r}, for "
                "example.",
                param,
                ctx,
            )
        return path


class _OutputPath(WritablePath):
    """A file to write to, or "-" for stdout; `or_folder` leaves the check to the command."""

    def __init__(self, *, or_folder: bool = False) -> None:
        super().__init__()
        self._or_folder = or_folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or "-" for any name of stdout."""
        if value in STDOUT:
            return "-"
        parent = FilePath if self._or_folder else WritablePath
        return parent.convert(self, value, param, ctx)


def _not_stdout(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """Return None for stdout: a command that prints its result writes it there anyway."""
    return None if value == "-" else value


# In seconds, about half of the longest wait of the system.  A ratio of a million is no limit.
_MAX = 1_000_000


def _ascii(text: object) -> str:
    """Return the text of a number; raise ValueError if it has other characters than ASCII."""
    if not str(text).isascii():
        raise ValueError
    return str(text)


def positive_number(text: str | float) -> float:
    """Return the number of an option's text or default: above 0, and at most a million."""
    try:
        number = float(_ascii(text))
    except ValueError:
        raise click.BadParameter(f"must be a number; got {text!r:.80}") from None
    if not 0 < number <= _MAX:
        raise click.BadParameter(f"must be above 0 and at most {_MAX}; got {text!s:.80}")
    return number


def byte_count(text: str | int) -> int:
    """Return the bytes of a size such as "4GB" or "512 MiB": at least one."""
    from olympus.errors import SpecError  # not for every command's help
    from olympus_cli.spec.limits import QUANTITIES, parse_limit

    size, hint = None, ""
    with contextlib.suppress(ValueError):
        try:
            size = parse_limit(_ascii(text), QUANTITIES["bytes"]).most
        except SpecError as error:
            hint = f"; {error.hint}" if error.hint else ""
    if size is None or size < 1:
        form = "must be a size of at least 1 B, such as 4GB or 512MiB"
        raise click.BadParameter(f"{form}; got {text!r:.80}{hint}")
    if not has_process_files():
        raise click.BadParameter("needs /proc, which this system does not have")
    return int(size)


def whole_number(least: int, most: int = _MAX) -> Callable[[str | int], int]:
    """Return the type of an option that is a whole number from `least` to `most`."""

    def convert(text: str | int) -> int:
        try:
            number = int(_ascii(text))
        except ValueError:
            raise click.BadParameter(f"must be a whole number; got {text!r:.80}") from None
        if number < least:
            raise click.BadParameter(f"must be at least {least}; got {text!s:.80}")
        if number > most:
            raise click.BadParameter(f"must be at most {most}; got {text!s:.80}")
        return number

    return convert


def _remember_verbose(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["olympus.verbose"] = True


def is_verbose() -> bool:
    """Return True if `--verbose` was given to the running command."""
    return bool(click.get_current_context().meta.get("olympus.verbose"))


def _decorated(function: F, *options: Callable[[F], F]) -> F:
    """Return `function` with options, which help shows in this order."""
    for option in reversed(options):
        function = option(function)
    return function


project_option = click.option(
    "--project",
    metavar="PATH",
    help="Use the olympus.toml at PATH; the default is the nearest one, in this folder or above.",
)
changed_since_option = click.option(
    "--changed-since",
    metavar="git:REV",
    help="Select only targets whose inputs changed since this revision.",
)
time_limit_option = click.option(
    "--time-limit",
    type=positive_number,
    metavar="SECONDS",
    help="Fail a target that takes longer than this.",
)
memory_limit_option = click.option(
    "--memory-limit",
    type=byte_count,
    metavar="SIZE",
    help="Fail a target whose process uses more memory than this, such as 4GB or 512MiB.",
)
page_option = click.option(
    "--html",
    "page",
    is_flag=True,
    help="Also write the report as a page for a browser, report.html.",
)
no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    help="Compile without the store of results: neither read it nor write to it.",
)
verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_remember_verbose,
    help="Show the Python traceback of an error.",
)


def output_option(
    what: str, *, form: str = "", printed: bool = False, or_folder: bool = False
) -> Callable[[F], F]:
    """Return the option --output, as the parameter `output`: a path, "-" for stdout, or None.

    `what` and `form` describe the output in the help text.  If `what` is `printed` anyway,
    `output` is None for stdout too.  With `or_folder` it may be a folder, and is not checked.
    """
    suffix = f" as {form}" if form else ""
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=_OutputPath(or_folder=or_folder),
        callback=_not_stdout if printed else None,
        help=f"Write {what} to FILE{suffix}; - is stdout.",
    )


#: A form of a report, and its file; None for stdout.
Form = tuple[str, "pathlib.Path | None"]


def common_options(function: F) -> F:
    """Add the options of every command: --json, as `as_json`, and --verbose."""
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Write one JSON document to stdout."
    )
    return _decorated(function, as_json, verbose_option)


def _form(text: str) -> tuple[str, pathlib.Path | None]:
    """Return the form of a gate's report and its file, from "junit=results.xml".

    The file is None for stdout.
    """
    form, equals, file = text.partition("=")
    if form not in FORMATS:
        from olympus_cli.text.nearest import did_you_mean  # not for every command's help

        hint = did_you_mean(form, FORMATS, "forms are")
        raise click.BadParameter(f"no form of a report is named {form!r}; {hint}")
    if equals and not file:
        raise click.BadParameter(f"{text!r} has no file after '='")
    return form, None if file in ("", *STDOUT) else FilePath().convert(file, None, None)


def gate_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the common options of a gate, a command that passes or fails.

    They are --output and --json, as one parameter `outputs`, and --verbose.  --json is the same as
    `--output json`.
    """

    @functools.wraps(function)
    def gather(*args: Any, forms: tuple[Form, ...], **rest: Any) -> Any:
        from olympus_cli.gate_reports.outputs import Outputs  # not for every command's help

        with Outputs(click.get_current_context().command.name or "", forms) as outputs:
            return function(*args, outputs=outputs, **rest)

    return form_options(gather)


def form_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `gate_options`, with the requested forms as the parameter `forms`."""

    @functools.wraps(function)
    def gather(*args: Any, forms: tuple[Form, ...], as_json: bool, **rest: Any) -> Any:
        requested = (*forms, ("json", None)) if as_json else forms
        return function(*args, forms=requested, **rest)

    form = click.option(
        "--output",
        "forms",
        metavar="FORM[=FILE]",
        type=_form,
        multiple=True,
        help=f"Write the report as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, "
        "to stdout or to FILE; may be repeated.",
    )
    return form(common_options(gather))


device_config_option = click.option(
    "--device-config",
    metavar="FILE",
    type=FilePath(),
    help="Add the devices that FILE defines, in TOML tables [device.NAME].",
)


def backend_options(function: F) -> F:
    """Add the options that override the device of the target.

    The parameters are `backend`, `device`, `topology` and `device_config`, a file that defines
    devices.
    """
    return _decorated(
        function,
        click.option(
            "--backend",
            metavar="NAME",
            help="Use this backend: cpu, gpu or tpu.",
        ),
        click.option(
            "--device",
            metavar="NAME",
            help="Use this GPU or TPU, such as h200 or v6e, or several, such as 8xh200 or v6e:4x4.",
        ),
        click.option(
            "--topology",
            metavar="SIZES",
            help="Use this many hosts, each with this many GPUs, such as 2x8, or this many TPU "
            "chips along each axis, such as 2x2x4.",
        ),
        device_config_option,
    )


repeats_option = click.option(
    "--repeats",
    type=click.Choice(REPEATS),
    help="Compile repeated blocks of the program once: where it saves time (auto), or never (off).",
)


linalg_option = click.option(
    "--linalg",
    type=click.Choice(LINALG),
    help="Call LAPACK on the CPU for decompositions of matrices (auto), or never (portable).",
)


as_is_option = click.option(
    "--as-is",
    is_flag=True,
    help="Compile the program of a file unchanged, without simplification and outlining.",
)


def stage_settings(
    optimize: str | None, repeats: str | None, linalg: str | None, as_is: bool
) -> dict[str, Any]:
    """Return the options that are set, by the names of the fields that they override."""
    options = {"optimize": optimize, "repeats": repeats, "linalg": linalg, "as_is": as_is or None}
    return {name: value for name, value in options.items() if value is not None}


def stage_options(function: F) -> F:
    """Add --optimize, --repeats, --linalg and --as-is, which control how programs are compiled."""
    optimize = click.option(
        "--optimize",
        type=click.Choice(OPTIMIZE),
        help="Compile for a fast program (default), or in a short time (fast-build).",
    )
    return _decorated(function, optimize, repeats_option, linalg_option, as_is_option)


trips_option = click.option(
    "--trips",
    "trips",
    metavar="FILE:LINE=N",
    multiple=True,
    help="Set the trip count of the loop at a source line, if the program does not determine it; "
    "may be repeated.",
)


def _weights(text: str) -> str:
    """Return the form of an ONNX model's weights, or the absolute path of a .safetensors file."""
    if text in WEIGHTS:
        return text
    if not text.endswith(".safetensors"):
        forms = ", ".join(map(repr, WEIGHTS))
        raise click.BadParameter(f"{text!r:.80} is not one of {forms} or a FILE.safetensors")
    return str(FilePath().convert(text, None, None))


#: The commands that call the program, and so read the values of arguments.
_CALLING = ("run", "bench", "verify", "profile")


def _check_weights(weights: str | None) -> None:
    """Raise UsageError for a file of weights on a command that reads no values of arguments."""
    name = click.get_current_context().command.name
    if weights not in (None, *WEIGHTS) and name not in _CALLING:
        from olympus.errors import UsageError  # not for every command's help

        raise UsageError(
            f"--weights FILE is for {', '.join(_CALLING[:-1])} and {_CALLING[-1]}: {name} reads no "
            "values of arguments"
        )


#: The decorators of `request_options`.
_REQUEST = (
    click.option(
        "--shapes",
        metavar="SHAPES",
        help='Give the shapes of arguments: "f32[8,128], i32[]", "x=f32[8]", "p={w=f32[3,4]}"; '
        'or free sizes of an ONNX model: "batch=8".',
    ),
    click.option(
        "--static",
        "statics",
        metavar="NAME=VALUE",
        multiple=True,
        help="Give a static argument as a TOML value: train=false, n=3, mode='\"fast\"'; "
        "may be repeated.",
    ),
    click.option(
        "--weights",
        type=_weights,
        metavar="FORM|FILE",
        help="Make the weights of an ONNX model constants of the program (default), or arguments; "
        "or read the values of arguments from FILE.safetensors.",
    ),
    click.option(
        "--constraint",
        "constraints",
        metavar="TEXT",
        multiple=True,
        help='Constrain symbolic sizes, such as "b % 8 == 0"; may be repeated.',
    ),
    click.option(
        "--at",
        "at",
        metavar="NAME=N",
        multiple=True,
        help="Give a symbolic size this value; may be repeated.",
    ),
    project_option,
)


def request_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `_REQUEST`, such as --shapes and --project, as one parameter `request`.

    The request also gets `text`, `backend`, `device`, `topology`, `device_config`, `optimize`,
    `repeats`, `linalg`, `as_is` and `trips`, if the command has them.
    """

    @functools.wraps(function)
    def gather(
        *args: Any,
        shapes: str | None,
        statics: tuple[str, ...],
        weights: str | None,
        project: str | None,
        text: str = "",
        backend: str | None = None,
        device: str | None = None,
        optimize: str | None = None,
        repeats: str | None = None,
        linalg: str | None = None,
        as_is: bool = False,
        trips: tuple[str, ...] = (),
        device_config: pathlib.Path | None = None,
        topology: str | None = None,
        constraints: tuple[str, ...] = (),
        at: tuple[str, ...] = (),
        **rest: Any,
    ) -> Any:
        # not for every command's help
        from olympus_cli.spec.fixed_sizes import parse_sizes
        from olympus_cli.spec.resolve import Request

        _check_weights(weights)

        settings = stage_settings(optimize, repeats, linalg, as_is)
        over = backend, device, settings, trips, device_config, topology
        sizes = parse_sizes(at)
        request = Request(text, shapes, statics, project, *over, weights, constraints, sizes)
        return function(*args, request=request, **rest)

    return _decorated(gather, *_REQUEST)


def entry_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument ENTRY|TARGET and its options, as one parameter `request`."""
    return click.argument("text", metavar="ENTRY|TARGET")(request_options(function))


def program_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `entry_options`, for a command that also takes a built FILE.olympus."""
    argument = click.argument("text", metavar="ENTRY|TARGET|FILE.olympus")
    return argument(request_options(function))
