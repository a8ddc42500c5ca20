"""Templates of pages, with all text escaped."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from olympus_cli.text.escaping import visible


def page_environment(package: str) -> Environment:
    """Return the environment for the folder `templates` of a package.

    Text is escaped, and what a browser would obey is made visible; `Markup` is written as it is.

    Example: `page_environment("olympus_cli.diff").get_template("comparison.html")`.
    """
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
