"""Digests of a program's structure: of operations, of values from both ends, and of it all.

They are hashes in the manner of Merkle's trees (R. Merkle, "A digital signature based on a
conventional encryption function", CRYPTO '87): that of a node is taken from its own content and the
hashes of its neighbours.  Three are taken of an operation:

- its signature: its name, attributes, types, the constants that it reads, its regions and the
  functions it calls, and not where its operands come from;
- from above: the signature and the hashes from above of what it reads;
- from below: the signature and, for each result, the hashes from below of what reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from olympus_core.analysis.graph import Block, Constant, Function, Graph, Operation, Value
from olympus_core.errors import ArtifactError

__all__ = ["Signatures", "digest", "from_above", "from_below", "structural_fingerprint"]

#: Attributes of arguments and results that name them, and are of no effect on the program.
NAMES = frozenset(["olympus.result_info", "jax.result_info", "jax.arg_info"])


def digest(*parts: object) -> bytes:
    """The hash of some atoms and tuples of these, the same in every process."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:16]


class Signatures:
    """The signatures of a program's operations and the digests of its functions, each taken once.

    Raises:
      ArtifactError: when a function is called that is not there, or calls itself.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._functions: dict[str, bytes | None] = {}
        self._operations: dict[Operation, bytes] = {}

    def fingerprint(self) -> str:
        """The structural fingerprint of the program."""
        parts = self._graph.attributes, self.function(self._graph.main.name)
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def function(self, name: str) -> bytes:
        """The digest of what a function does, whatever its name."""
        if name not in self._graph.functions:
            raise ArtifactError(f"the program calls '{name}', and has no such function")
        if name not in self._functions:
            self._functions[name] = None
            function = self._graph.functions[name]
            self._functions[name] = digest(_interface(function), self._block(function.block))
        found = self._functions[name]
        if found is None:
            raise ArtifactError(f"the program's function '{name}' calls itself")
        return found

    def operation(self, operation: Operation) -> bytes:
        """The signature of an operation."""
        found = self._operations.get(operation)
        if found is None:
            found = self._operations[operation] = digest(
                operation.name,
                operation.attributes,
                operation.types,
                [_constant(value) for value in operation.operands],
                len(operation.captures),
                [(block.region, self._inner(operation, block)) for block in operation.blocks],
                [self.function(name) for name in operation.callees],
            )
        return found

    def _inner(self, operation: Operation, block: Block) -> bytes:
        return self._block(
            block, {value: digest("captured", i) for i, value in enumerate(operation.captures)}
        )

    def _block(self, block: Block, outer: Mapping[Value, bytes] | None = None) -> bytes:
        seen = dict(outer or {})
        seen.update(argument_hashes(block, range(len(block.arguments))))
        above = from_above(block, self, seen)
        results = [hash_of(value, above) for value in block.results]
        # the order of those that do not depend on each other is not structure
        all_of_them = sorted(above[Value(each, 0, "")] for each in block.operations)
        return digest(block.arguments, results, all_of_them)


def _interface(function: Function) -> object:
    """What is said of a function's arguments and results, without their names."""
    return (
        [_told(each) for each in function.arguments],
        [_told(each) for each in function.results],
        function.attributes,
    )


def _told(attributes: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted((name, text) for name, text in attributes.items() if name not in NAMES)


def _constant(value: Value) -> str | None:
    return f"{value.owner.digest} {value.type}" if isinstance(value.owner, Constant) else None


def argument_hashes(block: Block, numbers: Iterable[object]) -> dict[Value, bytes]:
    """Hashes for a block's arguments, each told by a number."""
    return {
        Value(block, i, kind): digest("argument", number)
        for i, (kind, number) in enumerate(zip(block.arguments, numbers, strict=True))
    }


def hash_of(value: Value, above: Mapping[Value, bytes]) -> bytes:
    """The hash from above of a value."""
    if isinstance(value.owner, Constant):
        return digest(_constant(value))
    return above[value]


def from_above(
    block: Block, signatures: Signatures, seen: Mapping[Value, bytes]
) -> dict[Value, bytes]:
    """The hashes from above of all values of a block.

    `seen` has those of its arguments and of what it reads from outside.  That of an operation is
    under `Value(operation, 0, "")`.
    """
    found = dict(seen)
    for each in block.operations:
        read = [hash_of(value, found) for value in each.reads]
        own = found[Value(each, 0, "")] = digest(signatures.operation(each), read)
        for i, kind in enumerate(each.types):
            found[Value(each, i, kind)] = digest(own, i)
    return found


def from_below(
    block: Block, signatures: Signatures, results: Sequence[object]
) -> dict[Operation, bytes]:
    """The hashes from below of a block's operations; `results` tell its results, in their order."""
    uses: dict[Value, list[bytes]] = {}
    for value, number in zip(block.results, results, strict=True):
        uses.setdefault(value, []).append(digest("result", number))
    found: dict[Operation, bytes] = {}
    for each in reversed(block.operations):
        below = [sorted(uses.get(Value(each, i, kind), ())) for i, kind in enumerate(each.types)]
        own = found[each] = digest(signatures.operation(each), below)
        for i, value in enumerate(each.reads):
            uses.setdefault(value, []).append(digest(own, i))
    return found


def structural_fingerprint(graph: Graph) -> str:
    """64 hexadecimal digits, equal for programs of one structure, whoever lowered them and where.

    It is of the operations with their attributes, types and constants, of how values go from one to
    the next, of the order of arguments and results, and of which arguments are donated or share
    memory with a result.  Names, source locations and the order of independent operations are not
    part of it.

    Raises:
      ArtifactError: when a function is called that is not there, or calls itself.

    Example:
      >>> structural_fingerprint(graph_of(lowered.module))
    """
    return Signatures(graph).fingerprint()
