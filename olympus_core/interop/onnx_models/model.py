"""An ONNX file: its checks, its inputs, outputs and parameters, and its function of arrays."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from olympus_core.api.jit import jit
from olympus_core.base.context import switched
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArtifactError, EntryError, SignatureError, UsageError
from olympus_core.base.regular_files import read_regular
from olympus_core.interop.onnx_models.graph import Interpreter, check_names, opset_versions
from olympus_core.interop.onnx_models.node_locations import NodeLocations
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.package import onnx_package
from olympus_core.interop.onnx_models.statics import names_that_determine_shapes
from olympus_core.interop.onnx_models.tensors import element_dtype, tensor_array
from olympus_core.stages.stages import Traced

Array = np.ndarray[Any, Any]

_MAX_FILE = 2**31  # bytes, the limit of the format
_UNUSUAL = re.compile(r"[^\w-]+")  # in the name of a program
_WEIGHTS = ("arguments", "constants")


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model: its name, its dtype, and its sizes.

    A size is a number, or the name of a free one: the model's `dim_param`, or `x.0` for an unnamed
    first size of `x`. `dims` is None if the model does not declare the rank.
    """

    name: str
    dtype: np.dtype[Any]
    dims: tuple[int | str, ...] | None

    def fits(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        """Return True if an array of a shape fits; add the numbers of its free sizes to `sizes`.

        >>> sizes = {}
        >>> TensorInfo("x", np.dtype("float32"), ("batch", 3)).fits((8, 3), sizes), sizes
        (True, {'batch': 8})
        """
        if self.dims is None:
            return True
        return len(shape) == len(self.dims) and all(
            sizes.setdefault(size, actual) == actual if isinstance(size, str) else size == actual
            for size, actual in zip(self.dims, shape, strict=True)
        )


@dataclass(frozen=True)
class OnnxModel:
    """A model that was read from an ONNX file by `load`.

    `inputs` and `outputs` are in their order in the file. `parameters` are the weights, by name.
    `constants` are the other initializers, which determine shapes; `shape_inputs` are the names of
    the inputs that do. `opsets` are the versions of the operators by domain.

    Example:
      >>> model = load("model.onnx")
      >>> model.inputs
      (TensorInfo(name='x', dtype=dtype('float32'), dims=('batch', 3)),)
    """

    path: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    parameters: dict[str, Array]
    constants: dict[str, Array]
    shape_inputs: tuple[str, ...]
    opsets: dict[str, int]
    _proto: Any
    _folder: Path | None

    def shapes(self, dims: Mapping[str, int] | None = None) -> tuple[ShapeDtypeStruct, ...]:
        """Return the types of the inputs, with a number for each free size.

        Raises UsageError if a free size has no number in `dims`, or a name is no free size.

        Example:
          >>> model.shapes({"batch": 8})
          (ShapeDtypeStruct(shape=(8, 3), dtype=float32),)
        """
        sizes = self._checked_dims(dims)
        with switched("enable_x64", True):
            return tuple(
                ShapeDtypeStruct(self._shape(info, sizes), info.dtype) for info in self.inputs
            )

    def _shape(self, info: TensorInfo, sizes: Mapping[str, int]) -> tuple[int, ...]:
        if info.dims is None:
            raise UsageError(f"{self.path} does not declare the rank of its input {info.name!r}")
        missing = [size for size in info.dims if isinstance(size, str) and size not in sizes]
        if missing:
            raise UsageError(
                f"input {info.name!r} of {self.path} has the free size {missing[0]!r}",
                hint=f"pass dims={{{missing[0]!r}: 8}}",
            )
        return tuple(sizes[size] if isinstance(size, str) else size for size in info.dims)

    def _checked_dims(self, dims: Mapping[str, int] | None) -> dict[str, int]:
        sizes = dict(dims or {})
        names = {size for info in self.inputs for size in info.dims or () if isinstance(size, str)}
        for name, size in sizes.items():
            if name not in names:
                listed = ", ".join(map(repr, sorted(names))) or "none"
                raise UsageError(f"{self.path} has no free size {name!r}; it has {listed}")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise UsageError(f"the size {name!r} is a number from 0 on, not {size!r:.40}")
        return sizes

    def function(
        self,
        weights: str = "arguments",
        dims: Mapping[str, int] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> Callable[..., Any]:
        """Return the model as a function of arrays, for `olympus.jit`.

        With `weights="arguments"` its first argument is `parameters`, or a dict of other arrays
        with the same names; with "constants" the weights are in the program. The inputs follow, in
        the order of `inputs`. It returns one array, or a tuple of several outputs. Integers and
        floats of 64 bits keep their type. `dims` are numbers for free sizes, with which calls are
        checked. `constants` are values for some inputs, which are then no arguments: values that
        determine shapes, such as the target of a `Reshape`.

        Raises UsageError for an invalid option. The function raises SignatureError for inputs of
        another number, shape or dtype, UsageError for an operator that is not supported, and
        ArtifactError for an invalid node.

        Example:
          >>> f = model.function(weights="constants", dims={"batch": 8})
          >>> compiled = olympus.jit(f).lower(*model.shapes({"batch": 8})).compile()
        """
        if weights not in _WEIGHTS:
            raise UsageError(f"weights is 'arguments' or 'constants', not {weights!r:.40}")
        known = {name: np.asarray(value) for name, value in (constants or {}).items()}
        names = [info.name for info in self.inputs]
        for name in known:
            if name not in names:
                raise UsageError(f"{self.path} has no input {name!r:.80}")
        call = _Call(self, weights == "arguments", self._checked_dims(dims), known)

        def onnx_model(*arguments: Any) -> Any:
            return call(arguments)

        return onnx_model

    def trace(
        self,
        shapes: Mapping[str, Sequence[int]] | None = None,
        *,
        weights: str = "arguments",
        dims: Mapping[str, int] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> Traced:
        """Trace the model for inputs of given shapes; return a stage.

        `shapes` has the shapes of inputs by name; the others have their shape in the file, with the
        numbers of `dims`. The arguments have the names of the inputs, or `input<i>` for a name that
        cannot be shown; before them, with `weights="arguments"`, are the weights: `weights['w']`.
        The other arguments, and the errors, are those of `function`.

        Example:
          >>> model.trace({"x": (8, 3)}, weights="constants").arg_names
          ('x',)
        """
        known, sizes = constants or {}, self._checked_dims(dims)
        infos = [info for info in self.inputs if info.name not in known]
        arguments: list[Any] = [self.parameters] if weights == "arguments" else []
        with switched("enable_x64", True):
            for info in infos:
                shape = (shapes or {}).get(info.name)
                shape = self._shape(info, sizes) if shape is None else tuple(shape)
                arguments.append(ShapeDtypeStruct(shape, info.dtype))
            traced = jit(self.function(weights, dims, constants)).trace(*arguments)
        names = [x.name if x.name.isprintable() else f"input{i}" for i, x in enumerate(infos)]
        if weights == "arguments":
            names = [f"weights[{name!r}]" for name in sorted(self.parameters)] + names
        traced.signature = traced.signature._replace(
            name=_UNUSUAL.sub("_", Path(self.path).stem) or "model", arg_names=tuple(names)
        )
        return traced

    def _file(self) -> str:
        """Return the path of the file, for locations."""
        return os.path.join(self._folder or "", os.path.basename(self.path))


@dataclass(frozen=True)
class _Call:
    """The function of a model: it checks arguments and interprets the graph."""

    model: OnnxModel
    has_parameters: bool
    sizes: Mapping[str, int]
    known: Mapping[str, Array]

    def __call__(self, arguments: Sequence[Any]) -> Any:
        model = self.model
        with switched("enable_x64", True):
            values: dict[str, Any] = {**model.constants, **model.parameters}
            if self.has_parameters:
                values.update(self._parameters(arguments))
                arguments = arguments[1:]
            values.update(self._inputs(arguments))
            interpreter = Interpreter(
                {(f.domain, f.name, f.overload): f for f in model._proto.functions},
                model._folder,
                NodeLocations(model._file()),
            )
            outputs = interpreter.run(
                model._proto.graph, values, [info.name for info in model.outputs], model.opsets
            )
            results = tuple(jnp.asarray(output) for output in outputs)
        return results[0] if len(results) == 1 else results

    def _parameters(self, arguments: Sequence[Any]) -> dict[str, Any]:
        parameters = arguments[0] if arguments else None
        expected = self.model.parameters
        if not isinstance(parameters, Mapping) or set(parameters) != set(expected):
            raise SignatureError(
                f"the first argument of {self.model.path} is a dict with its {len(expected)}"
                " parameters by name",
                hint="pass model.parameters",
            )
        return {
            name: self._converted(TensorInfo(name, array.dtype, array.shape), parameters[name], {})
            for name, array in expected.items()
        }

    def _inputs(self, arguments: Sequence[Any]) -> dict[str, Any]:
        infos = [info for info in self.model.inputs if info.name not in self.known]
        if len(arguments) != len(infos):
            raise SignatureError(
                f"{self.model.path} has {len(infos)} inputs, and {len(arguments)} are passed:"
                f" {', '.join(info.name for info in infos)}"
            )
        sizes = dict(self.sizes)
        values: dict[str, Any] = {}
        for info in self.model.inputs:
            if info.name in self.known:
                value = self.known[info.name]
                self._check_shape(info, value.shape, sizes)
                values[info.name] = self._constant(info, value)
        for info, argument in zip(infos, arguments, strict=True):
            values[info.name] = self._converted(info, argument, sizes)
        return values

    def _constant(self, info: TensorInfo, value: Array) -> Array:
        """Return the value of a constant in the model's dtype, which must represent an integer."""
        with np.errstate(invalid="ignore"):
            array = value.astype(info.dtype)
        if info.dtype.kind in "iu" and not np.array_equal(array, value):
            raise SignatureError(
                f"{info.name!r} of {self.model.path} is an array of {info.dtype}, which cannot"
                f" represent {value.tolist()!r:.80}"
            )
        return array

    def _converted(self, info: TensorInfo, value: Any, sizes: dict[str, int]) -> Any:
        """Return an argument with the model's dtype, which may be narrower without x64."""
        array = jnp.asarray(value)
        dtype = np.dtype(array.dtype)
        same_kind = dtype.kind == info.dtype.kind and dtype.kind in "iufc"
        if dtype != info.dtype and not (same_kind and dtype.itemsize * 2 == info.dtype.itemsize):
            raise SignatureError(
                f"{info.name!r} of {self.model.path} is an array of {info.dtype}, not of {dtype}"
            )
        self._check_shape(info, array.shape, sizes)
        return array.astype(info.dtype)

    def _check_shape(self, info: TensorInfo, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
        if info.dims is None:
            return
        if not info.fits(shape, sizes):
            declared = [sizes.get(d, d) if isinstance(d, str) else d for d in info.dims]
            raise SignatureError(
                f"{info.name!r} of {self.model.path} has the shape"
                f" [{', '.join(map(str, declared))}], not {list(shape)}"
            )


def load(path: str | os.PathLike[str], *, output: str | None = None, name: str = "") -> OnnxModel:
    """Read an ONNX model from a file, with its external data; `output` selects one output.

    `name` is the name of the file in messages, by default its path.

    The file may be untrusted: sizes are checked before memory is allocated, and external data is
    read only inside the folder of the model.

    Raises:
        BackendError: the package `onnx` is not installed.
        EntryError: the model does not have the `output`.
        UsageError: the file cannot be read, or has inputs or weights that are not numeric tensors.
        ArtifactError: the file is damaged.

    Example:
      >>> model = load("model.onnx")
      >>> f = olympus.jit(model.function())
      >>> f(model.parameters, x)
    """
    try:
        content = read_regular(path, _MAX_FILE)
    except OSError as error:
        raise UsageError(f"{name or path} cannot be read: {error.strerror or error}") from error
    folder = Path(os.path.abspath(path)).parent
    return read_model(content, name or os.fspath(path), folder=folder, output=output)


def read_model(
    content: bytes, name: str, *, folder: Path | None = None, output: str | None = None
) -> OnnxModel:
    """Return the model in the bytes of a file, with its external data in `folder`.

    Raises UsageError and ArtifactError as `load` does.
    """
    onnx = onnx_package()
    try:
        proto = onnx.ModelProto()
        proto.ParseFromString(content)
    except onnx_package("google.protobuf.message").DecodeError as error:
        raise ArtifactError(f"{name} is not an ONNX model: {error}") from error
    graph = proto.graph
    if not graph.node and not graph.output:
        raise ArtifactError(f"{name} is not an ONNX model: it has no graph")
    if graph.sparse_initializer:
        raise UsageError(f"{name} has sparse weights, which are not supported")
    values = (*graph.input, *graph.output, *graph.initializer)
    check_names(*(value.name for value in values))
    arrays = {tensor.name: tensor_array(tensor, folder) for tensor in graph.initializer}
    inputs = tuple(_info(v, name) for v in graph.input if v.name not in arrays)
    outputs = tuple(_info(v, name) for v in graph.output)
    if output is not None:
        chosen = [info for info in outputs if info.name == output]
        if not chosen:
            listed = ", ".join(repr(info.name) for info in outputs)
            near = difflib.get_close_matches(output, [info.name for info in outputs], 1)
            raise EntryError(
                f"{name} has no output {output!r:.80}; it has {listed:.300}",
                hint=f"did you mean {near[0]!r:.80}?" if near else None,
            )
        outputs = (chosen[0],)
    opsets = opset_versions(proto.opset_import)
    _check_opset(opsets.get("", 1), name)
    fixed = names_that_determine_shapes(proto)
    return OnnxModel(
        path=name,
        inputs=inputs,
        outputs=outputs,
        parameters={k: v for k, v in arrays.items() if k not in fixed},
        constants={k: v for k, v in arrays.items() if k in fixed},
        shape_inputs=tuple(info.name for info in inputs if info.name in fixed),
        opsets=opsets,
        _proto=proto,
        _folder=folder,
    )


def _check_opset(version: int, path: str) -> None:
    """Raise UsageError if the operators of a model are newer than the installed package."""
    known = onnx_package("onnx.defs").onnx_opset_version()
    if version > known:
        raise UsageError(
            f"{path} has the operators of opset {version}, and onnx "
            f"{onnx_package().__version__} has those up to opset {known}",
            hint="pip install --upgrade onnx",
        )


def _info(value: Any, path: str) -> TensorInfo:
    """Return the type of an input or output; raise UsageError if it is not a numeric tensor."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        form = (kind or "unknown").removesuffix("_type").replace("_", " ")
        raise UsageError(f"{value.name!r:.80} of {path} is not a tensor: its type is {form}")
    tensor = value.type.tensor_type
    try:
        dtype = element_dtype(tensor.elem_type)
    except UsageError as error:
        raise UsageError(f"{value.name!r:.80} of {path}: {error}") from error
    if not tensor.HasField("shape"):
        return TensorInfo(value.name, dtype, None)
    dims: list[int | str] = []
    for axis, size in enumerate(tensor.shape.dim):
        if size.HasField("dim_value"):
            if size.dim_value < 0:
                raise ArtifactError(f"{value.name!r:.80} of {path} has the size {size.dim_value}")
            dims.append(size.dim_value)
        else:
            dims.append(size.dim_param or f"{value.name}.{axis}")
    return TensorInfo(value.name, dtype, tuple(dims))
