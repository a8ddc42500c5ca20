"""The options of `olympus build`, as they are on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from olympus_cli.spec.cache import Use


class BuildRequest(NamedTuple):
    """The names and options of a build; `olympus.toml` is not read yet.

    `key` identifies the selected targets and their outputs; it is
    empty if the selection also depends on a revision. `stages` are the options that replace
    settings of the targets, and `use` is the use of stored results.
    """

    names: tuple[str, ...]
    project: str | None
    changed_since: str | None
    key: str
    stages: Mapping[str, Any]
    backend: str | None
    device_config: Path | None
    executor: str
    jobs: int | None
    time_limit: float | None
    memory_limit: int | None
    fail_fast: bool
    page: bool
    force: bool
    frozen: bool
    use: Use | None
    explain: bool
    quiet: bool
    verbose: bool

    @property
    def num_jobs(self) -> int:
        """The number of targets to build at a time."""
        from olympus_cli.workers.pool import default_jobs  # imports the compiler

        return self.jobs or default_jobs()

    def check(self, *, watch: bool, checks: bool) -> None:
        """Check that the names are those of targets, and that options are not contradictory.

        Raises:
            UsageError: they are not.
        """
        from olympus.errors import UsageError  # imports the compiler
        from olympus_cli.builder.farm.address import check_executor
        from olympus_cli.spec.entries import is_entry

        if entry := next((name for name in self.names if is_entry(name)), None):
            raise UsageError(
                f"{entry!r} is an entry, and build takes targets of olympus.toml",
                hint=f"olympus compile {entry} --shapes ... compiles an entry",
            )
        check_executor(self.executor)
        if checks and not watch:
            raise UsageError("--check needs --watch", hint="olympus check checks the targets once")
        if watch and self.frozen:
            raise UsageError("--watch builds, and --frozen builds nothing: use one of them")

    def without_force(self) -> BuildRequest:
        """Return the request for a build of stale targets only."""
        return self._replace(force=False, use="read" if self.use == "write" else self.use)
