"""The matching of the operations of two blocks.

The method is that of tree differencing (J.-R. Falleri et al., "Fine-grained and accurate source
code differencing", ASE 2014), from both ends of a graph instead of from the top of a tree:

1. Match operations with equal hashes from above and from below. 2. Match operations with equal
hashes from above: the changes are below them.  Then match those
   with equal hashes from below: the changes are above them.  So an inserted or removed operation
   does not affect the matching of the others.
3. Operations between two changes have different hashes on both sides.  Match two if their
   signatures are equal, and all their operands are matched or one of their users is.  Align the
   others in the linear order of the program, by signature, between matched operations.
4. Repeat step 3 with names of operations in place of signatures, for operations with other
   attributes or types.
5. Match the remaining operations that have matched operands or users and give the same type: the
   operation itself has changed.  All others were added or removed.

Every step is linear in the number of operations except the alignment, which is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from olympus_core.analysis.diff.alignment import common, rising
from olympus_core.analysis.diff.graph import GraphBlock, GraphConstant, GraphOperation, GraphValue
from olympus_core.analysis.diff.structure import (
    Signatures,
    argument_hashes,
    digest,
    from_above,
    from_below,
)

Key = Callable[[GraphOperation], Hashable]
_Index = dict[Hashable, list[GraphOperation]]
_MAX_USES = 1000  # the largest number of uses of one value that are searched for a replacement
_SAME_KIND = 4  # the weight of an equal name, in common operands and uses


@dataclass
class Matching:
    """The matched operations and blocks so far; `there` and `back` are each other's inverse."""

    first: Signatures
    second: Signatures
    there: dict[GraphOperation | GraphBlock, GraphOperation | GraphBlock] = field(
        default_factory=dict
    )
    back: dict[GraphOperation | GraphBlock, GraphOperation | GraphBlock] = field(
        default_factory=dict
    )
    # the arguments of matched blocks
    arguments: dict[GraphValue, GraphValue] = field(default_factory=dict)

    def add(self, one: GraphOperation | GraphBlock, other: GraphOperation | GraphBlock) -> None:
        """Match two operations or blocks."""
        self.there[one], self.back[other] = other, one

    def value(self, value: GraphValue) -> GraphValue | None:
        """Return the value of the second program that matches `value` of the first, or None."""
        owner = value.owner
        if isinstance(owner, GraphConstant):
            return value
        if isinstance(owner, GraphBlock):
            return self.arguments.get(value)
        other = self.there.get(owner)
        if not isinstance(other, GraphOperation) or value.number >= len(other.types):
            return None
        return GraphValue(other, value.number, other.types[value.number])


