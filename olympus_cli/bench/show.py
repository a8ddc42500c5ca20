"""Measurements as tables for people, and as one document for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from olympus_cli.bench.compare.attempts import Attempt
from olympus_cli.bench.compare.comparing import Compared, Judged
from olympus_cli.bench.compare.verdict import MetricVerdict
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.bench.statistics import CONFIDENCE, Summary, summarize
from olympus_cli.bench.sweep import Sweep, sweeps_of
from olympus_cli.faults.failure import Failure
from olympus_cli.gate_reports.failures import FailedTarget, failure_data
from olympus_cli.gate_reports.gate_report import (
    Case,
    GateReport,
    Remark,
    Table,
    Word,
    case_of_error,
)
from olympus_cli.text.units import byte_size, count, duration, quantity

_COLUMNS = ("metric", "median", f"{CONFIDENCE:.0%} interval", "quartiles", "samples")
_BOUNDS = {"compute": "the arithmetic", "memory": "the memory"}


def measured_tables(measured: Measured) -> tuple[Table, Table]:
    """Return the tables of the metrics of a target, and of the other facts."""
    title = f"{measured.target}  ({measured.entry}, {measured.backend})"
    processes = _number(measured.facts, "processes") or 1
    if processes > 1:  # a comparison shows the means of processes
        title += f": all samples of {processes:g} processes"
    rows = tuple((name, *_cells(metric)) for name, metric in measured.metrics.items())
    return (title, _COLUMNS, rows), ("", ("how", "value"), fact_rows(measured))


def _cells(metric: Metric) -> tuple[str, ...]:
    summary, text = summarize(metric.samples), partial(quantity, unit=metric.unit)
    number = str(summary.count) if metric.batch == 1 else f"{summary.count} x {metric.batch}"
    if summary.count == 1:
        return (text(summary.median), "-", "-", number)
    quartiles = f"{text(summary.q1)} .. {text(summary.q3)}"
    return (text(summary.median), _interval(summary, text), quartiles, number)


def _interval(summary: Summary, text: Callable[[float], str]) -> str:
    if summary.low is None or summary.high is None:
        return "-"
    return f"{text(summary.low)} .. {text(summary.high)}"


def fact_rows(measured: Measured) -> tuple[tuple[str, str], ...]:
    """Return the facts of the program besides its metrics, and those of the measurement."""
    facts = measured.facts
    rows = [("cost", f"{count(_number(facts, 'flops'))} flops, {_moved(facts)}")]
    if facts.get("roofline_seconds") is not None:
        rows.append(("roofline", _roofline(facts)))
    if facts.get("estimate_seconds") is not None:
        rows.append(("estimate", f"{duration(_number(facts, 'estimate_seconds'))} a call"))
    if facts.get("peaks_assumption") is not None and len(rows) > 1:
        rows.append(("peaks", str(facts["peaks_assumption"])))
    if facts.get("peak_bytes") is not None:
        rows.append(("peak memory", f"{byte_size(_number(facts, 'peak_bytes'))} on each device"))
    if "warm_up_calls" in facts:
        rows += [
            ("warm-up", _warm_up(facts)),
            ("inputs", _inputs(facts)),
            ("ended by", str(facts.get("stopped_by"))),
        ]
    return (
        *rows,
        ("machine", _machine(measured)),
        ("load", _load(measured)),
    )


def _number(facts: Any, key: str) -> float | None:
    value = facts.get(key)
    return value if isinstance(value, int | float) else None


def _moved(facts: Any) -> str:
    return f"{byte_size(_number(facts, 'io_bytes'))} of arguments, results and constants"


def _roofline(facts: Any) -> str:
    bound = _BOUNDS.get(str(facts.get("roofline_bound")), "")
    share = _number(facts, "roofline_share")
    peaks = facts.get("peaks")
    of = {
        "calibrated": "the calibrated peaks of this CPU",
        "usual": "usual peaks, as this CPU is not calibrated",
    }.get(str(peaks), f"the peaks of {peaks}")
    part = "" if share is None else f", and the call reaches {share:.0%} of it"
    if share is not None and share > 1:
        part += _above(facts)
    return f"{duration(_number(facts, 'roofline_seconds'))} by {bound}{part} ({of})"


def _above(facts: Any) -> str:
    """Return the reason why a call can take less than the roofline's time."""
    if facts.get("roofline_bound") == "memory":
        return ", as its arguments are in a cache"
    return {
        "calibrated": ": the peaks were perhaps measured on a busy machine, and "
        "olympus devices --calibrate measures them again",
        "usual": ": this CPU has higher peaks",
    }.get(str(facts.get("peaks")), "")


