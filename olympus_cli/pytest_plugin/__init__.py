"""The pytest plugin that is installed with OLYMPUS, documented in docs/how-to/ci.md.

    pytest --olympus              the targets of olympus.toml are tests: budgets and golden programs
    pytest --olympus-verify       tests of the numerical results of the targets
    def test_small(olympus): ...  a fixture that lowers, compiles and checks functions
    @pytest.mark.olympus_budget(flops="2 GFLOP")   the limits of that fixture's programs

Every run of pytest loads the plugin.  Therefore it imports large modules only when they are used.
It imports the modules of OLYMPUS in the same way as any other program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pytest

from olympus_cli.text.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType

    from olympus_cli.pytest_plugin.programs import Programs

_FILE = "olympus.toml"
_PYPROJECT = "pyproject.toml"
_MARKER = "olympus_budget"


class _Plain:
    """A finder of the modules of OLYMPUS on the path, as in Python without pytest.

    pytest handles all packages of a distribution that has a plugin as test code: it recompiles each
    module to rewrite its assertions, and adds names such as `@py_builtins` to it.  It has no option
    to exclude a package, so this finder comes before pytest's.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of OLYMPUS; None for any other, left to the next finder."""
        if name.partition(".")[0] not in PACKAGES:
            return None
        return PathFinder.find_spec(name, path, target)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Import OLYMPUS without pytest's rewriting from now on, before any file of the user."""
    finder = _Plain()
    sys.meta_path.insert(0, finder)
    early_config.add_cleanup(lambda: sys.meta_path.remove(finder))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("olympus", "array programs built by olympus")
    group.addoption(
        "--olympus",
        action="store_true",
        help="collect the targets of olympus.toml: check their budgets and golden programs",
    )
    group.addoption(
        "--olympus-verify",
        action="store_true",
        help="collect the targets of olympus.toml: verify their numerical results",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and add the file of the root's project to the files to collect."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(flops=..., peak_memory=..., forbid=[...]): the budget of each program of the "
        "fixture `olympus` in this test, with the keys of a [budget] of olympus.toml",
    )
    if not _collects_targets(config) or _selects_tests(config):
        return
    file = _project_in(config.rootpath)
    folders = [config.invocation_params.dir / arg for arg in config.args]
    if file is not None and not any(file.is_relative_to(folder) for folder in folders):
        config.args.append(str(file))


def _project_in(folder: Path) -> Path | None:
    """Return the regular file of the project in a folder; None if it has none."""
    from olympus_cli.spec.project_file import project_in

    file = project_in(folder)
    return file if file is not None and file.is_file() else None


def _selects_tests(config: pytest.Config) -> bool:
    """Return True if the arguments are single tests or name the file of a project.

    The root's file is not added then.
    """
    paths = [arg.partition("::") for arg in config.args]
    names_project = any(PurePath(path).name in (_FILE, _PYPROJECT) for path, _, _ in paths)
    return names_project or all(test for _, _, test in paths)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a failing test if the options select targets and no olympus.toml was collected."""
    if not _collects_targets(config) or _selects_tests(config):
        return
    from olympus_cli.pytest_plugin.targets import ProjectFile, target_not_judged

    if not any(item.getparent(ProjectFile) for item in items) and not session.testsfailed:
        items.append(
            target_not_judged(session, f"no {_FILE} is among the tests or in {config.rootpath}")
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of the file of a project, if the options select targets."""
    if file_path.name not in (_FILE, _PYPROJECT) or not _collects_targets(parent.config):
        return None
    if file_path.name == _PYPROJECT and _project_in(file_path.parent) != file_path:
        return None
    from olympus_cli.pytest_plugin.targets import ProjectFile

    collector: pytest.Collector = ProjectFile.from_parent(parent, path=file_path)
    return collector


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Report the targets that no test checks, as `olympus check` does."""
    if lines := _unjudged_lines(config):
        terminalreporter.section("olympus")
        for line in lines:
            terminalreporter.line(f"note: {line}")


def _unjudged_lines(config: pytest.Config) -> list[str]:
    """Return the notes on targets without a budget; none if all arguments are single tests."""
    if not config.getoption("olympus") or all("::" in arg for arg in config.args):
        return []
    from olympus_cli.pytest_plugin.targets import unjudged_lines

    return unjudged_lines(config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of pytest-xdist, send the unchecked targets to the main process."""
    if hasattr(session.config, "workeroutput") and session.config.getoption("olympus"):
        from olympus_cli.pytest_plugin.targets import UNJUDGED

        session.config.workeroutput[_FILE] = session.config.stash.get(UNJUDGED, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the unchecked targets that a worker of pytest-xdist sent."""
    if path := getattr(node, "workeroutput", {}).get(_FILE):
        from olympus_cli.pytest_plugin.targets import UNJUDGED

        node.config.stash.setdefault(UNJUDGED, {}).update(path)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test with a budget that would check no program; other tests are not affected.

    The test has the marker without the fixture, or a marker without limits or with an unnamed one.
    """
    markers = list(item.iter_markers(_MARKER))
    if markers and "olympus" not in getattr(item, "fixturenames", ()):
        pytest.fail(
            f"{item.nodeid} has the marker {_MARKER}, which is for programs of the fixture "
            "`olympus`, and does not use the fixture",
            pytrace=False,
        )
    if any(not marker.args and not marker.kwargs for marker in markers):
        pytest.fail(
            f"{item.nodeid}: {_MARKER} needs a limit, such as flops='2 GFLOP'",
            pytrace=False,
        )
    if unnamed := [value for marker in markers for value in marker.args]:
        pytest.fail(
            f"{item.nodeid}: {_MARKER} takes limits by name, such as flops='2 GFLOP'; "
            f"got {', '.join(map(repr, unnamed))} without a name",
            pytrace=False,
        )


def _collects_targets(config: pytest.Config) -> bool:
    return bool(config.getoption("olympus") or config.getoption("olympus_verify"))


@pytest.fixture
def olympus(request: pytest.FixtureRequest) -> Iterator[Programs]:
    """Lower, compile and check functions: `olympus.check(f, x, flops="2 GFLOP")`.

    In a test with the marker `olympus_budget`, each program is checked against that budget when it
    is lowered or compiled.
    """
    from olympus_cli.pytest_plugin.programs import Programs

    markers = [dict(marker.kwargs) for marker in request.node.iter_markers(_MARKER)]
    limits = {key: value for keywords in reversed(markers) for key, value in keywords.items()}
    programs = Programs(request.config.rootpath, limits)
    yield programs
    if markers and not programs.count:
        pytest.fail(
            f"the test has the marker {_MARKER} and lowers or compiles no program", pytrace=False
        )
