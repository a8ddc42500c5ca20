"""Imports of a revision's program: the project's modules come from the checkout of the revision.

`sys.path`, the finders of editable installs and symbolic links name folders of the working tree.
Each is mapped to the same folder of the checkout. A module that still comes from the working tree,
or from an installed copy of the project, is an error.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from olympus.errors import UsageError
from olympus_cli.revisions.git import run_git
from olympus_cli.spec.model import Checkout
from olympus_cli.text.packages import PACKAGES
from olympus_cli.text.paths import display_path

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_OURS = frozenset({*PACKAGES, "__main__", "__mp_main__"})
_SOURCES = "src"  # the usual folder of a project's packages
_INSTALLED = frozenset({"site-packages", "dist-packages"})  # folders of an environment


class _Redirection:
    """A finder that uses the other finders, and then takes the file from the checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Return the spec of a module in the checkout, as the import system requests it.

        Raises:
            ModuleNotFoundError: the project has the module, and the revision does not.
        """
        if name.partition(".")[0] in _OURS:
            return None
        is_left_out = False
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is None:
                continue
            if (redirected := self._redirected(spec)) is not None:
                return redirected
            is_left_out = True
        if is_left_out:  # the finders after this one would find it in the working tree
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

    def _redirected(self, spec: ModuleSpec) -> ModuleSpec | None:
        folders = spec.submodule_search_locations
        moved = None if folders is None else self.places(list(folders))
        if spec.has_location and spec.origin is not None:
            (file,) = self.places([spec.origin]) or (None,)
            if file == spec.origin:
                return spec
            if file is None:
                return None
            return spec_from_file_location(spec.name, file, submodule_search_locations=moved)
        if folders is None or moved == list(folders):
            return spec
        if not moved:
            return None
        namespace = ModuleSpec(spec.name, None, is_package=True)
        namespace.submodule_search_locations = moved
        return namespace

    def places(self, places: Sequence[str]) -> list[str]:
        """Return the places; the project's are in the checkout, or left out if missing there."""
        redirected = (self._place(place) for place in places)
        return [place for place in redirected if place is not None]

    def _place(self, place: str) -> str | None:
        here = place or os.curdir
        moved = self.checkout.moved(here) if os.path.lexists(here) else None
        if moved is None:
            return place
        if moved.exists():
            return str(moved)
        return None if _is_of_project(self.checkout.top, os.path.realpath(here)) else place


def relocate(checkout: Checkout) -> None:
    """Import the project's modules from a checkout in this process, from now on.

    Modules of the working tree that were imported before are removed.
    """
    if checkout in (redirection.checkout for redirection in _installed()):
        return
    redirection = _Redirection(checkout)
    for name, places in [*_modules()]:
        if any(_is_outside(checkout, place) for place in places):
            del sys.modules[name]
    sys.path[:] = redirection.places(sys.path)
    sys.meta_path.insert(0, redirection)


def relocated(places: Sequence[str]) -> list[str]:
    """Return entries of `sys.path` as this process has them after `relocate`."""
    redirected = list(places)
    for redirection in _installed():
        redirected = redirection.places(redirected)
    return redirected


def check_imports(checkout: Checkout) -> None:
    """Check that each imported module of the project is from the checkout.

    Raises:
        UsageError: a module is from the working tree or from an installed copy of the project.
    """
    for name, places in _modules():
        for place in places:
            if _is_outside(checkout, place):
                raise UsageError(
                    f"module {name!r} of the project is imported from "
                    f"{display_path(Path(place))} in the "
                    "working tree, not from the files of the revision",
                    hint="import it by its name, from a folder that is in the repository: "
                    "python-path in [project] of olympus.toml adds one",
                )
            if place in _copies(checkout.top):
                raise UsageError(
                    f"module {name!r} of the project is imported from {place}, an installed copy "
                    "of the project, not from the files of the revision",
                    hint=f"pip install -e {checkout.top} installs the project without a copy",
                )