def _warm_up(facts: Any) -> str:
    calls = _number(facts, "warm_up_calls") or 0
    end = {"yes": "then steady", "no": "and not steady yet"}.get(
        str(facts.get("warm_up_steady")), "too few to judge whether it is steady"
    )
    return f"{calls:g} calls in {duration(_number(facts, 'warm_up_seconds'))}, {end}"


def _inputs(facts: Any) -> str:
    sets = _number(facts, "input_sets") or 1
    if not _number(facts, "input_bytes"):
        return "none"
    turns = " in turns" if sets > 1 else ""
    text = f"{sets:g} of {byte_size(_number(facts, 'input_bytes'))}{turns}"
    donated = {
        "fed back": "; the results take the places of donated arguments",
        "copied": "; donated arguments are copied before each call",
    }
    return text + donated.get(str(facts.get("donated")), "")


def _machine(measured: Measured) -> str:
    machine = measured.machine
    limit = _number(measured.conditions, "cpu_limit")
    most = "" if limit is None else f", limited to {limit:g}"
    device = "" if machine.get("device") == "cpu" else f", {machine.get('device')}"
    return (
        f"{machine.get('cpu')}, {machine.get('threads')} threads{most}{device}, {machine.get('os')}"
    )


def _load(measured: Measured) -> str:
    conditions = measured.conditions
    load, hertz = _number(conditions, "load"), _number(conditions, "clock_hz")
    words = ["unknown" if load is None else f"{load:g} before"]
    if (after := _number(conditions, "load_after")) is not None:
        words.append(f"{after:g} after")
    if (others := _number(conditions, "others")) is not None:
        words.append(f"other programs took {others:.2f} processors")
    if hertz is not None:
        words.append(f"clock {hertz / 1e9:.2f} GHz")
    if conditions.get("governor"):
        words.append(f"governor {conditions['governor']}")
    return ", ".join(words)


def overview_table(attempts: Sequence[Attempt]) -> Table:
    """Return a table with a row for each target, including failed ones."""
    measured = [attempt.measured for attempt in attempts if attempt.measured is not None]
    names = ("steady-call", "first-call", "compile", "load", "process-memory")
    shown = [name for name in names if any(name in attempt.metrics for attempt in measured)]
    rows = tuple(
        (attempt.name, *(_median(attempt.measured, name) for name in shown), _fate(attempt.failure))
        for attempt in attempts
    )
    return ("all targets", ("target", *shown, "outcome"), rows)


def _median(measured: Measured | None, name: str) -> str:
    metric = measured.metrics.get(name) if measured is not None else None
    return "-" if metric is None else quantity(summarize(metric.samples).median, metric.unit)


def _fate(failure: Failure | None) -> str:
    return "measured" if failure is None else f"failed: {failure.message.splitlines()[0]}"


def sweep_table(sweep: Sweep) -> Table:
    """Return the table of a sweep."""
    return sweep.title, sweep.columns, sweep.rows


def attempt_tables(attempts: Sequence[Attempt]) -> list[Table]:
    """Return the tables of each target, in the order of measurement."""
    tables: list[Table] = []
    for attempt in attempts:
        if attempt.measured is not None:
            tables += measured_tables(attempt.measured)
        if attempt.compared is not None:
            tables.append(compared_table(attempt.compared))
    return tables


def bench_report(attempts: Sequence[Attempt]) -> GateReport:
    """Return the report: a case for each target, and the document of `--json`."""
    measured = [attempt.measured for attempt in attempts if attempt.measured is not None]
    comparisons = [attempt.compared for attempt in attempts if attempt.compared is not None]
    sweeps = sweeps_of(measured)
    tables = attempt_tables(attempts)
    if len(attempts) > 1:
        tables.append(overview_table(attempts))
    tables += map(sweep_table, sweeps)
    return GateReport(
        "bench",
        (
            *map(_case, attempts),
            *(case for compared in comparisons for case in compared_cases(compared)),
        ),
        tuple(tables),
        {
            "targets": [program.document() for program in measured],
            "comparisons": [compared.document() for compared in comparisons],
            "sweeps": [sweep.to_data() for sweep in sweeps],
            "failed": failure_data(
                [
                    FailedTarget(attempt.name, attempt.failure)
                    for attempt in attempts
                    if attempt.failure is not None
                ]
            ),
        },
        notes=tuple(
            f"{compared.target}: {note}"
            for compared in comparisons
            for note in compared_notes(compared)
        ),
        warnings=tuple(
            Remark(f"{program.target}: {note}") for program in measured for note in program.notes
        ),
    )


