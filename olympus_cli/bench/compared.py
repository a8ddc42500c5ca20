"""What became of a comparison: a table, sentences, and the cases of a gate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from olympus_cli.bench.comparing import Compared, Judged
from olympus_cli.bench.model import TEXT, metric_name
from olympus_cli.bench.verdict import MetricVerdict
from olympus_cli.reports.gates import Case, Word

__all__ = ["compared_cases", "compared_notes", "compared_table", "worse_lines"]

_COLUMNS = ("metric", "before", "now", "ratio", "interval", "verdict", "can fail")
_WORDS: dict[str, Word] = {
    "better": "passed",
    "no change": "passed",
    "inconclusive": "inconclusive",
}


def compared_table(found: Compared) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A row for each metric that both sides have."""
    how = "in turns" if found.paired else "stored"
    title = f"{found.target} against {found.label}, {how}: means over the processes"
    return title, _COLUMNS, tuple(map(_row, found.judged))


def _row(judged: Judged) -> tuple[str, ...]:
    verdict = judged.verdict
    return (
        metric_name(judged.metric),
        _figure(judged.before, judged.unit),
        _figure(judged.now, judged.unit),
        "-" if verdict.ratio is None else f"{verdict.ratio:.3f}",
        _interval(verdict),
        verdict.word,
        "yes" if judged.gate else "no",
    )


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else TEXT[unit](value)


def _interval(verdict: MetricVerdict) -> str:
    if verdict.low is None or verdict.high is None:
        return "-"
    return f"{verdict.low:.3f} .. {verdict.high:.3f}"


def compared_notes(found: Compared) -> Iterator[str]:
    """What a reader should know of the two sides, and why a verdict is what it is."""
    yield from found.notes
    names: dict[str, list[str]] = {}  # most reasons are those of several metrics
    for each in found.judged:
        if each.gate and each.verdict.reason:
            told = f"{each.verdict.word}: {each.verdict.reason}"
            names.setdefault(told, []).append(metric_name(each.metric))
    for told, metrics in names.items():
        yield f"{' and '.join(metrics)} {'is' if len(metrics) == 1 else 'are'} {told}"


def worse_lines(found: Compared) -> Iterator[str]:
    """What fails the gate, a sentence for each metric."""
    for each in found.worse:
        yield f"target {found.target!r}: {_worse(each, found.label)}"


def _worse(judged: Judged, label: str) -> str:
    verdict = judged.verdict
    before, now = (_figure(each, judged.unit) for each in (judged.before, judged.now))
    return (
        f"{metric_name(judged.metric)} is worse than {label}: {now}, and it was {before}; "
        f"ratio {verdict.ratio:.3f}, {_confidence(verdict.confidence)} interval "
        f"{_interval(verdict)}, threshold {_percent(verdict.threshold)}"
    )


def _confidence(share: float) -> str:
    """A confidence, with two digits of what it lacks to 100%.

    >>> _confidence(0.95), _confidence(1 - 0.05 / 3), _confidence(1 - 0.05 / 600)
    ('95%', '98.3%', '99.9917%')
    """
    digits = max(0, 1 - math.floor(math.log10(100 * (1 - share))))
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def compared_cases(found: Compared) -> Iterator[Case]:
    """A case for each metric; what cannot fail is skipped, with its verdict in the figures."""
    worse = {each.metric: _worse(each, found.label) for each in found.worse}
    figures = found.document()["metrics"]
    for each in found.judged:
        word: Word = "failed" if each.metric in worse else "skipped"
        if each.gate and each.metric not in worse:
            word = _WORDS.get(each.verdict.word, "passed")  # "worse" of processors' time alone
        message = worse.get(each.metric, each.verdict.reason)
        yield Case(found.target, "bench", each.metric, word, message, figures=figures[each.metric])
