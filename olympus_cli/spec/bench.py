"""The tables `[bench]` and `[target.NAME.bench]` of olympus.toml: when `bench` fails."""

from __future__ import annotations

import math
from dataclasses import dataclass

from olympus.errors import SpecError
from olympus_cli.spec.section import Section
from olympus_cli.text.metrics import current_name, metric_named
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.units import percentage

#: The metrics that can be gates.
JUDGED = (
    "steady-call",
    "steady-cpu",
    "first-call",
    "load",
    "trace",
    "lower",
    "compile",
    "import",
    "import-program",
    "process-memory",
)
#: The metrics that are gates by default.
GATED = ("steady-call", "steady-cpu")
#: The default of the least relative change that counts.
THRESHOLD = 0.05

_MAX = 100.0  # 10000 %: a program that takes a hundred times as long exceeds any threshold


@dataclass(frozen=True)
class BenchSpec:
    """The conditions for `bench` to fail; a field is None if olympus.toml does not set it.

    `threshold` is the least relative change for the worse: 0.05 is 5 %.  `metrics` are the metrics
    that are gates.
    """

    threshold: float | None = None
    metrics: tuple[str, ...] | None = None

    def under(self, own: BenchSpec) -> BenchSpec:
        """Return these conditions for all targets, overridden by a target's `own`."""
        return BenchSpec(
            self.threshold if own.threshold is None else own.threshold,
            self.metrics if own.metrics is None else own.metrics,
        )


def bench_of(parent: Section) -> BenchSpec:
    """Return the conditions in the table `bench` of `parent`.

    Raises:
        SpecError: an unknown key or metric, or a threshold that is not a share.
    """
    section = parent.table("bench")
    section.only(("threshold", "metrics"))
    return BenchSpec(_threshold(section), _metrics(section))


def _threshold(section: Section) -> float | None:
    if "threshold" not in section.data:
        return None
    try:
        return parse_threshold(section.data["threshold"])
    except SpecError as error:
        section.fail("threshold", str(error), error.hint)


def _metrics(section: Section) -> tuple[str, ...] | None:
    if "metrics" not in section.data:
        return None
    names = tuple(_judged(name) for name in section.texts("metrics"))
    for name in names:
        if name not in JUDGED:
            hint = did_you_mean(name, JUDGED, "metrics are")
            section.fail("metrics", f"has {name!r}, which is not a metric that can fail", hint)
    return tuple(dict.fromkeys(names))


def _judged(name: str) -> str:
    """Return the metric with the current or old name `name`; `name` if it is not in `JUDGED`.

    Old names may have hyphens for underscores.
    """
    metric = metric_named(current_name(name.replace("-", "_")), JUDGED)
    return metric if metric in JUDGED else name


def parse_threshold(value: object) -> float:
    """Return the share in a value of TOML or of an option: a text in per cent, or a number.

    Raises:
        SpecError: it is neither, 0, a number of 1 or more, or 10000 % or more.

    >>> parse_threshold("5%"), parse_threshold(0.1)
    (0.05, 0.1)
    """
    share = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        share = float(value) if 0 < value < 1 else math.nan  # 5 is a mistake for "5%"
    elif isinstance(value, str):
        share = percentage(value)
    if not 0 < share < _MAX:
        raise SpecError(
            f"must be a percentage above 0, or a number between 0 and 1; got {value!r:.80}",
            hint='such as "5%" or 0.05',
        )
    return share
