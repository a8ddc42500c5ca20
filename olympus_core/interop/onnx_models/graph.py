"""The interpretation of a graph: each node becomes operations that a trace records.

A value that depends only on shapes and constants is a NumPy array, which the nodes that use it see
as a number, as Python's integers are while a function is traced.
"""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError, OlympusError, UsageError
from olympus_core.interop.onnx_models.node_locations import NodeLocations
from olympus_core.interop.onnx_models.operators.refused import refusal
from olympus_core.interop.onnx_models.operators.table import (
    MAX_FOLDED,
    OnnxNode,
    Operator,
    find_operator,
)
from olympus_core.interop.onnx_models.package import onnx_package
from olympus_core.interop.onnx_models.tensors import tensor_array

_FAMILIES = (
    *("activations", "casts", "control", "convolution", "creation", "detection", "elementwise"),
    *("features", "indexing", "matrices", "normalization", "pooling", "quantization"),
    *("recurrent", "reductions", "resizing", "sampling", "shapes", "signals"),
)
for _family in _FAMILIES:
    importlib.import_module(f"olympus_core.interop.onnx_models.operators.{_family}")

_MAX_NODES = 200_000  # that one call interprets, with those of functions and of loops
#: The depth of functions and subgraphs.
MAX_DEPTH = 24
#: Errors of operators with invalid attributes or operands.
_INVALID = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    *(MemoryError, RecursionError, RuntimeError, NotImplementedError),
)

Values = Mapping[str, Any]


@dataclass(frozen=True)
class GraphScope:
    """The surroundings of nodes: values by name, and the attributes of the function around them."""

    values: ChainMap[str, Any]
    attributes: Mapping[str, Any]
    opsets: Mapping[str, int]
    depth: int


