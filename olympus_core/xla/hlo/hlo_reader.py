"""Reading an optimized program from the bytes of an `HloModuleProto`.

The numbers of fields are those of `xla/service/hlo.proto`, which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, chain, pairwise

from olympus_core.base import gc_pause
from olympus_core.xla.hlo.hlo_forms import CALLS, compare_computations
from olympus_core.xla.hlo.hlo_instructions import Instructions, Tables
from olympus_core.xla.hlo.hlo_module import Alias, Computation, HloModule, Instruction
from olympus_core.xla.hlo.hlo_rows import split_computations
from olympus_core.xla.proto.wire import Message, damaged


def read_hlo_module(data: bytes | memoryview) -> HloModule:
    """Read a program from the bytes of an `HloModuleProto`, the serialized form of a module.

    Raises:
      ArtifactError: the bytes are cut off or are not a module.

    Example:
      >>> read_hlo_module(module.as_serialized_hlo_module_proto()).entry.root.opcode
      'tuple'
    """
    with gc_pause.paused():
        return _module(Message(memoryview(data)))


def _module(message: Message) -> HloModule:
    headers, instruction_messages = split_computations(message.views(3))
    instructions = Instructions([*chain.from_iterable(instruction_messages)], Tables(message))
    begins = [0, *accumulate(map(len, instruction_messages))]
    computation_forms = compare_computations(headers, begins, instructions)
    computations = {
        header.id: Computation(
            header.id,
            header.name,
            partial(instructions.between, *where),
            header.root_id,
            header.is_fusion,
            form,
        )
        for header, where, form in zip(
            headers, pairwise(begins), computation_forms.forms, strict=True
        )
    }
    module = HloModule(
        name=message.text(1),
        entry_id=message.integer(6),
        computations=computations,
        schedule=_schedule(message.message(7)),
        input_output_alias=_aliases(message.message(8)),
    )
    _check(module, {form for form, sound in zip(*computation_forms, strict=True) if sound})
    return module


def _check(module: HloModule, sound: set[int]) -> None:
    """Raise ArtifactError if an id refers to nothing, so that readers of a module need no check.

    Computations of the forms in `sound` are already checked.
    """
    if module.entry_id not in module.computations:
        raise damaged("it is not a module: it has no entry")
    for computation in module.computations.values():
        if computation.form in sound:
            continue
        if computation.root_id not in computation.instructions:
            raise damaged(f"the computation '{computation.name}' has no root")
        for instruction in computation.instructions.values():
            _check_instruction(instruction, computation, module)
    for id, order in module.schedule.items():
        if id not in module.computations:
            raise damaged("its schedule does not have its instructions")
        _check_order(order, module.computations[id])
    parameters = len(module.entry.parameters)
    if not all(0 <= alias.parameter < parameters for alias in module.input_output_alias):
        raise damaged("an alias names a missing parameter")


def _check_instruction(
    instruction: Instruction, computation: Computation, module: HloModule
) -> None:
    instructions = computation.instructions
    if not all(id in instructions for id in instruction.operand_ids):
        raise damaged(f"an operand of '{instruction.name}' is missing")
    called = instruction.called_computation_ids
    required_calls = CALLS.get(instruction.opcode, len(called))
    if len(called) != required_calls or not all(id in module.computations for id in called):
        raise damaged(f"a computation that '{instruction.name}' calls is missing")
    if instruction.opcode == "get-tuple-element":
        elements = [len(instructions[id].shape.elements) for id in instruction.operand_ids]
        if not elements or not 0 <= instruction.tuple_index < elements[0]:
            raise damaged(f"'{instruction.name}' is no element of a tuple")


def _check_order(order: tuple[int, ...], computation: Computation) -> None:
    """Raise ArtifactError where an order is not of all instructions, operands before users."""
    ordered_ids: set[int] = set()
    for id in order:
        if id not in computation.instructions or id in ordered_ids:
            raise damaged("its schedule does not have its instructions")
        if not ordered_ids.issuperset(computation.instructions[id].operand_ids):
            raise damaged("its schedule has an instruction before its operands")
        ordered_ids.add(id)
    if len(ordered_ids) != len(computation.instructions):
        raise damaged("its schedule does not have its instructions")


def _schedule(message: Message | None) -> dict[int, tuple[int, ...]]:
    sequences = message.messages(1) if message else []
    return {m.integer(1): _ids(m.message(2), 1) for m in sequences}


def _ids(message: Message | None, number: int) -> tuple[int, ...]:
    return message.integers(number) if message else ()


def _aliases(message: Message | None) -> tuple[Alias, ...]:
    return tuple(
        Alias(m.integers(1), m.integer(2), m.integers(3), must=m.integer(4) == 2)
        for m in (message.messages(1) if message else [])
    )
