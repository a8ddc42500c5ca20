"""Targets with an ONNX model as entry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

import olympus
from olympus.errors import OlympusError, UsageError
from olympus.interop import onnx
from olympus_cli.frontends.program_files import ProgramOfFile, check_file, with_donated
from olympus_cli.spec.entries import ProgramFile
from olympus_cli.spec.model import ArgSpec, ShapeSpec, SizeSpec, TargetSpec
from olympus_cli.spec.statics import StaticSource
from olympus_cli.spec.target_table import at_key, form_of, with_line
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.option_values import WEIGHTS
from olympus_cli.text.paths import display_path

_SIZE = 8  # an example


@dataclasses.dataclass(frozen=True)
class OnnxSource(ProgramOfFile):
    """The program of an ONNX model: its arguments are the inputs, and the weights before them."""

    file: ProgramFile

    def prepare(self) -> None:
        """Read the file, whose weights may be large."""
        self._model  # noqa: B018  (it is cached)

    def trace(self) -> olympus.stages.Traced:
        """Return the program, with the target's donations marked.

        Raises:
            ArtifactError: the file is damaged.
            UsageError: a shape, a static or a donation does not fit the model, a free size has no
                number, or an operator is not supported.
        """
        model = self._model
        shapes, values = self._shapes(model), dict(self.spec.static)
        with _naming(self.name), self._values_as_statics(model):
            traced = model.trace(shapes, weights=self._weights, constants=values)
        return with_donated(traced, self.spec)

    def default_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the weights of the file, if they are arguments."""
        if self._weights == "constants":
            return {}
        return {f"weights[{name!r}]": array for name, array in self._model.parameters.items()}

    @property
    def _weights(self) -> str:
        return self.spec.weights or WEIGHTS[0]

    @cached_property
    def _model(self) -> onnx.OnnxModel:
        path = self.spec.root / self.file.path
        name = display_path(path)
        with at_key(self.spec, "entry"), _naming(name):
            return onnx.load(path, output=self.file.part, name=name)

    @contextmanager
    def _values_as_statics(self, model: onnx.OnnxModel) -> Iterator[None]:
        """Replace the hint of an error about an input whose value determines a shape."""
        try:
            yield
        except UsageError as error:
            missing = [x for x in model.shape_inputs if x not in self.spec.static]
            if missing and "constants=" in (error.hint or ""):
                value = form_of(self.spec, "static", missing[0], "[2, 3]")
                error.hint = f"give the value that is part of the program: {value}"
            raise

    def _shapes(self, model: onnx.OnnxModel) -> dict[str, tuple[int, ...]]:
        """Return the shape of each input that is not static."""
        inputs = {x.name: x for x in model.inputs}
        for name in self.spec.static:
            if name not in inputs:
                raise with_line(self._unknown(name, list(inputs)), self.spec, "static", name)
        inputs = {name: x for name, x in inputs.items() if name not in self.spec.static}
        arguments = self._arguments(list(inputs))
        sizes = {name: x.size for name, x in arguments.items() if isinstance(x, SizeSpec)}
        names = {d for x in model.inputs for d in x.dims or () if isinstance(d, str)}
        for name, x in arguments.items():
            if name not in inputs and name not in names:
                raise with_line(self._unknown(name, [*inputs, *names]), self.spec, "args", name)
            if isinstance(x, SizeSpec) and name in names:
                continue
            if name not in inputs:
                error = UsageError(f"the free size {name!r} of {self.name} needs a number")
                raise with_line(error, self.spec, "args", name)
            _bind(inputs[name], self._shape(name, x, inputs[name]), sizes, self.spec)
        return {name: self._complete(x, arguments, sizes) for name, x in inputs.items()}

    def _arguments(self, inputs: list[str]) -> dict[str, ArgSpec]:
        """Return the arguments of the target by name."""
        if len(self.spec.args) > len(inputs):
            error = UsageError(
                f"{self.name} has {len(inputs)} inputs, and {len(self.spec.args)} shapes are given",
                hint=f"its inputs are {', '.join(inputs)}",
            )
            raise with_line(error, self.spec, "args")
        return {**dict(zip(inputs, self.spec.args, strict=False)), **self.spec.kwargs}

    def _unknown(self, name: str, names: list[str]) -> UsageError:
        return UsageError(
            f"{self.name} has no input or free size {name!r}",
            hint=did_you_mean(name, names, "it has") or "it has none",
        )

    def _shape(self, name: str, arg: ArgSpec, info: onnx.TensorInfo) -> tuple[int, ...]:
        if not isinstance(arg, ShapeSpec) or arg.sharding is not None:
            error = UsageError(
                f"input {name!r} of {self.name} needs a shape, because it is one array",
                hint=f"such as {form_of(self.spec, 'args', name, _example(info))}",
            )
            raise with_line(error, self.spec, "args", name)
        if arg.dtype != info.dtype.name:
            error = UsageError(
                f"input {name!r} of {self.name} is an array of {info.dtype.name}, and got {arg}"
            )
            raise with_line(error, self.spec, "args", name)
        return arg.sizes

    def _complete(
        self, info: onnx.TensorInfo, arguments: Mapping[str, ArgSpec], sizes: Mapping[str, int]
    ) -> tuple[int, ...]:
        """Return the shape of an input, with the numbers of its free sizes."""
        arg = arguments.get(info.name)
        if isinstance(arg, ShapeSpec):
            return arg.sizes
        if info.dims is None:
            raise UsageError(
                f"{self.name} does not declare the shape of its input {info.name!r}",
                hint=f"give it: {form_of(self.spec, 'args', info.name, _example(info))}",
            )
        for size in info.dims:
            if isinstance(size, str) and size not in sizes:
                with at_key(self.spec, "args"):
                    raise UsageError(
                        f"input {info.name!r} of {self.name} has the free size {size!r}",
                        hint=f"give it: {form_of(self.spec, 'args', size, str(_SIZE))}",
                    )
        return tuple(sizes[size] if isinstance(size, str) else size for size in info.dims)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Put the name of the model before the message of an error that does not have it."""
    try:
        yield
    except OlympusError as error:
        if name not in str(error):
            error.args = (f"{name}: {error}", *error.args[1:])
        raise


def _example(info: onnx.TensorInfo) -> str:
    """Return the shape of an input in TOML, with an example of each free size."""
    sizes = (3,) if info.dims is None else info.dims
    text = ",".join(str(_SIZE if isinstance(size, str) else size) for size in sizes)
    return f'"{info.dtype.name}[{text}]"'


def _bind(
    info: onnx.TensorInfo, shape: tuple[int, ...], sizes: dict[str, int], spec: TargetSpec
) -> None:
    """Add the free sizes of an input to `sizes`; raise UsageError for another shape."""
    if info.dims is None:
        return
    if not info.fits(shape, sizes):
        declared = [f"{d} = {sizes[d]}" if d in sizes else d for d in info.dims]
        error = UsageError(
            f"input {info.name!r} of {spec.entry} has the shape [{', '.join(map(str, declared))}], "
            f"and got [{', '.join(map(str, shape))}]"
        )
        raise with_line(error, spec, "args", info.name)


def _static_value(name: str, value: object, spec: TargetSpec) -> object:
    """Return the value of a static input: a number or nested tuples of numbers."""
    value = value.value if isinstance(value, StaticSource) else value
    if _is_numeric(value):
        return _tuples(value)
    error = UsageError(
        f"static {name!r} of {spec.entry} is the value of an input, and got {value!r:.80}",
        hint=f"write a number or an array of numbers: {form_of(spec, 'static', name, '[2, 3]')}",
    )
    raise with_line(error, spec, "static", name)


def _is_numeric(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_numeric, value))
    return isinstance(value, bool | int | float)


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def load_model(spec: TargetSpec, file: ProgramFile) -> OnnxSource:
    """Return the program of a target whose entry is an ONNX model, which is not read yet.

    Raises:
        EntryError: the file does not exist.
        UsageError: the target has a mesh or `as-is`, or a static that is not the value of an input.
    """
    check_file(spec, file)
    if spec.as_is:
        error = UsageError(f"as-is is for StableHLO and HLO, and {spec.entry} is an ONNX model")
        raise with_line(error, spec, "as-is")
    static = {name: _static_value(name, value, spec) for name, value in spec.static.items()}
    return OnnxSource(dataclasses.replace(spec, static=static), file)
