"""Copy `docs/` to a folder in the form that the site generator reads."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools.site import api

__all__ = ["ROOT", "stage"]

ROOT = Path(__file__).parents[2]
_DOCS = ROOT / "docs"
#: The folder of the site with the files of the repository that pages link to.
_FILES = "files"

_FENCE = re.compile(r"^( *```)(\w+) +(\S.*)$", re.MULTILINE)
_SESSION = re.compile(r"^( *```)python\n(?= *>>> )", re.MULTILINE)
_ROW = re.compile(r"^ *\|.*$", re.MULTILINE)
_SPAN = re.compile(r"`[^`]*`")
_MARKER = re.compile(r"^<!-- .* -->$", re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")


def stage(folder: Path) -> None:
    """Write the pages of the site, those of the public packages too, to an empty `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(_DOCS.rglob("*")):
        place = folder / source.relative_to(_DOCS)
        if source.suffix == ".md":
            _write(place, _page(source, place, folder))
        elif source.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)
    for name in api.packages():
        _write(folder / api.FOLDER / f"{name}.md", api.page(name))


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def _page(source: Path, place: Path, folder: Path) -> str:
    """A page in the dialect of the site generator."""
    text = source.read_text(encoding="utf-8")
    text = _FENCE.sub(_fence, _MARKER.sub("", text))
    text = _ROW.sub(_row, _SESSION.sub(r"\1pycon\n", text))
    return _LINK.sub(lambda found: _link(found, source, place, folder), text)


def _fence(found: re.Match[str]) -> str:
    """The first line of a block: the file of an excerpt is its title; other notes are for tests."""
    mark, language, note = found.groups()
    return f'{mark}{language} title="{note}"' if "." in note else f"{mark}{language}"


def _row(found: re.Match[str]) -> str:
    """A row of a table: here a bar in a code span needs no backslash, and would show it."""
    return _SPAN.sub(lambda span: span.group().replace(r"\|", "|"), found.group())


def _link(found: re.Match[str], source: Path, place: Path, folder: Path) -> str:
    """A link; one to a file outside of `docs/` leads to a copy of that file in the site."""
    before, target, after = found.groups()
    there = (source.parent / target).resolve()
    if there.is_relative_to(_DOCS) or not there.is_file():
        return found.group()
    copy = folder / _FILES / there.relative_to(ROOT)
    if copy.suffix == ".md":  # a page would be read as one of the site, with links of its own
        copy = copy.with_suffix(".md.txt")
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(there, copy)
    return (
        f"{before}{os.path.relpath(copy, place.parent)}{after.partition(')')[0].partition('#')[0]})"
    )
