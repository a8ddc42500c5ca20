"""Programs of PyTorch modules: exported by PyTorch, traced by JAX, and raised."""

from __future__ import annotations

import collections
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

from olympus_core.base.context import state as switches
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import OlympusWarning, UsageError
from olympus_core.interop import jax_tracing, torch_graph
from olympus_core.interop.jax_modules import jax
from olympus_core.interop.torch_export import evaluation, export
from olympus_core.interop.torch_modules import jax_dtypes, torch
from olympus_core.stages.stages import Traced

Array = np.ndarray[Any, Any]


class _State(NamedTuple):
    """The arrays of a module by name: those of its state dict, and its other buffers.

    `alias` has the name of each tensor in the exported program: a tensor with several names, such
    as a tied weight, is one argument with the first of them.
    """

    params: dict[str, Any]
    buffers: dict[str, Any]
    alias: dict[str, str]

    def arguments(self, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Return the tensors by argument; `names` are those of the arguments of `forward`."""
        groups = {"params": self.params, "buffers": self.buffers}
        return {_unused(name, names): group for name, group in groups.items() if group}


def traced_module(
    module: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    donate_argnames: Sequence[str],
    as_is: bool,
) -> Traced:
    """Return a module, traced for a call: see `torch_tracing.trace`."""
    call = _Call(tuple(args), dict(kwargs))
    is_exact = torch.get_float32_matmul_precision() == "highest"
    precision = jax.default_matmul_precision("highest" if is_exact else None)
    with jax.enable_x64(bool(switches.enable_x64)), precision:
        program = _Exported(module, call)
        return jax_tracing.trace(
            program.function(),
            [*program.state_types(), *call.arrays_by_position()],
            call.arrays_by_name(),
            donate_argnames=tuple(donate_argnames),
            as_is=as_is,
        )


def state_values(module: Any) -> dict[str, dict[str, Array]]:
    """Return the arrays of a module by argument and name: see `torch_tracing.state`."""
    with jax.enable_x64(bool(switches.enable_x64)):
        return {
            argument: {
                name: _values(tensor)
                for name, tensor in tensors.items()
                if tensor.device.type != "meta"
            }
            for argument, tensors in _state(module).arguments(_parameters(module)).items()
        }


def tensor_types(fun: Callable[..., Any]) -> Any:
    """Return the types of the results of a function: see `torch_tracing.result_types`."""
    with jax.enable_x64(bool(switches.enable_x64)):
        with torch.device("meta"):
            result = fun()
        return _map(lambda x: ShapeDtypeStruct(tuple(x.shape), _dtype_of(x)), result)


def _values(tensor: Any) -> Array:
    """Return the values of a tensor, without a copy if possible."""
    dtype = _dtype_of(tensor)
    plain = tensor.detach().cpu().contiguous()
    if dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")):  # not those of NumPy
        bits = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]
        return plain.view(bits).numpy().view(dtype)  # type: ignore[no-any-return]
    return plain.numpy().astype(dtype, copy=False)  # type: ignore[no-any-return]


def _dtype_of(tensor: Any) -> np.dtype[Any]:
    """Return the dtype of an array for a tensor: without 64 bits unless they are enabled."""
    if tensor.dtype not in jax_dtypes:
        raise UsageError(f"tensors of {tensor.dtype} are not supported")
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(jax_dtypes[tensor.dtype]))
    return dtype


def _state(module: Any) -> _State:
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    first = {id(tensor): name for name, tensor in tensors.items()}
    every = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    saved = module.state_dict(keep_vars=True)
    alias = {name: first[id(tensor)] for name, tensor in every}
    in_dict = {alias[name] for name in saved if name in alias}
    return _State(
        {name: tensor for name, tensor in tensors.items() if name in in_dict},
        {name: tensor for name, tensor in tensors.items() if name not in in_dict},
        alias,
    )


class _Call(NamedTuple):
    """The arguments of `forward`; a part without arrays is static."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def positions(self) -> list[int]:
        """Return the positions of the arguments with arrays."""
        return [i for i, arg in enumerate(self.args) if _has_arrays(arg)]

    def arrays_by_position(self) -> list[Any]:
        """Return the types of the arguments by position, without statics."""
        return [_map(_type_or_none, self.args[i]) for i in self.positions()]

    def arrays_by_name(self) -> dict[str, Any]:
        """Return the types of the arguments by name, without statics."""
        arrays = {name: arg for name, arg in self.kwargs.items() if _has_arrays(arg)}
        return {name: _map(_type_or_none, arg) for name, arg in arrays.items()}

    def complete(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return all arguments, with None for a static."""
        by_position = dict(zip(self.positions(), args, strict=True))
        return (
            tuple(by_position.get(i) for i in range(len(self.args))),
            {name: kwargs.get(name) for name in self.kwargs},
        )


def _map(function: Callable[[Any], Any], arg: Any) -> Any:
    return torch.utils._pytree.tree_map(function, arg)


def _has_arrays(arg: Any) -> bool:
    return any(hasattr(leaf, "dtype") for leaf in torch.utils._pytree.tree_leaves(arg))


def _type_or_none(leaf: Any) -> Any:
    """Return the type of an array; None for a static."""
    if isinstance(leaf, torch.Tensor):
        return jax.ShapeDtypeStruct(tuple(leaf.shape), _dtype_of(leaf))
    return leaf if hasattr(leaf, "dtype") else None


class _Exported:
    """A module, exported for a call."""

    def __init__(self, module: Any, call: _Call) -> None:
        self.module, self.call, self.state = module, call, _state(module)
        device = next((x.device for x in self.state.params.values()), torch.device("cpu"))

        def example(leaf: Any) -> Any:
            return _example(leaf, device) if hasattr(leaf, "dtype") else leaf

        args, kwargs = _map(example, call.args), _map(example, call.kwargs)
        with evaluation(module):
            self.program = export(module, args, kwargs)
        torch_graph.check_operators(self.program.graph)
        self._warn_of_mutations()

    def state_types(self) -> list[dict[str, Any]]:
        """Return the types of the first arguments: those of `params`, and `buffers` if any."""
        return [
            {name: jax.ShapeDtypeStruct(tuple(x.shape), _dtype_of(x)) for name, x in group.items()}
            for group in self.state.arguments().values()
        ]

    def function(self) -> Callable[..., Any]:
        """Return the function of JAX: of the state, and the arguments of `forward`."""
        count = len(self.state.arguments())

        def forward(*args: Any, **kwargs: Any) -> Any:
            tensors = {name: x for group in args[:count] for name, x in group.items()}
            call_arguments = self.call.complete(args[count:], kwargs)
            return self._results(
                torch_graph.run(self.program.graph, self._inputs(tensors, call_arguments))
            )

        forward.__name__ = forward.__qualname__ = type(self.module).__name__
        forward.__signature__ = self._signature()  # type: ignore[attr-defined]
        return forward

    def _signature(self) -> inspect.Signature:
        """Return the parameters of the function: by position, then by name."""
        own = _parameters(self.module)
        by_position = [own[i] if i < len(own) else f"arg{i}" for i in self.call.positions()]
        kinds = inspect.Parameter
        first = [*self.state.arguments(own), *by_position]
        return inspect.Signature(
            [
                *(kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in first),
                *(kinds(name, kinds.KEYWORD_ONLY) for name in self.call.arrays_by_name()),
            ]
        )

    def _inputs(
        self, tensors: Mapping[str, Any], call_arguments: tuple[Any, Any]
    ) -> dict[str, Any]:
        """Return the values of the graph's placeholders, by name."""
        kinds = torch.export.graph_signature.InputKind
        leaves = iter(
            torch.fx._pytree.tree_flatten_spec(call_arguments, self.program.call_spec.in_spec)
        )
        values: dict[str, Any] = {}
        for spec in self.program.graph_signature.input_specs:
            name = spec.arg.name
            if spec.kind == kinds.USER_INPUT:
                leaf = next(leaves)
                values[name] = getattr(spec.arg, "value", leaf)  # that of a static
            elif spec.kind in (kinds.PARAMETER, kinds.BUFFER):
                values[name] = tensors[self.state.alias[spec.target]]
            elif spec.kind == kinds.CONSTANT_TENSOR:
                values[name] = jax.numpy.asarray(_values(self.program.constants[spec.target]))
            else:
                raise UsageError(f"the module has an input of a kind not supported: {spec.target}")
        return values

    def _results(self, values: Sequence[Any]) -> Any:
        """Return the results of `forward` in their containers, without changes of buffers."""
        kinds = torch.export.graph_signature.OutputKind
        specs = self.program.graph_signature.output_specs
        leaves = [
            value
            for spec, value in zip(specs, values, strict=True)
            if spec.kind == kinds.USER_OUTPUT
        ]
        return _container(self.program.call_spec.out_spec, iter(leaves))

    def _warn_of_mutations(self) -> None:
        """Warn about buffers and arguments that `forward` changes: the program does not."""
        signature = self.program.graph_signature
        changed = {*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()}
        if changed:
            names = ", ".join(repr(name) for name in sorted(changed))
            warnings.warn(
                f"forward of {type(self.module).__name__} changes {names}, and the program returns "
                "only the results",
                OlympusWarning,
                stacklevel=4,
            )


def _parameters(module: Any) -> list[str]:
    return list(inspect.signature(module.forward).parameters)


def _unused(name: str, names: Sequence[str]) -> str:
    """Return a name, with underscores after it if a parameter of `forward` has it."""
    while name in names:
        name += "_"
    return name


def _example(leaf: Any, device: Any) -> Any:
    """Return a tensor of the type of an array; its values are not initialized."""
    if isinstance(leaf, torch.Tensor):
        return torch.empty(leaf.shape, dtype=leaf.dtype, device=device)
    name = np.dtype(leaf.dtype).name
    dtype = getattr(torch, name, None)
    if dtype not in jax_dtypes:
        raise UsageError(f"an argument of a PyTorch module cannot have the dtype {name}")
    return torch.empty(tuple(leaf.shape), dtype=dtype, device=device)


def _container(spec: Any, leaves: Iterator[Any]) -> Any:
    """Return leaves in the container of PyTorch's `spec`; an unknown class becomes a dict."""
    if spec.is_leaf():
        return next(leaves)
    parts = [_container(child, leaves) for child in spec.children()]
    kind, context = spec.type, spec.context
    if kind in (tuple, list):
        return kind(parts)
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(*parts)
    keys = context[1] if kind is collections.defaultdict else context
    if isinstance(keys, list | tuple) and len(keys) == len(parts):
        return dict(zip(keys, parts, strict=True))
    return tuple(parts)