def pair_up(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return positions of equal arguments or results: by their keys, then by position."""
    pairs = common(first, second)
    lefts, rights = {i for i, _ in pairs}, {j for _, j in pairs}
    if len(first) == len(second):
        pairs += [(i, i) for i in range(len(first)) if i not in lefts and i not in rights]
    return sorted(pairs)


def match_blocks(
    one: GraphBlock,
    other: GraphBlock,
    matching: Matching,
    arguments: Sequence[tuple[int, int]],
    results: Sequence[tuple[int, int]],
) -> None:
    """Match the operations of two blocks, given the pairs of their arguments and of their results.

    The values that they read from outside are matched already.
    """
    matching.add(one, other)
    for i, j in arguments:
        value = GraphValue(other, j, other.arguments[j])
        matching.arguments[GraphValue(one, i, one.arguments[i])] = value
    _by_hashes(one, other, matching, arguments, results)
    _Unhashed(one, other, matching, results).match()


def _by_hashes(
    one: GraphBlock,
    other: GraphBlock,
    matching: Matching,
    arguments: Sequence[tuple[int, int]],
    results: Sequence[tuple[int, int]],
) -> None:
    there, back = dict(arguments), {j: i for i, j in arguments}
    known = argument_hashes(
        one, [i if i in there else f"lone {i}" for i in range(len(one.arguments))]
    )
    known_there = argument_hashes(
        other, [back.get(j, f"new {j}") for j in range(len(other.arguments))]
    )
    for index, value in enumerate(_captured(one)):  # matched before, or in one program only
        known[value] = digest("outside", index)
        if (same := matching.value(value)) is not None:
            known_there[same] = known[value]
    for index, value in enumerate(_captured(other)):
        known_there.setdefault(value, digest("outside there", index))
    number = {j: i for i, j in results}
    result_there = [number.get(j, f"new {j}") for j in range(len(other.results))]
    above = from_above(one, matching.first, known)
    above_there = from_above(other, matching.second, known_there)
    below = from_below(one, matching.first, range(len(one.results)))
    below_there = from_below(other, matching.second, result_there)
    pairs: list[tuple[Key, Key]] = [
        (
            lambda x: (above[GraphValue(x, 0, "")], below[x]),
            lambda x: (above_there[GraphValue(x, 0, "")], below_there[x]),
        ),
        (lambda x: above[GraphValue(x, 0, "")], lambda x: above_there[GraphValue(x, 0, "")]),
        (lambda x: below[x], lambda x: below_there[x]),
    ]
    for key, key_there in pairs:
        waiting = _index(other.operations, matching, key_there)
        for operation in one.operations:
            if operation not in matching.there and (candidates := waiting.get(key(operation))):
                matching.add(operation, candidates.pop())


def _captured(block: GraphBlock) -> Iterable[GraphValue]:
    """Return the outside values that a block's operations read, in the order of their first use."""
    inside = {block, *block.operations}
    read = [value for operation in block.operations for value in operation.reads]
    return dict.fromkeys(
        value
        for value in [*read, *block.results]
        if not isinstance(value.owner, GraphConstant) and value.owner not in inside
    )


def _index(operations: Sequence[GraphOperation], matching: Matching, key: Key) -> _Index:
    """Index the unmatched operations by a key; the last in a list is the first of the program."""
    index: _Index = {}
    for operation in reversed(operations):
        if operation not in matching.back:
            index.setdefault(key(operation), []).append(operation)
    return index


class _Unhashed:
    """The operations of two blocks that their hashes did not match."""

    def __init__(
        self,
        one: GraphBlock,
        other: GraphBlock,
        matching: Matching,
        results: Sequence[tuple[int, int]],
    ) -> None:
        self._one, self._other, self._matching = one, other, matching
        self._uses = _uses(one), _uses(other)
        self._results = {i: other.results[j] for i, j in results}

    def match(self) -> None:
        """Match the operations by signatures, then by names, then by neighbours."""
        first, second = self._matching.first, self._matching.second
        for key, key_there in ((first.operation, second.operation), (_kind, _kind)):
            if not self._unmatched():
                return
            self._with_neighbours(key, key_there)
            self._in_order(key, key_there)
            self._with_neighbours(key, key_there)
        while self._replaced():
            self._with_neighbours(first.operation, second.operation)

    def _unmatched(self) -> list[GraphOperation]:
        return [
            operation for operation in self._one.operations if operation not in self._matching.there
        ]

    def _with_neighbours(self, key: Key, key_there: Key) -> None:
        """Match operations with equal operands, then those with equal users."""
        matching = self._matching
        waiting = _index(
            self._other.operations, matching, lambda x: (key_there(x), *map(_named, x.reads))
        )
        for operation in self._unmatched():
            read = [matching.value(value) for value in operation.reads]
            if None in read or not read:
                continue
            candidates = waiting.get((key(operation), *(_named(value) for value in read if value)))
            if candidates:
                matching.add(operation, candidates.pop())
        for operation in reversed(self._unmatched()):
            for candidate in self._above_users(operation):
                if key(operation) == key_there(candidate):
                    matching.add(operation, candidate)
                    break

    def _above_users(self, operation: GraphOperation) -> Iterable[GraphOperation]:
        """Yield the other program's operations that the match of a user reads instead."""
        for user, position in self._uses[0].get(operation, ()):
            value: GraphValue | None = None
            if isinstance(user, GraphBlock):
                value = self._results.get(position)
            else:
                there = self._matching.there.get(user)
                if isinstance(there, GraphOperation) and position < len(there.reads):
                    value = there.reads[position]
            owner = value.owner if value else None
            if isinstance(owner, GraphOperation) and self._is_free(owner):
                yield owner

    def _is_free(self, operation: GraphOperation) -> bool:
        """Return True if an operation of the other block is not matched."""
        return operation not in self._matching.back and operation in self._uses[1]

    def _below_operands(self, operation: GraphOperation) -> Iterable[GraphOperation]:
        """Yield the other program's users of the matched operands, at the same position."""
        for position, value in enumerate(operation.reads):
            read = self._matching.value(value)
            if read is None or isinstance(read.owner, GraphConstant):
                continue
            for user, there in self._uses[1].get(read.owner, ())[:_MAX_USES]:
                if not isinstance(user, GraphOperation) or there != position:
                    continue
                if self._is_free(user) and _named(user.reads[there]) == _named(read):
                    yield user

    def _in_order(self, key: Key, key_there: Key) -> None:
        """Align the unmatched operations between matched ones, in their linear order."""
        places = {operation: j for j, operation in enumerate(self._other.operations)}
        matched = [
            (i, places[there])
            for i, operation in enumerate(self._one.operations)
            if isinstance(there := self._matching.there.get(operation), GraphOperation)
            and there in places
        ]
        ends = [*rising(matched), (len(self._one.operations), len(self._other.operations))]
        i = j = 0
        for end, end_there in ends:
            left = [x for x in self._one.operations[i:end] if x not in self._matching.there]
            right = [x for x in self._other.operations[j:end_there] if x not in self._matching.back]
            if left and right:
                for a, b in common([*map(key, left)], [*map(key_there, right)]):
                    self._matching.add(left[a], right[b])
            i, j = end + 1, end_there + 1

    def _replaced(self) -> bool:
        """Match operations with different names but equal types and neighbours; True if any was."""
        is_changed = False
        unmatched = self._unmatched()
        # a chain of replacements is found in either order
        for operation in (*unmatched, *reversed(unmatched)):
            if operation in self._matching.there:
                continue
            votes: dict[GraphOperation, int] = {}
            for candidate in (*self._above_users(operation), *self._below_operands(operation)):
                # no other operation is equivalent to a call
                calls = operation.callees or candidate.callees
                if candidate.name == operation.name or (
                    candidate.types == operation.types and not calls
                ):
                    worth = _SAME_KIND if candidate.name == operation.name else 1
                    votes[candidate] = votes.get(candidate, 0) + worth
            if votes:
                self._matching.add(operation, max(votes, key=lambda x: votes[x]))
                is_changed = True
        return is_changed


def _kind(operation: GraphOperation) -> Hashable:
    return operation.name, len(operation.operands), len(operation.types), len(operation.blocks)


def _named(value: GraphValue) -> Hashable:
    """Return a key of a value that does not depend on its type or on a constant's elements."""
    return None if isinstance(value.owner, GraphConstant) else (value.owner, value.number)


def _uses(
    block: GraphBlock,
) -> dict[GraphOperation | GraphBlock, list[tuple[GraphOperation | GraphBlock, int]]]:
    """Return the users of each operation and argument of a block, with the operand positions.

    The block is the user of its results.
    """
    users: dict[GraphOperation | GraphBlock, list[tuple[GraphOperation | GraphBlock, int]]] = {
        operation: [] for operation in block.operations
    }
    readers: list[tuple[GraphOperation | GraphBlock, tuple[GraphValue, ...]]] = [
        *((operation, operation.reads) for operation in block.operations),
        (block, block.results),
    ]
    for reader, values in readers:
        for position, value in enumerate(values):
            if not isinstance(value.owner, GraphConstant):
                users.setdefault(value.owner, []).append((reader, position))
    return users