def check_entry(checkout: Checkout, entry: str, root: Path) -> None:
    """Check that the module of an entry is from the checkout, if the revision has a file for it.

    The other imported modules of its package are checked too. An entry that is a file has no
    package: all imported modules are checked except those of the environment. `root` is the
    project's folder in the checkout. A file for a module is in it, in a folder above, or in the
    `src` of one of these.

    Raises:
        UsageError: such a module is from a file outside the checkout.
    """
    place = entry.rpartition(":")[0]
    is_file = place.endswith(".py") or "/" in place
    package = None if is_file else place.partition(".")[0]
    for name, places in _modules():
        if not places or _is_in(checkout.tree, places[0]):
            continue
        if is_file and _is_of_environment(places[0]):
            continue
        if not is_file and name.partition(".")[0] != package:
            continue
        folder = _folder_of(checkout.tree, name, root)
        if folder is not None:
            here = checkout.top / folder.relative_to(checkout.tree)
            raise UsageError(
                f"module {name!r} of the project is imported from {places[0]}, not from the "
                "files of the revision",
                hint=f"PYTHONPATH={display_path(here)} imports it from the repository",
            )


def _is_in(tree: Path, place: str) -> bool:
    """Return True if a file is in a folder by its path, or after resolving symbolic links."""
    return any(Path(path).is_relative_to(tree) for path in (place, os.path.realpath(place)))


def _folder_of(tree: Path, name: str, root: Path) -> Path | None:
    """Return the folder of a checkout that has a file for a module; None if there is none."""
    for above in (root, *root.parents):
        if not above.is_relative_to(tree):
            break
        for folder in (above, above / _SOURCES):
            stem = folder.joinpath(*name.split("."))
            if stem.with_name(f"{stem.name}.py").is_file() or (stem / "__init__.py").is_file():
                return folder
    return None


def _installed() -> list[_Redirection]:
    return [finder for finder in sys.meta_path if isinstance(finder, _Redirection)]


def _modules() -> Iterator[tuple[str, list[str]]]:
    """Yield the imported modules except ours, each with its file and its package folders."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _OURS:
            continue
        places: list[object] = []
        with suppress(Exception):  # a program may put any object there as a module
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        yield name, [place for place in places if isinstance(place, str) and os.path.isabs(place)]


def _is_outside(checkout: Checkout, place: str) -> bool:
    """Return True if a place belongs to the project in the working tree."""
    if checkout.moved(place) is None:
        return False
    return _is_of_project(checkout.top, os.path.realpath(place))


@cache
def _is_of_project(top: Path, place: str) -> bool:
    """Return True if a path of the working tree belongs to the project, not to an environment.

    Files that git ignores do not belong to the project: a revision never has them.
    """
    path = Path(place)
    if _INSTALLED & {*path.relative_to(top).parts} or _is_of_library(path):
        return False
    listed = run_git(
        top,
        *("--literal-pathspecs", "ls-files", "--cached", "--others", "--exclude-standard"),
        *("--", place),
    )
    return bool(listed.stdout)


def _is_of_environment(place: str) -> bool:
    """Return True if a file belongs to Python or to a package installed in an environment."""
    paths = Path(place), Path(os.path.realpath(place))
    return any(_INSTALLED & {*path.parts} or _is_of_library(path) for path in paths)


def _is_of_library(path: Path) -> bool:
    """Return True if a file or folder belongs to the standard library."""
    paths = sysconfig.get_paths()
    library = [os.path.realpath(paths[key]) for key in ("stdlib", "platstdlib")]
    return any(path.is_relative_to(folder) for folder in library)


@cache
def _copies(top: Path) -> frozenset[str]:
    """Return the files of packages that were installed as copies of a folder of the repository."""
    from importlib import metadata  # slow, and only needed for revisions

    files: set[str] = set()
    for distribution in metadata.distributions():
        if _is_copy_of(distribution, top):
            files.update(str(distribution.locate_file(file)) for file in distribution.files or ())
    return frozenset(files)


def _is_copy_of(package: Distribution, top: Path) -> bool:
    """Return True if a package was installed from a folder of the repository (PEP 610)."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        origin = json.loads(package.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable"):
            return False
        url = urlsplit(origin["url"]) if "url" in origin else None
        if url is not None and url.scheme == "file":
            return Path(os.path.realpath(unquote(url.path))).is_relative_to(top)
    return False
