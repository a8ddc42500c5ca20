"""Which operation of one block is which of another.

The method is that of tree differencing (J.-R. Falleri et al., "Fine-grained and accurate source
code differencing", ASE 2014), from both ends of a graph instead of from the top of a tree:

1. Operations with one hash from above and one from below are the same.
2. Then those with one hash from above: whatever changed is below them.  Then those with one hash
   from below: whatever changed is above them.  So an operation that was inserted or left out
   changes nothing for the others.
3. Those between two changes have other hashes on both sides.  One is matched when its signature is
   the same and all that it reads is matched, or what reads it is.  The rest are aligned in the
   linear order of the program, by their signatures, between operations that are matched already.
4. The same again with names of operations in the place of signatures: these are operations with
   other attributes or types.
5. What is left is a change of the operation itself, where two that read the same, or are read by
   the same, give the same type.  All else was added or removed.

Every step is linear in the number of operations but the alignment, which is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from olympus_core.analysis.alignment import common, rising
from olympus_core.analysis.graph import Block, Constant, Operation, Value
from olympus_core.analysis.structure import (
    Signatures,
    argument_hashes,
    digest,
    from_above,
    from_below,
)

__all__ = ["Matching", "match_blocks", "pair_up"]

Key = Callable[[Operation], Hashable]
_Index = dict[Hashable, list[Operation]]
_MOST_USES = 1000  # of one value, that are looked at for an operation in the place of another
_SAME_KIND = 4  # what one name is worth, in reads and uses in common


@dataclass
class Matching:
    """What is matched so far; `there` and `back` are each other's inverse."""

    first: Signatures
    second: Signatures
    there: dict[Operation | Block, Operation | Block] = field(default_factory=dict)
    back: dict[Operation | Block, Operation | Block] = field(default_factory=dict)
    arguments: dict[Value, Value] = field(default_factory=dict)  # of matched blocks

    def add(self, one: Operation | Block, other: Operation | Block) -> None:
        """Match two operations or blocks."""
        self.there[one], self.back[other] = other, one

    def value(self, value: Value) -> Value | None:
        """The value of the second program that is matched with one of the first, if any."""
        owner = value.owner
        if isinstance(owner, Constant):
            return value
        if isinstance(owner, Block):
            return self.arguments.get(value)
        other = self.there.get(owner)
        if not isinstance(other, Operation) or value.number >= len(other.types):
            return None
        return Value(other, value.number, other.types[value.number])


