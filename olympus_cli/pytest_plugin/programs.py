"""The value of the fixture `olympus`: the programs of a test, checked against budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import olympus
from olympus.errors import UsageError
from olympus_cli.check.budget import judge_budget
from olympus_cli.check.check import memory_of, unit_figures
from olympus_cli.faults.blame import is_defect, is_ours_on_purpose, users_traceback
from olympus_cli.program.stages import Unit
from olympus_cli.spec.budgets import budget_of
from olympus_cli.spec.limits import Budget
from olympus_cli.spec.section import Section

_NO_RULE = "{} limits nothing, so that no program is judged"
_MARKER, _CHECK = "olympus_budget", "olympus.check"  # the sources of a budget's keywords
_OF_TARGETS = "bundle-size"  # a metric that only a target's program has


@dataclass(frozen=True)
class _Keywords:
    """The keywords of a budget in a test, used in place of a file; messages begin with `path`.

    `path` is the name of the marker, or of the method of the fixture, that has the keywords.
    """

    path: Path

    def named(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return keys

    def fail(self, _keys: tuple[str, ...], message: str, hint: str | None = None) -> NoReturn:
        raise UsageError(f"{self.path}: {message}", hint=hint)


class Programs:
    """Programs from functions and example arguments, which may be shapes or arrays.

    Source lines in messages are relative to the folder `root`.  `budget` has the keywords of the
    marker; every program made here is checked against them.  `count` is the number of programs.
    """

    def __init__(self, root: Path, budget: Mapping[str, object]) -> None:
        self._root = root
        self._budget = _budget(budget, _MARKER)
        if budget and not self._budget:
            raise UsageError(f"{_MARKER}: {_NO_RULE.format(', '.join(budget))}")
        self.count = 0

    def lower(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Lower the function to StableHLO for the CPU; return an `olympus.stages.Lowered`.

        `function` may be a result of `olympus.jit`, with its own static arguments and donations.

        Raises:
            TraceError: the function fails during tracing.
            AssertionError: the program exceeds the marker's budget.

        Example:
          >>> olympus.lower(forward, params, ShapeDtypeStruct((8, 128), "float32"))
        """
        __tracebackhide__ = True
        lowered = _lowered(function, args, kwargs)
        self._hold(function, lowered, self._budget)
        return lowered

    def compile(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Compile the function for the CPU; return an `olympus.stages.Compiled`.

        The arguments are as for `lower`.
        """
        __tracebackhide__ = True
        lowered = _lowered(function, args, kwargs)
        return self._hold(function, lowered, self._budget, compiles=True).compiled

    def cost(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the cost of a call of the function, an `olympus.analysis.Cost`.

        The arguments are as for `lower`.
        """
        __tracebackhide__ = True
        return self.lower(function, *args, **kwargs).cost()

    def memory(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the memory of a call of the function in bytes, an `olympus.analysis.Memory`.

        The arguments are as for `lower`.
        """
        __tracebackhide__ = True
        return self.compile(function, *args, **kwargs).memory()

    def check(self, function: Callable[..., Any], *args: Any, **limits: Any) -> None:
        """Check the function, for these arguments, against limits and the marker's budget.

        Limits are the keys of a `[budget]`, with "_" for "-": `flops="2 GFLOP"`, `forbid=["f64"]`.

        Raises:
            AssertionError: a limit is exceeded; the message has the lines that contribute most.
            UsageError: a limit is unknown or relative, or has a wrong unit.

        Example:
          >>> olympus.check(forward, params, x, peak_memory="1 MiB")
        """
        __tracebackhide__ = True
        if not limits and not self._budget:
            raise UsageError(f"{_CHECK} needs a limit", hint='such as flops="2 GFLOP"')
        budget = self._budget.under(_budget(limits, _CHECK))
        if not budget:
            raise UsageError(f"{_CHECK}: {_NO_RULE.format(', '.join(limits))}")
        self._hold(function, _lowered(function, args, {}), budget)

    def _hold(self, function: Any, lowered: Any, budget: Budget, compiles: bool = False) -> Unit:
        """Check the program against `budget`, and return it as a unit.

        It is compiled if `compiles` is True or the budget requires it.
        """
        __tracebackhide__ = True
        self.count += 1
        unit = Unit("cpu", lowered.target, lowered, 0.0)
        sizes: dict[str, int] = {}
        if compiles or budget.compiles:
            unit.compiled = lowered.compile()
        if "executable-size" in budget.limits:
            sizes = {unit.label: len(unit.compiled.serialize())}
        if budget:
            figures = unit_figures(unit, self._root, {}, sizes)
            name = getattr(function, "__name__", "the function")
            verdicts = judge_budget(name, budget, figures, {}, memory_of(budget.fits))
            parts = [
                part
                for verdict in verdicts
                if verdict.fails
                for part in (verdict.why, *verdict.lines)
            ]
            if parts:
                lines = "\n".join(part if isinstance(part, str) else f"  {part}" for part in parts)
                raise AssertionError(f"{name} does not keep to its budget\n{lines}")
        return unit


def _lowered(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    __tracebackhide__ = True
    jitted = function if hasattr(function, "lower") else olympus.jit(function)
    try:
        return jitted.lower(*args, **kwargs)
    except Exception as error:
        if is_ours_on_purpose(error) or not is_defect(error):
            error.__traceback__ = users_traceback(error)  # our frames are irrelevant to the test
        raise


def _budget(limits: Mapping[str, object], source: str) -> Budget:
    """Return the budget of the keywords of `source`.

    Raises:
        UsageError: a keyword is not a key of a budget, or its value is invalid.
    """
    __tracebackhide__ = True
    values = {key.replace("_", "-"): _plain(value) for key, value in limits.items()}
    try:
        budget = budget_of(Section(_Keywords(Path(source)), (), {"budget": values}), {})
    except UsageError as error:
        plain = UsageError(str(error), hint=error.hint)
        if error.hint:
            plain.add_note(f"hint: {error.hint}")
        raise plain from None  # our frames are irrelevant to the test
    for key, limit in budget.limits.items():
        if limit.factor is not None:
            raise UsageError(f"{source}: {key} is {limit.text!r}, and a test has no saved figure")
    if _OF_TARGETS in budget.limits:
        raise UsageError(f"{source}: {_OF_TARGETS} applies only to targets of olympus.toml")
    return budget


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple | set) else value
