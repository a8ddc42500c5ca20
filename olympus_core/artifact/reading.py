"""The reader of a manifest's bytes, which are untrusted.

Every part is checked against the types and forms of `bundle.schema.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from olympus_core import xla
from olympus_core.artifact.host import Host
from olympus_core.artifact.manifest import (
    ARRAY_FIELDS,
    SCHEMA_VERSION,
    Manifest,
    Member,
    Signature,
    StoredExecutable,
)
from olympus_core.artifact.reading_shardings import parse_placement, parse_shardings
from olympus_core.artifact.shardings import StoredPlacement
from olympus_core.artifact.stored_tree import MAX_DEPTH, PARTS, Node
from olympus_core.artifact.value import JsonValue
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.base.json_records import DataError, parse_json
from olympus_core.stages.interface import ArgInfo

_T = TypeVar("_T")


def parse_manifest(content: bytes) -> Manifest:
    """Parse the bytes of `manifest.json`.

    Raises:
      ArtifactError: they are not JSON, have another schema version, or do not match the schema.
    """
    try:
        document = parse_json(content)
    except DataError as exc:
        raise ArtifactError(f"its manifest is not JSON: {exc}") from exc
    try:
        return _document(document)
    except RecursionError as exc:
        raise ArtifactError("its manifest is nested too deeply to be read") from exc


def _document(value: Any) -> Manifest:
    manifest = JsonValue(value, "the document")
    version = manifest.entries().get("schema_version")
    if version is None:
        raise ArtifactError("its manifest has no 'schema_version'")
    if type(version.value) is not int or version.value != SCHEMA_VERSION:
        raise ArtifactError(
            f"it has schema version {version.value!r:.80}, and this version of OLYMPUS reads "
            f"{SCHEMA_VERSION}: build it again, or load it with the version that built it"
        )
    return _manifest({name: JsonValue(part, name) for name, part in value.items()}, manifest)


def _manifest(fields: dict[str, JsonValue], document: JsonValue) -> Manifest:
    names = [name for name in Manifest.__dataclass_fields__ if name != "placement"]
    document.fields("schema_version", *names, optional=["placement"])
    signature = _signature(fields["signature"])
    placement = parse_placement(fields["placement"], signature) if "placement" in fields else None
    members = _mapping(fields["members"], _member)
    programs = _mapping(fields["programs"], lambda part: _known(part, members))
    return Manifest(
        name=fields["name"].name(),
        entry=fields["entry"].text(),
        function=fields["function"].name(),
        signature=signature,
        versions=_mapping(fields["versions"], JsonValue.text),
        compiler_options=_options(fields["compiler_options"]),
        programs=programs or fields["programs"].refuse("an object with a backend's program"),
        executables=fields["executables"].each(
            lambda part: _executable(part, members, signature, placement)
        ),
        members=members,
        placement=placement,
    )


def _options(value: JsonValue) -> dict[str, str | int | bool | float]:
    try:
        return xla.checked_options(_mapping(value, JsonValue.option))
    except UsageError as exc:
        raise ArtifactError(f"in its manifest, {value.where} cannot be used: {exc}") from exc


def _mapping(value: JsonValue, parse: Callable[[JsonValue], _T]) -> dict[str, _T]:
    return {name: parse(part) for name, part in value.entries().items()}


def _known(value: JsonValue, members: Mapping[str, Member]) -> str:
    return value.text() if value.text() in members else value.refuse("the name of a member")


def _member(value: JsonValue) -> Member:
    fields = value.fields("sha256", "size")
    digest = fields["sha256"]
    if not re.fullmatch("[0-9a-f]{64}", digest.text()):
        digest.refuse("64 hexadecimal digits")
    return Member(digest.text(), fields["size"].size())


def _executable(
    value: JsonValue,
    members: Mapping[str, Member],
    signature: Signature,
    placement: StoredPlacement | None,
) -> StoredExecutable:
    more = [] if placement is None else ["shardings"]
    fields = value.fields("member", "backend", "device", "host", *more, optional=["topology"])
    backend, device = fields["backend"].text(), fields["device"].text_or_none()
    topology = None
    if "topology" in fields:
        topology = _topology(fields["topology"], backend, device)
    try:
        may_be_own = xla.is_device_name(backend, device)
        if backend != "tpu" or not may_be_own:
            known = None if may_be_own else device
            xla.target(backend, known, None, topology and str(topology))
    except UsageError as exc:
        raise ArtifactError(f"in its manifest, {value.where} has an unknown target: {exc}") from exc
    return StoredExecutable(
        _known(fields["member"], members),
        backend,
        device,
        _host(fields["host"]),
        topology,
        None if placement is None else parse_shardings(fields["shardings"], signature, placement),
    )


def _topology(value: JsonValue, backend: str, device: str | None) -> xla.AnyTopology:
    try:
        topology = xla.topology_of(backend, device, value.text())
    except UsageError as exc:
        raise ArtifactError(f"in its manifest, {value.where} is not usable: {exc}") from exc
    if str(topology) != value.text():
        value.refuse(f"{topology}, as it is written")
    return topology


def _host(value: JsonValue) -> Host:
    fields = value.fields("system", "machine", "cpu_features")
    features = fields["cpu_features"]
    return Host(
        fields["system"].text(),
        fields["machine"].text(),
        None if features.value is None else features.each(JsonValue.text),
    )


def _signature(value: JsonValue) -> Signature:
    fields = value.fields(*Signature.__dataclass_fields__)
    arguments = fields["arguments"].each(_argument)
    results = fields["results"].each(_result)
    return Signature(
        arguments=arguments,
        argument_tree=_call_tree(fields["argument_tree"], len(arguments)),
        results=results,
        result_tree=_tree(fields["result_tree"], len(results)),
        static={name: part.value for name, part in fields["static"].entries().items()},
    )


def _argument(value: JsonValue) -> ArgInfo:
    return _array(value.fields(*ARRAY_FIELDS, "donated"))


def _result(value: JsonValue) -> ArgInfo:
    return _array(value.fields(*ARRAY_FIELDS))


def _array(fields: Mapping[str, JsonValue]) -> ArgInfo:
    return ArgInfo(
        name=fields["name"].name(),
        dtype=fields["dtype"].dtype(),
        shape=fields["shape"].each(JsonValue.size),
        weak_type=fields["weak_type"].flag(),
        donated="donated" in fields and fields["donated"].flag(),
    )


def _tree(value: JsonValue, leaves: int) -> Node:
    node = _node(value, 0)
    if node.leaves() != leaves:
        raise ArtifactError(
            f"in its manifest, {value.where} has {node.leaves()} leaves for {leaves} arrays"
        )
    return node


def _call_tree(value: JsonValue, leaves: int) -> Node:
    node = _tree(value, leaves)
    if node.kind != "tuple" or [part.kind for part in node.items] != ["tuple", "dict"]:
        value.refuse("a pair of a tuple and a dict")
    return node


def _node(value: JsonValue, depth: int) -> Node:
    kind = value.entries().get("kind") or value.refuse("a node of a tree")
    if not isinstance(kind.value, str) or kind.value not in PARTS:
        kind.refuse(f"one of {', '.join(PARTS)}")
    names = PARTS[kind.value]
    fields = value.fields("kind", *names)
    if depth == MAX_DEPTH and names:
        raise ArtifactError(f"in its manifest, a tree is nested more than {MAX_DEPTH} deep")
    items = fields["items"].each(lambda part: _node(part, depth + 1)) if "items" in names else ()
    keys = fields["keys"].each(JsonValue.key) if "keys" in names else ()
    if "keys" in names and not _fit(kind.value, keys, len(items)):
        fields["keys"].refuse("one key for each item, and in order")
    if kind.value == "key" and len(items) != 1:
        fields["items"].refuse("one array of words")
    return Node(kind.value, items, keys, fields["type"].text() if "type" in names else None)


def _fit(kind: str, keys: tuple[str | int, ...], count: int) -> bool:
    if len(set(keys)) != len(keys) or len(keys) != count:
        return False
    if kind == "namedtuple":
        return all(isinstance(key, str) for key in keys)
    if kind != "dict":
        return True
    try:
        return list(keys) == sorted(keys)
    except TypeError:
        return False
