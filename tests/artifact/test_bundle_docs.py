"""The example in the documentation runs and prints the documented output."""

from __future__ import annotations

import re
from pathlib import Path

from tests.artifact.bundles import ROOT, python

EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
OUTPUT = re.compile(r"^(\S.*\S) {3}# (.*)$", re.MULTILINE)


def test_the_example_prints_its_documented_output(tmp_path: Path) -> None:
    save, load = EXAMPLE.findall((ROOT / "docs" / "reference" / "bundle.md").read_text())
    python(save, tmp_path)
    checked, count = OUTPUT.subn(r"assert (\1) == (\2)", load)
    assert count == 2
    python(checked, tmp_path)