def pair_up(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of arguments or results that are the same one: by their keys, then by position."""
    found = common(first, second)
    lefts, rights = {i for i, _ in found}, {j for _, j in found}
    if len(first) == len(second):
        found += [(i, i) for i in range(len(first)) if i not in lefts and i not in rights]
    return sorted(found)


def match_blocks(
    one: Block,
    other: Block,
    matching: Matching,
    arguments: Sequence[tuple[int, int]],
    results: Sequence[tuple[int, int]],
) -> None:
    """Match the operations of two blocks, given the pairs of their arguments and of their results.

    What they read from outside is matched already.
    """
    matching.add(one, other)
    for i, j in arguments:
        value = Value(other, j, other.arguments[j])
        matching.arguments[Value(one, i, one.arguments[i])] = value
    _by_hashes(one, other, matching, arguments, results)
    _Rest(one, other, matching, results).match()


def _by_hashes(
    one: Block,
    other: Block,
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
    for index, value in enumerate(_captured(one)):  # matched before, or of one program alone
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
            lambda x: (above[Value(x, 0, "")], below[x]),
            lambda x: (above_there[Value(x, 0, "")], below_there[x]),
        ),
        (lambda x: above[Value(x, 0, "")], lambda x: above_there[Value(x, 0, "")]),
        (lambda x: below[x], lambda x: below_there[x]),
    ]
    for key, key_there in pairs:
        waiting = _index(other.operations, matching, key_there)
        for each in one.operations:
            if each not in matching.there and (found := waiting.get(key(each))):
                matching.add(each, found.pop())


def _captured(block: Block) -> Iterable[Value]:
    """What the operations of a block read from outside it, in the order of their first use."""
    inside = {block, *block.operations}
    read = [value for each in block.operations for value in each.reads]
    return dict.fromkeys(
        value
        for value in [*read, *block.results]
        if not isinstance(value.owner, Constant) and value.owner not in inside
    )


def _index(operations: Sequence[Operation], matching: Matching, key: Key) -> _Index:
    """Those that are not matched, by a key; the last is the first of the program."""
    found: _Index = {}
    for each in reversed(operations):
        if each not in matching.back:
            found.setdefault(key(each), []).append(each)
    return found


class _Rest:
    """The operations of two blocks that hashes did not match."""

    def __init__(
        self,
        one: Block,
        other: Block,
        matching: Matching,
        results: Sequence[tuple[int, int]],
    ) -> None:
        self._one, self._other, self._matching = one, other, matching
        self._uses = _uses(one), _uses(other)
        self._results = {i: other.results[j] for i, j in results}

    def match(self) -> None:
        """Match them, with signatures, then names, then neighbours."""
        first, second = self._matching.first, self._matching.second
        for key, key_there in ((first.operation, second.operation), (_kind, _kind)):
            if not self._unmatched():
                return
            self._with_neighbours(key, key_there)
            self._in_order(key, key_there)
            self._with_neighbours(key, key_there)
        while self._replaced():
            self._with_neighbours(first.operation, second.operation)

    def _unmatched(self) -> list[Operation]:
        return [each for each in self._one.operations if each not in self._matching.there]

    def _with_neighbours(self, key: Key, key_there: Key) -> None:
        """Match what reads the same, then what is read by the same."""
        matching = self._matching
        waiting = _index(
            self._other.operations, matching, lambda x: (key_there(x), *map(_named, x.reads))
        )
        for each in self._unmatched():
            read = [matching.value(value) for value in each.reads]
            if None in read or not read:
                continue
            found = waiting.get((key(each), *(_named(value) for value in read if value)))
            if found:
                matching.add(each, found.pop())
        for each in reversed(self._unmatched()):
            for candidate in self._above_users(each):
                if key(each) == key_there(candidate):
                    matching.add(each, candidate)
                    break

    def _above_users(self, operation: Operation) -> Iterable[Operation]:
        """What stands, in the other program, where this operation is read from."""
        for user, position in self._uses[0].get(operation, ()):
            value: Value | None = None
            if isinstance(user, Block):
                value = self._results.get(position)
            else:
                there = self._matching.there.get(user)
                if isinstance(there, Operation) and position < len(there.reads):
                    value = there.reads[position]
            owner = value.owner if value else None
            if isinstance(owner, Operation) and self._is_free(owner):
                yield owner

    def _is_free(self, operation: Operation) -> bool:
        """Whether an operation of the other block is not matched."""
        return operation not in self._matching.back and operation in self._uses[1]

    def _below_operands(self, operation: Operation) -> Iterable[Operation]:
        """What reads, in the other program, what this operation reads, at the same position."""
        for position, value in enumerate(operation.reads):
            read = self._matching.value(value)
            if read is None or isinstance(read.owner, Constant):
                continue
            for user, there in self._uses[1].get(read.owner, ())[:_MOST_USES]:
                if not isinstance(user, Operation) or there != position:
                    continue
                if self._is_free(user) and _named(user.reads[there]) == _named(read):
                    yield user

    def _in_order(self, key: Key, key_there: Key) -> None:
        """Align what is left between the operations that are matched, in their linear order."""
        places = {each: j for j, each in enumerate(self._other.operations)}
        matched = [
            (i, places[there])
            for i, each in enumerate(self._one.operations)
            if isinstance(there := self._matching.there.get(each), Operation) and there in places
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
        """Match operations in the same place, of other names but one type; whether any was."""
        found = False
        unmatched = self._unmatched()
        for each in (*unmatched, *reversed(unmatched)):  # a chain of them is found in either order
            if each in self._matching.there:
                continue
            votes: dict[Operation, int] = {}
            for candidate in (*self._above_users(each), *self._below_operands(each)):
                calls = each.callees or candidate.callees  # no other operation does what one does
                if candidate.name == each.name or (candidate.types == each.types and not calls):
                    worth = _SAME_KIND if candidate.name == each.name else 1
                    votes[candidate] = votes.get(candidate, 0) + worth
            if votes:
                self._matching.add(each, max(votes, key=lambda x: votes[x]))
                found = True
        return found


def _kind(operation: Operation) -> Hashable:
    return operation.name, len(operation.operands), len(operation.types), len(operation.blocks)


def _named(value: Value) -> Hashable:
    """A key of a value that one of another type, or another constant, has too."""
    return None if isinstance(value.owner, Constant) else (value.owner, value.number)


def _uses(block: Block) -> dict[Operation | Block, list[tuple[Operation | Block, int]]]:
    """What reads each operation and argument of a block, and at what position.

    A result of the block is read by the block.
    """
    found: dict[Operation | Block, list[tuple[Operation | Block, int]]] = {
        each: [] for each in block.operations
    }
    readers: list[tuple[Operation | Block, tuple[Value, ...]]] = [
        *((each, each.reads) for each in block.operations),
        (block, block.results),
    ]
    for reader, values in readers:
        for position, value in enumerate(values):
            if not isinstance(value.owner, Constant):
                found.setdefault(value.owner, []).append((reader, position))
    return found
