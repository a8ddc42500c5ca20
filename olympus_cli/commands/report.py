"""`olympus report`: the report of a program as a page, and a browser to look at it."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from olympus.errors import BackendError, UsageError
from olympus_cli.builder.driver import build
from olympus_cli.builder.folder import check_other_builds, outputs_folder
from olympus_cli.builder.plan import Options
from olympus_cli.builder.show import building, raise_failures
from olympus_cli.options.shared import (
    Command,
    backend_options,
    common_options,
    entry_options,
    is_verbose,
    memory_limit_option,
    output_option,
    stage_options,
    time_limit_option,
)
from olympus_cli.process import interrupts
from olympus_cli.reports.json import PAGE
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.entries import is_entry
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit
from olympus_cli.text.paths import display_path, unwritable
from olympus_cli.workers.executor import Limits

#: The environment variables that name a screen or the user's browser.
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@click.command("report", cls=Command)
@entry_options
@backend_options
@stage_options
@output_option("a copy of the page")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--profile", is_flag=True, help="Run the program, and show the time of a call.")
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    output: Path | str | None,
    opens: bool,
    profile: bool,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The target is built if it is stale. The page is one file, report.html in the folder of the
    build, and needs no network.

    \b
    Examples:
      olympus report forward --open
      olympus report model:forward --shapes "x=f32[8,3]" -o forward.html
    """
    if output == "-" and (as_json or opens):
        raise UsageError("`-o -` cannot be combined with --json or --open")
    spec = request.spec()
    if profile and all(backend.backend != "cpu" for backend in spec.backends):
        raise BackendError(
            f"{spec.name} is for {backend_text(spec.backends[0])}, and only programs for the CPU "
            "can be profiled",
            hint="add --backend cpu to compile it for the CPU",
        )
    with ExitStack() as stack:
        alone = output is not None and is_entry(request.text)  # only the page of an entry is kept
        if not alone:
            folder = outputs_folder(request, spec, f"-o FILE writes only the page of {spec.entry}")
            if spec.outputs is None and output is None:
                check_other_builds(request, spec, folder, "-o FILE writes only the page")
            alone = output is not None and (
                spec.outputs is None or unwritable(folder.parent) is not None
            )
        if alone:
            folder = Path(stack.enter_context(TemporaryDirectory())) / spec.name
        try:
            _build(spec, folder, Limits(time_limit, memory_limit), profile)
        except UsageError as error:
            if output is None and unwritable(folder.parent) is not None:
                error.hint = "--output FILE writes the page only, and nothing in the build folder"
            raise
        page = folder / PAGE
        if output is not None:
            emit(page.read_text(encoding="utf-8"), None if output == "-" else Path(output))
            page = Path(output)
    if output == "-":
        return
    if as_json:
        console.print_json({"target": spec.name, "page": str(page)})
    elif output is None:
        console.data(display_path(page))
    if opens and not _opened(page):
        console.message(f"no browser was found; the page is {page}")


def _build(spec: TargetSpec, folder: Path, limits: Limits, profile: bool) -> None:
    options = Options(
        jobs=1, time_limit=limits.time, memory_limit=limits.memory, page=True, profile=profile
    )
    with interrupts.interrupts_raised(), building([spec.name], jobs=1) as listener:
        outcomes = build({folder.name: spec}, folder.parent, options, listener)
    for warning in outcomes[0].report.warnings if outcomes[0].report else ():
        console.message(f"warning: {warning}")
    raise_failures(outcomes, is_verbose())


def _opened(page: Path) -> bool:
    """Return True if a browser was started; text browsers, which take the terminal, are not."""
    if sys.platform not in ("darwin", "win32") and not any(map(os.environ.get, _SCREENS)):
        return False
    try:
        return webbrowser.open(page.absolute().as_uri())
    except (webbrowser.Error, OSError):
        return False
