"""Git, as it is asked about the repository of a project, without what is configured to run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

__all__ = ["run_git"]


def run_git(
    folder: Path,
    *arguments: str,
    time_limit: float | None = None,
    errors: str = "backslashreplace",
) -> subprocess.CompletedProcess[str]:
    """Run git, without what a hook that calls us has set for it, and without running hooks.

    `errors` is for what git prints that is not UTF-8: "surrogateescape" where that are paths.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: it took longer than `time_limit` seconds, and was ended.

    Example: `run_git(folder, "rev-parse", "HEAD").stdout`.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    settings = (f"core.hooksPath={os.devnull}", "core.fsmonitor=false")  # both name programs
    options = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        env={**environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,  # Ctrl-C is for us, who clear up
        timeout=time_limit,
    )
    printed = (each.decode("utf-8", errors) for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *printed)
