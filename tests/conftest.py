"""What all tests share: golden files, and the switch that renews them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

# The machine's load decides how long an example takes: deadlines would be timed assertions.
hypothesis.settings.register_profile("olympus", deadline=None, derandomize=True)
hypothesis.settings.load_profile("olympus")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is what tests/golden/<name> holds."""
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden {name}: run pytest with --update-golden, and read it"
        assert text == path.read_text(), f"{name} differs; --update-golden renews it"

    return check
