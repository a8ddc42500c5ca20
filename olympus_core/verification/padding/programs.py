"""The rules of padded rows for operations with programs: calls, branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from olympus_core.verification.padding.flow import Rule, Step
from olympus_core.verification.padding.values import Padding


def _call(step: Step) -> Sequence[Padding]:
    program, twin = step.params["olympuspr"], step.twin.params["olympuspr"]
    return step.flow.follow(program, twin, step.operands)


def _cond(step: Step) -> Sequence[Padding]:
    pairs = zip(step.params["branches"], step.twin.params["branches"], strict=True)
    if step.operands[0].fills:
        step.refuse("its branch depends on the rows")
    results = [step.flow.follow(one, two, step.operands[1:]) for one, two in pairs]
    joined = list(results[0])
    for other in results[1:]:
        joined = [x.joined(y) for x, y in zip(joined, other, strict=True)]
    return joined


def _fixed(
    carry: Sequence[Padding], body: Callable[[Sequence[Padding]], Sequence[Padding]]
) -> tuple[list[Padding], Sequence[Padding]]:
    """Return the padding of a loop's carry in every iteration, and the body's results for it."""
    now = list(carry)
    while True:
        results = body(now)
        joined = [x.joined(y) for x, y in zip(now, results, strict=False)]
        if repr(joined) == repr(now):
            return now, results
        now = joined


def _scan(step: Step) -> Sequence[Padding]:
    body, twin = (x.params["olympuspr"] for x in (step.eqn, step.twin))
    first, n = step.params["num_consts"], step.params["num_carry"]
    consts, carry, xs = (
        step.operands[:first],
        step.operands[first : first + n],
        step.operands[first + n :],
    )
    if step.params["length"] != step.twin.params["length"]:
        step.refuse("it iterates over the rows", "vmap over the rows keeps them apart")
    inner = [
        x.moved({i: i - 1 for i in range(1, aval.ndim)})
        for x, aval in zip(xs, step.avals[first + n :], strict=True)
    ]
    carry, results = _fixed(
        carry, lambda now: step.flow.follow(body, twin, [*consts, *now, *inner])
    )
    ys = [
        y.moved({i: i + 1 for i in range(len(aval.shape))})
        for y, aval in zip(results[n:], body.out_avals[n:], strict=True)
    ]
    return [*carry, *ys]


def _while(step: Step) -> Sequence[Padding]:
    params, other = step.params, step.twin.params
    n_cond, first = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    consts, body_consts = step.operands[:n_cond], step.operands[n_cond:first]
    test = params["cond_olympuspr"], other["cond_olympuspr"]
    body = params["body_olympuspr"], other["body_olympuspr"]

    def iteration(carry: Sequence[Padding]) -> Sequence[Padding]:
        step.flow.follow(*test, [*consts, *carry])
        return step.flow.follow(*body, [*body_consts, *carry])

    carry, _ = _fixed(step.operands[first:], iteration)
    return carry


#: the rules by the name of the primitive
PROGRAM_RULES: dict[str, Rule] = {
    **dict.fromkeys(("jit", "block", "checkpoint", "custom_jvp_call", "custom_vjp_call"), _call),
    **dict.fromkeys(("cond", "platform_dependent"), _cond),
    "scan": _scan,
    "while": _while,
}
