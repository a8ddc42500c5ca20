"""`olympus.experimental.xla_metadata`: attributes of operations for the compiler.

XLA calls them frontend attributes: names and texts, which its passes may read.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import tree
from olympus_core.base.context import state, switched
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.base.source import look_like, wraps
from olympus_core.control.annotated_call import xla_metadata_call_p
from olympus_core.control.bodies import stage_call
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Eqn, ProgramParams
from olympus_core.mlir.attributes import attribute
from olympus_core.primitives.annotation import xla_metadata_value_p

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_SAME = "same"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class XlaMetadataContext:
    """A context in which traced operations get attributes; as a decorator, a function's body."""

    def __init__(self, updates: dict[str, Any]) -> None:
        self._updates = updates
        self._entered: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        merged = {**dict(state.annotations), **self._updates}
        texts = tuple([(k, _text(v)) for k, v in merged.items() if v is not None])
        context = switched("annotations", texts)
        context.__enter__()
        self._entered.append(context)

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().__exit__(None, None, None)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return _AnnotatedFunction(f, self._updates)


class _AnnotatedFunction:
    """A function whose calls, and calls of its methods such as `lower`, are in a context."""

    def __init__(self, f: Callable[..., Any], updates: dict[str, Any]) -> None:
        self._f = f
        self._updates = updates
        look_like(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with XlaMetadataContext(self._updates):
            return self._f(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._f, name)
        return _AnnotatedFunction(value, self._updates) if callable(value) else value


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Add attributes for the compiler to operations.

    With an `x`, a tree of arrays, return `x`; the operations that compute its arrays get the
    attributes. Otherwise return a context: the operations that are traced in it get them. It is
    also a decorator of a function. `kwargs` are the attributes by name: a bool becomes "true" or
    "false", None removes an attribute of an outer context, and other values become texts.

    >>> with set_xla_metadata(tag="doubled"):
    ...     lowered = jit(lambda x: x * 2).lower(1.0)
    >>> 'tag = "doubled"' in lowered.as_text()
    True
    """
    if x is None:
        return XlaMetadataContext(kwargs)
    annotations = tuple([(k, _text(v)) for k, v in sorted(kwargs.items())])
    return tree.map(lambda v: xla_metadata_value_p.bind(v, annotations=annotations), x)


@contextlib.contextmanager
def fuse_limit() -> Iterator[None]:
    """Request that XLA fuses no operation in the context with one outside.

    The operations get the attribute FUSE_LIMIT="true".

    >>> with fuse_limit():
    ...     lowered = jit(lambda x: x * 2).lower(1.0)
    >>> 'FUSE_LIMIT = "true"' in lowered.as_text()
    True
    """
    with XlaMetadataContext({"FUSE_LIMIT": True}):
        yield


def _canonical(meta: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    for key, value in meta.items():
        if not isinstance(value, str | bool | int | float):
            raise ArgumentError(
                "xla_metadata_call metadata values must be str, bool, int, or float, got "
                f"{type(value)} for key {key!r}"
            )
    return tuple(sorted([(k, _text(v)) for k, v in meta.items()]))


def xla_metadata_call(
    f: Callable[..., Any] | None = None, /, **meta: str | bool | float
) -> Callable[..., Any]:
    """Return `f` as a call with attributes for the compiler, or a decorator without `f`.

    XLA gives the attributes `meta` to the operations of the called function. Derivatives of `f` are
    calls with the same attributes.

    Raises ArgumentError (a TypeError) for a value that is neither text, bool nor number.

    >>> double = xla_metadata_call(lambda x: x * 2, tag="doubled")
    >>> 'tag = "doubled"' in jit(double).lower(1.0).as_text()
    True
    """
    return xla_metadata_call2(f, meta)


def xla_metadata_call2(
    f: Callable[..., Any] | None = None,
    /,
    metadata: Mapping[str, Any] | None = None,
    *,
    ad_metadata: Any = _SAME,
) -> Callable[..., Any]:
    """Return `f` as a call with the attributes `metadata`, or a decorator without `f`.

    `ad_metadata` are the attributes of the linear and the transposed part of derivatives: "same",
    "drop" for none, or a dict. A forward derivative computes both parts, with `metadata`.

    Raises ArgumentError (a TypeError) for other values.

    >>> double = xla_metadata_call2({"tag": "f"}, ad_metadata={"tag": "g"})(lambda x: x * 2)
    >>> 'tag = "g"' in jit(grad(double)).lower(1.0).as_text()
    True
    """
    if isinstance(f, Mapping) and metadata is None:
        f, metadata = None, f
    if f is None:
        return functools.partial(_checked_call, metadata=metadata, ad_metadata=ad_metadata)
    return _checked_call(f, metadata, ad_metadata)


def _checked_call(f: Any, metadata: Any, ad_metadata: Any) -> Callable[..., Any]:
    if not callable(f):
        raise ArgumentError(f"expected a callable to wrap, got {f!r:.80}")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ArgumentError(f"metadata must be a dict, got {metadata!r:.80}")
    if ad_metadata not in (_SAME, "drop") and not isinstance(ad_metadata, Mapping):
        raise ArgumentError(
            f"ad_metadata must be 'same', 'drop', or a dict of metadata, got {ad_metadata!r:.80}"
        )
    derived: tuple[tuple[str, str], ...] | None = None
    if ad_metadata != _SAME:
        derived = _canonical({} if ad_metadata == "drop" else ad_metadata)
    return _metadata_call(f, _canonical(metadata or {}), derived)


def _metadata_call(f: Callable[..., Any], annotations: Any, derived: Any) -> Callable[..., Any]:
    @wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        body, leaves = stage_call(f, args, kwargs, "the function of xla_metadata_call")
        outs = xla_metadata_call_p.bind(
            *body.consts,
            *leaves,
            olympuspr=body.program,
            annotations=annotations,
            ad_annotations=derived,
        )
        return body.out_tree.unflatten(outs)

    return wrapped


def must_fuse_call(identifier: str) -> Callable[..., Any]:
    """Return a decorator: XLA compiles all operations of the function as one fusion.

    `identifier` distinguishes fusions; it is the attribute MUST_FUSE of the call.

    >>> double = must_fuse_call("1")(lambda x: x * 2)
    >>> 'MUST_FUSE = "1"' in jit(double).lower(1.0).as_text()
    True
    """
    return xla_metadata_call(MUST_FUSE=identifier)


def scheduling_group(name: str) -> Callable[..., Any]:
    """Return a decorator: XLA schedules the operations of the function together.

    `name` is the attribute `scheduling_group` of the call.

    >>> double = scheduling_group("g")(lambda x: x * 2)
    >>> 'scheduling_group = "g"' in jit(double).lower(1.0).as_text()
    True
    """
    return xla_metadata_call(scheduling_group=name)


def attr_get(x: str) -> ir.Attribute:
    """Return a text as an attribute of MLIR; raise UnsupportedError for another value.

    >>> attr_get("g")
    StringAttr("g")
    """
    if not isinstance(x, str):
        raise UnsupportedError(f"mlir attr handler for type(x)={type(x)}")
    return attribute(x)


def dce_jaxpr_xla_metadata_rule(
    used_outputs: Sequence[bool], eqn: Eqn
) -> tuple[list[bool], Eqn | None]:
    """Return the operands that a call needs for its used results, and the call without the others.

    The call is None if no result is used and it has no effect.

    >>> call = xla_metadata_call(lambda x, y: (x + 1, y + 1), tag="t")
    >>> eqn = make_olympuspr(call)(1.0, 2.0).eqns[0]
    >>> dce_jaxpr_xla_metadata_rule([True, False], eqn)[0]
    [True, False]
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.inputs), None
    program, places = restrict(eqn.params["olympuspr"], tuple(used_outputs))
    remaining = eqn.replace(
        inputs=tuple([eqn.inputs[i] for i in places]),
        outputs=tuple([v for v, u in zip(eqn.outputs, used_outputs, strict=True) if u]),
        params=ProgramParams(eqn.params | {"olympuspr": program}),
    )
    return [i in places for i in range(len(eqn.inputs))], remaining
