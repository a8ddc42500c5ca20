"""The frame that all pages share: styles, the script with its digest, and their templates.

Everything is in the one file.  A Content-Security-Policy forbids a page to load anything, and to
run any other script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from olympus_cli.reports.templating import page_environment

_PACKAGE = "olympus_cli.reports.html"
_SCRIPTS = ("page.js", "tables.js", "shell.js")


@dataclass(frozen=True)
class Shell:
    """The style and the script of a page; `digest` is that of the script, in base64."""

    style: Markup
    script: Markup
    digest: str


def asset(name: str) -> str:
    """Return the text of a file of `assets`: of a style, for example."""
    return (files(_PACKAGE) / "assets" / name).read_text(encoding="utf-8").strip()


@cache
def shell(
    styles: Sequence[str] = ("report.css",), scripts: Sequence[str] = _SCRIPTS, licence: str = ""
) -> Shell:
    """The shell of these assets, in their order; the script begins with the text `licence`."""
    style = "\n".join(map(asset, styles))
    script = "\n".join(["(() => {", *filter(None, [licence]), *map(asset, scripts), "})();"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Shell(Markup(style), Markup(script), digest)


def shell_environment(package: str) -> Environment:
    """The environment for the templates of a package, which may extend `shell.html`.

    Example: `shell_environment("olympus_cli.history").get_template("history.html")`.
    """
    environment = page_environment(package)
    environment.loader = ChoiceLoader([PackageLoader(package), PackageLoader(_PACKAGE)])
    return environment
