"""`Inline`: the stage that inlines the call of a staged function."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_core.base.errors import OptionError
from olympus_core.base.source import current_location
from olympus_core.control.annotated_call import xla_metadata_call_p
from olympus_core.transforms.evaluate import evaluate


class Inline(enum.Enum):
    """The stage that inlines a call of a staged function in a function that is being traced.

    `JAX_EARLY` and `JAX_LATE`: the trace; such a call is not in the program.  `XLA_EARLY` and
    `XLA_LATE`: the compiler, early or late; the call has the attribute `inlineable`.  `AUTO`: the
    compiler decides.

    >>> double = jit(lambda x: x * 2, inline=Inline.XLA_LATE)
    >>> 'inlineable = "xla_late"' in jit(lambda x: double(x)).lower(1.0).as_text()
    True
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"

    @classmethod
    def of(cls, inline: bool | Inline) -> Inline:
        """Return the stage of an argument `inline` of `jit`: True is `JAX_LATE`, False `AUTO`.

        Raises OptionError for another value.
        """
        if isinstance(inline, cls):
            return inline
        if not isinstance(inline, bool):
            raise OptionError(f"Invalid inline option: {inline!r:.80}; it is a bool or an Inline")
        return cls.JAX_LATE if inline else cls.AUTO


def call_in_trace(inline: Inline, params: Mapping[str, Any], operands: Sequence[Any]) -> list[Any]:
    """Return the results of a call with the parameters `params`, inlined or marked for it."""
    program = params["olympuspr"]
    if inline in (Inline.JAX_EARLY, Inline.JAX_LATE):
        return evaluate(program, operands, current_location())
    marks = (("inlineable", inline.value),)
    outs: list[Any] = xla_metadata_call_p.bind(
        *operands, olympuspr=program, annotations=marks, ad_annotations=None
    )
    return outs
