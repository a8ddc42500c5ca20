"""The check of a target's budget: the figure of each key, and the lines that contribute to it.

See docs/reference/budgets.md for the meaning of each key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from olympus.analysis import Collective, CostRow
from olympus.errors import DeviceMemoryError, MachineError
from olympus_cli.reports.program_figures import CompiledFigures, CostReport, unknown_text
from olympus_cli.reports.text import between_text
from olympus_cli.spec.budgets import forbidden_name
from olympus_cli.spec.limits import HOST_CALLBACK, LIMITED, Budget, Limit
from olympus_cli.text.units import byte_size, count

_MAX = 3  # source lines in a message on a broken budget

Parts = Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Figures:
    """The figures of a target on one backend; None for a figure that no budget needs.

    `ops` are the StableHLO operations as written, by their full names, and `instructions` those of
    the optimized program by opcode. `dtypes` has the dtype of each argument and result of the
    program by its name, such as "argument x". `donations` are the names of the donated arguments,
    and `unused_donations` those without a result that takes their memory. `lines_of` returns the
    cost by line of an operation, or of a dtype, and `occurrences` the number of occurrences of an
    operation at each place. `absent` is the error of the compilation if the compiler for the
    backend is not installed, or if the program does not fit its device.
    """

    backend: str
    cost: CostReport
    by_operation: tuple[CostRow, ...]
    by_dtype: tuple[CostRow, ...]
    ops: Mapping[str, int]
    dtypes: Mapping[str, str]
    donations: tuple[str, ...]
    unused_donations: tuple[str, ...]
    lines_of: Callable[[str | None, str | None], Sequence[CostRow]]
    occurrences: Callable[[str], Sequence[tuple[float, str]]]
    compiled: CompiledFigures | None = None
    instructions: Mapping[str, int] | None = None
    executable_size: int | None = None
    bundle_size: int | None = None
    absent: MachineError | None = None


@dataclass(frozen=True)
class BudgetMetric:
    """A figure that a budget limits.

    `figure` returns None if it is unknown; `why` then returns the reason, and `hidden` the places
    of the unknown parts. `parts` are amounts of the figure with their places; with `by_operations`
    they are amounts of operations, as the figure has no places. `least` is a lower bound if the
    figure is an upper bound, and None otherwise.
    """

    figure: Callable[[Figures], float | None]
    parts: Callable[[Figures], Parts]
    why: Callable[[Figures], str] = lambda _figures: "the compiler does not report it"
    hidden: Callable[[Figures], Sequence[Part]] = lambda _figures: ()
    by_operations: bool = False
    least: Callable[[Figures], float | None] = lambda _figures: None


@dataclass(frozen=True)
class Part:
    """The part of a place in a broken budget: a source line, a text for people, and an amount.

    `place` is empty, or the name of a buffer, if there is no line; `amount` is in the unit of the
    figure, and None if nothing is counted.
    """

    place: str
    text: str
    amount: float | None = None

    def __str__(self) -> str:
        return f"{self.place}  {self.text}" if self.place else self.text


@dataclass(frozen=True)
class Verdict:
    """The verdict on one key of a budget; `why` is the reason of a failure, and else empty.

    `is_judged` is False if the key does not apply to the program, and, with a reason, if the figure
    or program to compare with is not saved: that fails the check too. `figure` and `limit` are
    texts; `value` and `most` are the numbers, if they are known. `lines` are the source lines that
    break the limit, the most important first.
    """

    target: str
    backend: str
    key: str
    figure: str
    limit: str
    why: str = ""
    lines: tuple[Part, ...] = ()
    value: float | None = None
    most: float | None = None
    is_judged: bool = True

    @property
    def fails(self) -> bool:
        """True if the check of the target fails."""
        return bool(self.why)

    @property
    def word(self) -> Literal["broken", "kept", "not judged"]:
        """The verdict in tables and JSON documents."""
        if not self.is_judged:
            return "not judged"
        return "broken" if self.fails else "kept"


def _rows(field: str) -> Callable[[Figures], Parts]:
    def parts(figures: Figures) -> Parts:
        return [(getattr(row, field), row.key) for row in figures.cost.lines]

    return parts


def _count(field: str) -> BudgetMetric:
    """Return the metric of a field of the cost, which its rows have too."""

    def figure(figures: Figures) -> float | None:
        value: float | None = getattr(figures.cost, field)
        return value

    return BudgetMetric(figure, _rows(field), _not_counted, _uncounted)


def _not_counted(figures: Figures) -> str:
    return "; ".join(map(unknown_text, figures.cost.unknown))


def _uncounted(figures: Figures) -> Sequence[Part]:
    return [Part(unknown.line, unknown.what) for unknown in figures.cost.unknown if unknown.line]


def _matmul(figures: Figures) -> float | None:
    products = figures.cost.matmul_flops
    return None if products is None else sum(products.values())


def _memory(field: str, has_kernels: bool = True) -> BudgetMetric:
    """Return a metric of the memory; `has_kernels` if it includes memory that kernels allocate."""

    def planned(figures: Figures) -> int | None:
        assert figures.compiled is not None
        value: int | None = getattr(figures.compiled.memory, field)
        return value

    def figure(figures: Figures) -> float | None:
        assert figures.compiled is not None
        size = planned(figures)
        return figures.compiled.memory.bound(size) if has_kernels else size

    def least(figures: Figures) -> float | None:
        assert figures.compiled is not None
        is_bound = has_kernels and figures.compiled.memory.workspace_bound
        return planned(figures) if is_bound else None

    def parts(figures: Figures) -> Parts:
        assert figures.compiled is not None
        kinds = {"arguments": ("argument",), "temporaries": ("temporary",)}.get(field)
        return [
            (part.bytes, part.line or part.name)
            for part in figures.compiled.memory.largest
            if kinds is None or part.kind in kinds
        ]

    return BudgetMetric(figure, parts, least=least)


def _collective_bytes(figures: Figures) -> float | None:
    assert figures.compiled is not None
    return figures.compiled.collective_bytes


def _collective_calls(figures: Figures) -> float | None:
    assert figures.compiled is not None
    return figures.compiled.collective_calls


def _looping(figures: Figures) -> str:
    """Return the reason why the bytes of the collectives of a program are unknown."""
    assert figures.compiled is not None
    loops = figures.compiled.collective_loops
    return (
        f"how often the loop at {' and that at '.join(loops)} runs depends on data, or is not "
        "known, and it has collectives (trips of the target can give it)"
    )


def _loops(figures: Figures) -> Sequence[Part]:
    assert figures.compiled is not None
    return [Part(line, "loop") for line in figures.compiled.collective_loops]


def _collective_rows(figures: Figures) -> Sequence[Collective]:
    assert figures.compiled is not None
    return figures.compiled.collectives


def _calls_by_line(figures: Figures) -> Parts:
    """Return the lines of collectives, or their operations, with the number of calls."""
    return [(row.calls, row.line or row.operation) for row in _collective_rows(figures)]


def _bytes_by_line(figures: Figures) -> Parts:
    """Return the lines that contribute to collectives, or the operations, with the bytes sent."""
    return [
        (part.bytes * row.calls, part.line or row.operation)
        for row in _collective_rows(figures)
        for part in row.lines
    ]


def _instructions(opcode: str) -> BudgetMetric:
    """Return the metric of the number of `opcode` instructions in the optimized program."""

    def figure(figures: Figures) -> float | None:
        return None if figures.instructions is None else figures.instructions.get(opcode, 0)

    return BudgetMetric(figure, _rows("operations"), by_operations=True)


def _size(field: str) -> BudgetMetric:
    def figure(figures: Figures) -> float | None:
        value: float | None = getattr(figures, field)
        return value

    return BudgetMetric(figure, _rows("operations"), by_operations=True)


def _estimated(figures: Figures) -> float | None:
    assert figures.compiled is not None
    return figures.compiled.estimated_seconds


def _not_estimated(figures: Figures) -> str:
    assert figures.compiled is not None
    estimate = figures.compiled.estimate
    return "; ".join(estimate.unknown) if estimate else "this backend has no estimate"


def _kernels(figures: Figures) -> Parts:
    assert figures.compiled is not None
    estimate = figures.compiled.estimate
    return [
        (kernel.seconds, kernel.line or kernel.name)
        for kernel in (estimate.kernels if estimate else ())
    ]


#: The metric of each key of `LIMITED`.
METRICS: Mapping[str, BudgetMetric] = {
    "flops": _count("flops"),
    "matmul-flops": BudgetMetric(_matmul, _rows("matmul_flops"), _not_counted, _uncounted),
    "transcendentals": _count("transcendentals"),
    "bytes": _count("bytes"),
    "operations": _count("operations"),
    "peak-memory": _memory("peak"),
    "argument-memory": _memory("arguments", has_kernels=False),
    "temporary-memory": _memory("temporaries"),
    "collective-bytes": BudgetMetric(_collective_bytes, _bytes_by_line, _looping, _loops),
    "collectives": BudgetMetric(_collective_calls, _calls_by_line, _looping, _loops),
    "fusions": _instructions("fusion"),
    "custom-calls": _instructions("custom-call"),
    "executable-size": _size("executable_size"),
    "bundle-size": _size("bundle_size"),
    "estimated-time": BudgetMetric(_estimated, _kernels, _not_estimated),
}


def figures_of(figures: Figures) -> dict[str, float]:
    """Return the known figures, by the key that limits them, for relative limits."""
    compiled = figures.compiled is not None
    known = {
        key: METRICS[key].figure(figures)
        for key, limited in LIMITED.items()
        if compiled or not limited.compiles
    }
    return {key: figure for key, figure in known.items() if figure is not None}


def judge_budget(
    target: str,
    budget: Budget,
    figures: Figures,
    saved: Mapping[str, float],
    device_memory: int | None,
) -> Iterator[Verdict]:
    """Yield a verdict for each key of a budget.

    `saved` are the figures to which relative limits are relative, and `device_memory` is the
    memory, in bytes, of the device that `fits` names.
    """
    for key, limit in budget.limits.items():
        yield _limited(target, key, limit, figures, saved.get(key))
    if budget.fits is not None:
        yield _fitting(target, str(budget.fits.device), figures, device_memory)
    for name in budget.forbid:
        yield _forbidden(target, name, figures)
    if budget.all_donations_used:
        yield _donation(target, figures, budget.must_donate)


_DONATE = (
    "donate an argument with the dtype and shape of a result: donate = [...] of the target, "
    "or donate_argnums of olympus.jit"
)


def _donation(target: str, figures: Figures, must_donate: bool) -> Verdict:
    """Return the verdict on donated arguments; with `must_donate`, a program must have one."""
    base = partial(Verdict, target, figures.backend, "donation")
    if not figures.donations:
        if not must_donate:
            return base("none donated", "all-used", is_judged=False)
        why = "the program donates no array, so that donation = all-used judges nothing"
        return base("none donated", "all-used", why, (Part("", _DONATE),))
    unused = ", ".join(figures.unused_donations)
    why = f"no result takes the memory of {unused}" if unused else ""
    return base(unused or "all used", "all-used", why)


def _not_compiled(
    target: str, key: str, limit: str, figures: Figures, absent: MachineError
) -> Verdict:
    """Return the verdict on a figure of a program that could not be compiled."""
    if isinstance(absent, DeviceMemoryError):
        return Verdict(
            target, figures.backend, key, "too large", limit, str(absent), hints_of(absent)
        )
    why = f"{key} is not known: the program is not compiled for {figures.backend}: {absent}"
    return Verdict(target, figures.backend, key, "unknown", limit, why, hints_of(absent))


def hints_of(error: MachineError) -> tuple[Part, ...]:
    """Return the hint of an error as a part of a verdict."""
    return (Part("", error.hint),) if error.hint else ()


def _limited(target: str, key: str, limit: Limit, figures: Figures, saved: float | None) -> Verdict:
    if figures.absent is not None and LIMITED[key].compiles:
        return _not_compiled(target, key, limit.text, figures, figures.absent)
    metric, shown = METRICS[key], LIMITED[key].quantity.shown
    figure, most = metric.figure(figures), limit.of(saved)
    least = metric.least(figures)
    base = partial(Verdict, target, figures.backend, key, value=figure, most=most)
    if figure is None:
        why = f"{key} is not known: {metric.why(figures)}"
        return base("unknown", limit.text, why, tuple(metric.hidden(figures)[:_MAX]))
    if most is None:
        why = f"{key} has no saved figure: save one with `olympus check --update`"
        return base(_bounded(shown(figure), least), limit.text, why, is_judged=False)
    relative = f"{limit.text} of {shown(saved)}" if saved is not None and limit.factor else None
    allowed = f"{shown(most)} ({relative})" if relative else limit.text
    text = _bounded(shown(figure), least)
    if figure <= most:
        return base(text, allowed)
    why = f"{key} is {text}, {_over(figure, most)} the limit of {allowed}"
    if least is not None:
        why += f"; the compiler plans {shown(least)}, and {_KERNELS}"
    parts = metric.parts(figures)
    lines = _largest(parts, _operations if metric.by_operations else shown)
    return base(text, allowed, why, lines)


#: The reason why a figure of the memory is a bound.
_KERNELS = "the rest is a bound on the memory that kernels allocate by themselves"


def _bounded(text: str, least: float | None) -> str:
    """Return the text of a figure, which is an upper bound if `least` is not None."""
    return text if least is None else f"at most {text}"


def _over(figure: float, most: float) -> str:
    """Return the excess of a figure over a limit: in percent, or as a factor if it is large."""
    ratio = figure / most if most else math.inf
    if ratio == math.inf:
        return "over"
    return f"{ratio - 1:.1%} over" if ratio < 10 else f"{count(round(ratio))} times"


def _operations(number: float) -> str:
    return f"{count(number)} operation" + ("" if number == 1 else "s")


def _largest(parts: Parts, shown: Callable[[float], str]) -> tuple[Part, ...]:
    """Return the places that contribute most, the largest first."""
    of_place: dict[str, float] = {}
    for amount, place in parts:
        of_place[place or "unknown"] = of_place.get(place or "unknown", 0) + amount
    most = sorted(of_place.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Part(place, shown(amount), amount) for place, amount in most[:_MAX] if amount)


def _fitting(target: str, device: str, figures: Figures, memory: int | None) -> Verdict:
    if figures.absent is not None:
        return _not_compiled(target, "fits", device, figures, figures.absent)
    assert figures.compiled is not None
    memory_figures = figures.compiled.memory
    needed = memory_figures.bound(memory_figures.needed)
    if needed is None or memory is None:
        why = f"whether it fits {device} is not known: the compiler does not report its memory"
        return Verdict(target, figures.backend, "fits", "unknown", device, why)
    limit = f"{device} ({byte_size(memory)})"
    text = between_text(memory_figures.needed, memory_figures.workspace_bound)
    if needed <= memory:
        return Verdict(target, figures.backend, "fits", text, limit)
    lines = _largest(
        [(buffer.bytes, buffer.line or buffer.name) for buffer in figures.compiled.memory.largest],
        byte_size,
    )
    why = f"it needs {text}, and {device} has {byte_size(memory)}"
    if memory_figures.workspace_bound:
        why += f"; {_KERNELS}"
    return Verdict(target, figures.backend, "fits", text, limit, why, lines)


def _forbidden(target: str, name: str, figures: Figures) -> Verdict:
    """Return the verdict on a forbidden operation or dtype."""
    times = _times(name, figures)
    key = f"forbid {name}"
    passed = [place for place, dtype in figures.dtypes.items() if dtype == forbidden_name(name)]
    if passed and not times:
        why = f"the program has {name}, which is forbidden, as a dtype of arguments or results"
        lines = tuple(Part(place, name) for place in passed[:_MAX])
        text = count(len(passed))
        base = partial(Verdict, target, figures.backend, key, text, "none", why, lines)
        return base(value=len(passed), most=0)
    if not times:
        return Verdict(target, figures.backend, key, "none", "none", value=0, most=0)
    why = f"the program has {name}, which is forbidden, {count(times)} times"
    lines = _largest(_forbidden_parts(name, figures), _operations)
    base = partial(Verdict, target, figures.backend, key, count(times), "none")
    return base(why, lines, value=times, most=0)


def _times(name: str, figures: Figures) -> int:
    """Return the number of executions of an operation or dtype, or else of its occurrences."""
    meant = forbidden_name(name)
    rows = [row for row in figures.by_dtype if row.key == meant] + _rows_of(name, figures)
    written = figures.ops.get(f"stablehlo.{meant}", 0) or figures.ops.get(str(meant), 0)
    return sum(row.operations for row in rows) or written


def _rows_of(name: str, figures: Figures) -> list[CostRow]:
    """Return the rows of the operations that match a name of `forbid`."""
    if name == HOST_CALLBACK:
        return [row for row in figures.by_operation if any(word in row.key for word in _HOST)]
    return [row for row in figures.by_operation if row.key == forbidden_name(name)]


def _forbidden_parts(name: str, figures: Figures) -> Parts:
    """Return the number of forbidden operations at each place: as executed, or else as written."""
    meant = str(forbidden_name(name))
    rows = [
        row
        for row_of_name in _rows_of(name, figures)
        for row in figures.lines_of(row_of_name.key, None)
    ]
    rows = rows or list(figures.lines_of(None, meant))
    return [(row.operations, row.key) for row in rows] or figures.occurrences(meant)


#: words in the names of operations that call the host while a program runs
_HOST = ("callback", "infeed", "outfeed")
