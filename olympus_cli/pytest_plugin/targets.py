"""The targets of an olympus.toml as tests: each runs a gate in a separate process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olympus.errors import GateError, OlympusError
from olympus.files import typed
from olympus_cli.builder.reuse import clearing
from olympus_cli.check.calling import check_target
from olympus_cli.check.verdicts import HAS_RULES, NO_DONATION, broken_message, unjudged_note
from olympus_cli.program.inputs import InputOptions
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path
from olympus_cli.verify.records import VerifiedTarget
from olympus_cli.verify.show import failure_message
from olympus_cli.verify.work import verify_target
from olympus_cli.workers.call import call

#: The targets of each olympus.toml that have neither a budget nor a golden program, by its path.
UNJUDGED = pytest.StashKey[dict[str, list[str]]]()


class ProjectFile(pytest.File):
    """An olympus.toml, with a test of each default target that has a budget or is golden.

    With --olympus-verify, it also has a test of each default target's numerical results.
    """

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests, in the order of the file."""
        try:
            specs = open_project(self.path).select()
        except OlympusError as error:
            raise self.CollectError(console.error_text(error)) from error
        if self.config.getoption("olympus"):
            unjudged = self.config.stash.setdefault(UNJUDGED, {})
            unjudged[str(self.path)] = [s.name for s in specs if not (s.budget or s.golden)]
        if self.config.getoption("olympus") and not any(s.budget or s.golden for s in specs):
            yield target_not_judged(self, f"no target of {self.path.name} {HAS_RULES}")
        for spec in specs:
            if self.config.getoption("olympus") and (spec.budget or spec.golden):
                yield _CheckItem.from_parent(self, name=f"check[{spec.name}]", spec=spec)
            if self.config.getoption("olympus_verify"):
                yield _VerifyItem.from_parent(self, name=f"verify[{spec.name}]", spec=spec)


def unjudged_lines(config: pytest.Config) -> list[str]:
    """Return a note on unchecked targets for each olympus.toml that has any."""
    unjudged = sorted(config.stash.get(UNJUDGED, {}).items())
    several = len(unjudged) > 1
    return [
        (f"{display_path(Path(path))}: " if several else "") + unjudged_note(targets)
        for path, targets in unjudged
        if targets
    ]


def target_not_judged(parent: pytest.Collector, reason: str) -> pytest.Item:
    """Return a test that fails for `reason`: the options select targets, but none has a check."""
    item: pytest.Item = _NotJudgedItem.from_parent(parent, name="olympus", reason=reason)
    return item


class _NotJudgedItem(pytest.Item):
    def __init__(self, *, reason: str, **extra: Any) -> None:
        super().__init__(**extra)
        self._reason = reason

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the place of the test: the file or the folder that was searched."""
        return self.path, None, self.name

    def runtest(self) -> None:
        """Fail, because a gate that checked nothing does not pass."""
        pytest.fail(f"no target is judged: {self._reason}", pytrace=False)


class _TargetItem(pytest.Item):
    def __init__(self, *, spec: TargetSpec, **extra: Any) -> None:
        super().__init__(**extra)
        self.spec = spec

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the place of the test: the file and the test's name."""
        return self.path, None, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Return the failure as the command line shows it; a traceback only if it is unexpected."""
        if isinstance(excinfo.value, OlympusError):
            return console.error_text(excinfo.value)
        return super().repr_failure(excinfo, *args)


class _CheckItem(_TargetItem):
    def runtest(self) -> None:
        """Check the target against its budget and its golden program."""
        with clearing(self.spec):
            checked = check_target(self.spec)
        if violation := broken_message(checked):
            raise GateError(violation)
        if not checked.is_judged:
            pytest.skip(f"target {self.spec.name!r} is not judged: {NO_DONATION}")


class _VerifyItem(_TargetItem):
    def runtest(self) -> None:
        """Compare the target's results with those of its operations one by one."""
        arguments: tuple[object, ...] = (InputOptions().of(self.spec), ("op-by-op",), {}, False)
        with clearing(self.spec):
            data = call(verify_target, self.spec, *arguments, action="verifies", quiet=True)
        verified: VerifiedTarget = typed(data, VerifiedTarget)
        if not verified.passed:
            raise GateError(failure_message(verified))