@dataclass
class Interpreter:
    """The interpretation of one model's graph and functions, in one call.

    `functions` are the model's own by domain, name and overload; `folder` has external data.
    `locations` are those of the operations of each node.
    """

    functions: Mapping[tuple[str, str, str], Any]
    folder: Path | None
    locations: NodeLocations
    nodes: int = field(default=0)

    def run(
        self, graph: Any, inputs: Values, outputs: Sequence[str], opsets: Mapping[str, int]
    ) -> list[Any]:
        """Return outputs of the model's graph for the values of its inputs and initializers."""
        scope = GraphScope(ChainMap(dict(inputs)), {}, opsets, 0)
        for number, node in needed_nodes(graph.node, outputs):
            with self.locations.of(number, node):
                self._run_nodes([node], scope)
        results = [self._value(scope, name) for name in outputs]
        for name, result in zip(outputs, results, strict=True):
            if result is None:
                raise ArtifactError(f"the output {name!r:.80} has no value")
        return results

    def _run_nodes(self, nodes: Sequence[Any], scope: GraphScope) -> None:
        if scope.depth > MAX_DEPTH:
            raise ArtifactError(f"functions and subgraphs are nested deeper than {MAX_DEPTH}")
        for proto in nodes:
            self.nodes += 1
            if self.nodes > _MAX_NODES:
                raise ArtifactError(f"the graph has more than {_MAX_NODES} nodes to interpret")
            results = self._run_node(proto, scope)
            for name, result in zip(proto.output, results, strict=False):
                if name:
                    scope.values[name] = result

    def _value(self, scope: GraphScope, name: str) -> Any:
        if name not in scope.values:
            raise ArtifactError(f"the value {name!r:.80} is not defined")
        return scope.values[name]

    def _run_node(self, proto: Any, scope: GraphScope) -> Sequence[Any]:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        check_names(*proto.input, *proto.output, proto.name, proto.op_type, proto.domain)
        where = f"node {proto.name or ', '.join(proto.output)!r:.80} ({proto.op_type})"
        try:
            inputs = tuple(self._value(scope, name) if name else None for name in proto.input)
            attributes = self._attributes(proto, scope)
            function = self.functions.get((domain, proto.op_type, proto.overload))
            if function is not None:
                return self._call(function, inputs, attributes, scope)
            version = scope.opsets.get(domain, scope.opsets.get("", 1) if not domain else 1)
            row = find_operator(domain, proto.op_type, version)
            if row is not None:
                return self._apply(row, proto, inputs, attributes, version, scope)
            return self._run_schema(proto, domain, version, inputs, attributes, scope)
        except UsageError as error:
            raise UsageError(f"{where}: {error}", hint=error.hint) from error
        except OlympusError as error:
            raise ArtifactError(f"{where}: {error}") from error
        except _INVALID as error:
            raise ArtifactError(f"{where} is invalid: {error!r:.300}") from error

    def _attributes(self, proto: Any, scope: GraphScope) -> dict[str, Any]:
        attributes = {}
        for attribute in proto.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name in scope.attributes:
                    attributes[attribute.name] = scope.attributes[attribute.ref_attr_name]
            else:
                attributes[attribute.name] = self._attribute(attribute)
        return attributes

    def _attribute(self, attribute: Any) -> Any:
        value = onnx_package().helper.get_attribute_value(attribute)
        kinds = onnx_package().AttributeProto
        if attribute.type == kinds.TENSOR:
            return tensor_array(value, self.folder)
        if attribute.type in (kinds.SPARSE_TENSOR, kinds.SPARSE_TENSORS):
            raise UsageError("sparse tensors are not supported")
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if attribute.type == kinds.STRINGS:
            return [text.decode("utf-8", "replace") for text in value]
        return list(value) if attribute.type in (kinds.INTS, kinds.FLOATS) else value

    def _apply(
        self,
        row: Operator,
        proto: Any,
        inputs: tuple[Any, ...],
        attributes: dict[str, Any],
        version: int,
        scope: GraphScope,
    ) -> Sequence[Any]:
        known = all(value is None or isinstance(value, np.ndarray) for value in inputs)
        size = sum(value.size for value in inputs if value is not None)
        folds = row.folds and known and size <= MAX_FOLDED
        node = OnnxNode(
            proto.op_type,
            proto.name,
            version,
            attributes,
            inputs,
            tuple(proto.input),
            len(proto.output),
            folds,
            lambda graph, values: self.run_subgraph(graph, values, scope),
        )
        with np.errstate(all="ignore"):
            results = row.function(node, *inputs)
        results = results if isinstance(results, tuple | list) else (results,)
        return [np.asarray(v) if isinstance(v, np.generic) else v for v in results]

    def run_subgraph(self, graph: Any, values: Sequence[Any], scope: GraphScope) -> list[Any]:
        """Return the outputs of a subgraph, which sees the values of the scope around it."""
        if len(values) != len(graph.input):
            raise ArtifactError(f"a subgraph has {len(graph.input)} inputs, not {len(values)}")
        own = {tensor.name: tensor_array(tensor, self.folder) for tensor in graph.initializer}
        own.update(zip((value.name for value in graph.input), values, strict=True))
        inner = GraphScope(
            scope.values.new_child(own), scope.attributes, scope.opsets, scope.depth + 1
        )
        self._run_nodes(graph.node, inner)
        return [self._value(inner, output.name) for output in graph.output]

    def _call(
        self, function: Any, inputs: Sequence[Any], attributes: Mapping[str, Any], scope: GraphScope
    ) -> Sequence[Any]:
        """Return the results of a function of the model or of a schema."""
        bound_attributes = {p.name: self._attribute(p) for p in function.attribute_proto}
        bound_attributes.update(attributes)
        padded = [*inputs, *(None,) * (len(function.input) - len(inputs))]
        values = ChainMap(dict(zip(function.input, padded, strict=True)))
        opsets = {**scope.opsets, **opset_versions(function.opset_import)}
        inner = GraphScope(values, bound_attributes, opsets, scope.depth + 1)
        self._run_nodes(function.node, inner)
        return [inner.values.get(name) for name in function.output]

    def _run_schema(
        self,
        proto: Any,
        domain: str,
        version: int,
        inputs: tuple[Any, ...],
        attributes: dict[str, Any],
        scope: GraphScope,
    ) -> Sequence[Any]:
        """Return the results of an operator from the function in its schema."""
        reason = refusal(domain, proto.op_type)
        defs = onnx_package("onnx.defs")
        if reason is None and defs.has(proto.op_type, version, domain):
            schema = defs.get_schema(proto.op_type, version, domain)
            for attribute in schema.attributes.values():
                default = attribute.default_value
                if default.name and attribute.name not in attributes:
                    attributes[attribute.name] = self._attribute(default)
            resolved = _resolved(proto, attributes)
            function = _schema_function(schema, resolved, version, inputs)
            if function is not None:
                return self._call(function, inputs, attributes, scope)
        name = f"{domain}.{proto.op_type}" if domain else proto.op_type
        raise UsageError(f"operator {name} of version {version} is not supported", hint=reason)


