"""The number of examples that hypothesis draws: by day, and by night with `pytest --night`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

DAY_EXAMPLES = 30
NIGHT_EXAMPLES = 600


def examples(by_day: int, **options: Any) -> settings:
    """Return settings for `by_day` examples, and for more of them at night in proportion."""
    factor = settings.default.max_examples / DAY_EXAMPLES
    return settings(max_examples=round(by_day * factor), **options)
