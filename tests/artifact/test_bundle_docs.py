"""The example in the documentation runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.artifact.bundles import ROOT, python

EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
SAID = re.compile(r"^(\S.*\S) {3}# (.*)$", re.MULTILINE)


def test_the_example_runs(tmp_path: Path) -> None:
    save, load = EXAMPLE.findall((ROOT / "docs" / "reference" / "bundle.md").read_text())
    python(save, tmp_path)
    checked, count = SAID.subn(r"assert (\1) == (\2)", load)
    assert count == 2
    python(checked, tmp_path)
