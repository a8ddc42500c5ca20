"""Build the site: `python -m tools.site`.  The extra `docs` has the site generator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.site.stage import ROOT, stage


def main() -> int:
    """Write `build/site/html`; the exit code is that of the strict build."""
    stage(ROOT / "build" / "site" / "pages")
    zensical = Path(sys.executable).with_name("zensical")
    command = [str(zensical), "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