def _resolved(proto: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a node with the values of attributes that refer to those of a function."""
    onnx = onnx_package()
    if not any(attribute.ref_attr_name for attribute in proto.attribute):
        return proto
    node = onnx.NodeProto()
    node.CopyFrom(proto)
    del node.attribute[:]
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            node.attribute.append(attribute)
        elif attribute.name in attributes:
            value = attributes[attribute.name]
            if isinstance(value, np.ndarray):
                value = onnx.numpy_helper.from_array(value)
            node.attribute.append(onnx.helper.make_attribute(attribute.name, value))
    return node


def _schema_function(schema: Any, proto: Any, version: int, inputs: tuple[Any, ...]) -> Any:
    """Return the `FunctionProto` of a schema for a node; None if it has none."""
    onnx = onnx_package()
    function = onnx.FunctionProto()
    if schema.has_function:
        function.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        types = [_type_of(value) for value in inputs]
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= version]
        content = schema.get_context_dependent_function_with_opset_version(
            max(versions, default=version), proto.SerializeToString(), types
        )
        function.ParseFromString(content)
    else:
        return None
    return function


def _type_of(value: Any) -> bytes:
    """Return the serialized `TypeProto` of a value; that of an absent one is empty."""
    onnx = onnx_package()
    if value is None:
        return bytes(onnx.TypeProto().SerializeToString())
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    return bytes(onnx.helper.make_tensor_type_proto(number, value.shape).SerializeToString())


def check_names(*names: Any) -> None:
    """Raise ArtifactError for a name that is not UTF-8, which the parser returns as bytes."""
    for name in names:
        if not isinstance(name, str):
            raise ArtifactError(f"the name {name!r:.80} is not UTF-8")


def opset_versions(imports: Sequence[Any]) -> dict[str, int]:
    """Return the versions of the domains that a model or a function imports."""
    return {"" if item.domain == "ai.onnx" else item.domain: item.version for item in imports}


def subgraphs(proto: Any) -> Iterator[Any]:
    """Yield the subgraphs among the attributes of a node."""
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def used_names(proto: Any) -> set[str]:
    """Return the names of the values that a node uses, with those of its subgraphs."""
    names, graphs = set(proto.input), list(subgraphs(proto))
    while graphs:
        graph = graphs.pop()
        names.update(output.name for output in graph.output)
        for inner in graph.node:
            names.update(inner.input)
            graphs.extend(subgraphs(inner))
    return names


def needed_nodes(nodes: Sequence[Any], outputs: Sequence[str]) -> list[tuple[int, Any]]:
    """Return the nodes, in their order, that outputs depend on, with their numbers from 1 on."""
    needed, nodes_used = set(outputs), []
    for i, proto in enumerate(reversed(nodes)):
        if needed.intersection(proto.output):
            nodes_used.append((len(nodes) - i, proto))
            needed |= used_names(proto)
    return nodes_used[::-1]