def _case(attempt: Attempt) -> Case:
    if attempt.failure is not None:
        case = case_of_error(attempt.name, "bench", attempt.failure.error())
        return replace(case, name="measured")
    metrics = attempt.measured.metrics if attempt.measured is not None else {}
    figures = {name: metric.to_data() for name, metric in metrics.items()}
    return Case(attempt.name, "bench", "measured", "passed", figures=figures)


_WORDS: dict[str, Word] = {
    "better": "passed",
    "no change": "passed",
    "inconclusive": "inconclusive",
}


def compared_table(compared: Compared) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a table with a row for each metric that both sides have."""
    pairing = "in turns" if compared.paired else "stored"
    title = f"{compared.target} against {compared.label}, {pairing}: means over the processes"
    columns = ("metric", *compared.headings, "ratio", "interval", "verdict", "can fail")
    return title, columns, tuple(map(_row, compared.judged))


def _row(judged: Judged) -> tuple[str, ...]:
    verdict = judged.verdict
    return (
        judged.metric,
        _figure(judged.before, judged.unit),
        _figure(judged.now, judged.unit),
        "-" if verdict.ratio is None else f"{verdict.ratio:.3f}",
        _ratio_interval(verdict),
        verdict.word,
        "yes" if judged.gate else "no",
    )


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else quantity(value, unit)


def _ratio_interval(verdict: MetricVerdict) -> str:
    if verdict.low is None or verdict.high is None:
        return "-"
    return f"{verdict.low:.3f} .. {verdict.high:.3f}"


def compared_notes(compared: Compared) -> Iterator[str]:
    """Yield notes on the two sides, and the reasons of verdicts."""
    yield from compared.notes
    names: dict[str, list[str]] = {}  # several metrics often share a reason
    for judged in compared.judged:
        if judged.gate and judged.verdict.reason:
            sentence = f"{judged.verdict.word}: {judged.verdict.reason}"
            names.setdefault(sentence, []).append(judged.metric)
    for sentence, metrics in names.items():
        yield f"{' and '.join(metrics)} {'is' if len(metrics) == 1 else 'are'} {sentence}"


def worse_lines(compared: Compared) -> Iterator[str]:
    """Yield a sentence for each metric that fails the gate."""
    for judged in compared.worse:
        yield f"target {compared.target!r}: {_worse(judged, compared.label)}"


def _worse(judged: Judged, label: str) -> str:
    verdict = judged.verdict
    before, now = (_figure(figure, judged.unit) for figure in (judged.before, judged.now))
    return (
        f"{judged.metric} is worse than {label}: {now}, and it was {before}; "
        f"ratio {verdict.ratio:.3f}, {_confidence(verdict.confidence)} interval "
        f"{_ratio_interval(verdict)}, threshold {_percent(verdict.threshold)}"
    )


def _confidence(share: float) -> str:
    """Return a confidence as text, with two digits of its difference from 100%.

    >>> _confidence(0.95), _confidence(1 - 0.05 / 3), _confidence(1 - 0.05 / 600)
    ('95%', '98.3%', '99.9917%')
    """
    digits = max(0, 1 - math.floor(math.log10(100 * (1 - share))))
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + "%"


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def compared_cases(compared: Compared) -> Iterator[Case]:
    """Yield a case for each metric; a metric that cannot fail is skipped, with its verdict."""
    worse = {judged.metric: _worse(judged, compared.label) for judged in compared.worse}
    figures = compared.document()["metrics"]
    for judged in compared.judged:
        word: Word = "failed" if judged.metric in worse else "skipped"
        if judged.gate and judged.metric not in worse:
            word = _WORDS.get(judged.verdict.word, "passed")  # "worse" of processor time alone
        message = worse.get(judged.metric, judged.verdict.reason)
        yield Case(
            compared.target, "bench", judged.metric, word, message, figures=figures[judged.metric]
        )
