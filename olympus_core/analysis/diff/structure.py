"""Digests of a program's structure: of operations, of values from both ends, and of the whole.

They are hashes in the manner of Merkle's trees (R. Merkle, "A digital signature based on a
conventional encryption function", CRYPTO '87): the hash of a node depends on its own content and
the hashes of its neighbours. An operation has three hashes:

- its signature: its name, attributes, types, the constants that it reads, its regions and the
  functions it calls, but not the origin of its operands;
- from above: the signature and the hashes from above of its operands;
- from below: the signature and, for each result, the hashes from below of its users.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from olympus_core.analysis.diff.graph import (
    Function,
    Graph,
    GraphBlock,
    GraphConstant,
    GraphOperation,
    GraphValue,
)
from olympus_core.base.errors import ArtifactError

#: Attributes that name arguments and results; they do not affect the program.
NAMES = frozenset(["olympus.result_info", "jax.result_info", "jax.arg_info"])


def digest(*parts: object) -> bytes:
    """Return the hash of atoms and tuples of atoms; it is the same in every process."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:16]


class Signatures:
    """The signatures of a program's operations and the digests of its functions, cached.

    Raises:
      ArtifactError: a called function is missing, or calls itself.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._functions: dict[str, bytes | None] = {}
        self._operations: dict[GraphOperation, bytes] = {}

    def fingerprint(self) -> str:
        """Return the structural fingerprint of the program."""
        parts = self._graph.attributes, self.function(self._graph.main.name)
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def function(self, name: str) -> bytes:
        """Return the digest of a function's body and interface, without its name."""
        if name not in self._graph.functions:
            raise ArtifactError(f"the program calls '{name}', and has no such function")
        if name not in self._functions:
            self._functions[name] = None
            function = self._graph.functions[name]
            self._functions[name] = digest(_interface(function), self._block(function.block))
        function_digest = self._functions[name]
        if function_digest is None:
            raise ArtifactError(f"the program's function '{name}' calls itself")
        return function_digest

    def operation(self, operation: GraphOperation) -> bytes:
        """Return the signature of an operation."""
        signature = self._operations.get(operation)
        if signature is None:
            signature = self._operations[operation] = digest(
                operation.name,
                operation.attributes,
                operation.types,
                [_constant(value) for value in operation.operands],
                len(operation.captures),
                [(block.region, self._inner(operation, block)) for block in operation.blocks],
                [self.function(name) for name in operation.callees],
            )
        return signature

    def _inner(self, operation: GraphOperation, block: GraphBlock) -> bytes:
        return self._block(
            block, {value: digest("captured", i) for i, value in enumerate(operation.captures)}
        )

    def _block(self, block: GraphBlock, outer: Mapping[GraphValue, bytes] | None = None) -> bytes:
        seen = dict(outer or {})
        seen.update(argument_hashes(block, range(len(block.arguments))))
        above = from_above(block, self, seen)
        results = [hash_of(value, above) for value in block.results]
        # the order of independent operations is not structure
        operations = sorted(above[GraphValue(operation, 0, "")] for operation in block.operations)
        return digest(block.arguments, results, operations)


def _interface(function: Function) -> object:
    """Return the attributes of a function's arguments and results, without their names."""
    return (
        [_without_names(value) for value in function.arguments],
        [_without_names(value) for value in function.results],
        function.attributes,
    )


def _without_names(attributes: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted((name, text) for name, text in attributes.items() if name not in NAMES)


def _constant(value: GraphValue) -> str | None:
    return f"{value.owner.digest} {value.type}" if isinstance(value.owner, GraphConstant) else None


def argument_hashes(block: GraphBlock, numbers: Iterable[object]) -> dict[GraphValue, bytes]:
    """Return hashes for a block's arguments, each identified by a number."""
    return {
        GraphValue(block, i, kind): digest("argument", number)
        for i, (kind, number) in enumerate(zip(block.arguments, numbers, strict=True))
    }


def hash_of(value: GraphValue, above: Mapping[GraphValue, bytes]) -> bytes:
    """Return the hash from above of a value."""
    if isinstance(value.owner, GraphConstant):
        return digest(_constant(value))
    return above[value]


def from_above(
    block: GraphBlock, signatures: Signatures, seen: Mapping[GraphValue, bytes]
) -> dict[GraphValue, bytes]:
    """Return the hashes from above of all values of a block.

    `seen` has those of its arguments and of the outside values that it reads. The hash of an
    operation has the key `Value(operation, 0, "")`.
    """
    hashes = dict(seen)
    for operation in block.operations:
        read = [hash_of(value, hashes) for value in operation.reads]
        operation_hash = hashes[GraphValue(operation, 0, "")] = digest(
            signatures.operation(operation), read
        )
        for i, kind in enumerate(operation.types):
            hashes[GraphValue(operation, i, kind)] = digest(operation_hash, i)
    return hashes


def from_below(
    block: GraphBlock, signatures: Signatures, results: Sequence[object]
) -> dict[GraphOperation, bytes]:
    """Return the hashes from below of a block's operations; `results` identify its results."""
    uses: dict[GraphValue, list[bytes]] = {}
    for value, number in zip(block.results, results, strict=True):
        uses.setdefault(value, []).append(digest("result", number))
    hashes: dict[GraphOperation, bytes] = {}
    for operation in reversed(block.operations):
        below = [
            sorted(uses.get(GraphValue(operation, i, kind), ()))
            for i, kind in enumerate(operation.types)
        ]
        operation_hash = hashes[operation] = digest(signatures.operation(operation), below)
        for i, value in enumerate(operation.reads):
            uses.setdefault(value, []).append(digest(operation_hash, i))
    return hashes


def structural_fingerprint(graph: Graph) -> str:
    """Return 64 hexadecimal digits that are equal for programs of one structure.

    They are a hash of the operations with their attributes, types and constants, of the dataflow,
    of the order of arguments and results, and of the arguments that are donated or alias a result.
    Names, source locations and the order of independent operations are not part of it.

    Raises:
      ArtifactError: a called function is missing, or calls itself.

    Example:
      >>> len(structural_fingerprint(graph_of(jit(lambda x: 2 * x).lower(1.0).module)))
      64
    """
    return Signatures(graph).fingerprint()
