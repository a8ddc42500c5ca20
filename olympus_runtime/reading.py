"""The reader of a manifest's bytes, which are untrusted.

Every part is checked against the types and forms of `bundle.schema.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from olympus_runtime.errors import ArtifactError, DataError
from olympus_runtime.host import COMPILERS, Host
from olympus_runtime.json_value import JsonValue, parse_json
from olympus_runtime.manifest import (
    ARRAY_FIELDS,
    SCHEMA_VERSION,
    ArrayInfo,
    Manifest,
    Member,
    Signature,
    StoredExecutable,
)
from olympus_runtime.tree import MAX_DEPTH, PARTS, TreeNode

_T = TypeVar("_T")


class ManifestReader:
    """The reader of a manifest; a subclass may read some parts as other records."""

    array: ClassVar[type[ArrayInfo]] = ArrayInfo
    node: ClassVar[type[TreeNode]] = TreeNode
    manifest: ClassVar[type[Manifest]] = Manifest
    signature: ClassVar[type[Signature]] = Signature

    def parse(self, content: bytes) -> Manifest:
        """Parse the bytes of `manifest.json`.

        Raises:
          ArtifactError: they are not JSON, have another schema version, or do not match the schema.
        """
        try:
            document = parse_json(content)
        except DataError as exc:
            raise ArtifactError(f"its manifest is not JSON: {exc}") from exc
        try:
            return self._document(document)
        except RecursionError as exc:
            raise ArtifactError("its manifest is nested too deeply to be read") from exc

    def _document(self, value: Any) -> Manifest:
        document = JsonValue(value, "the document")
        version = document.entries().get("schema_version")
        if version is None:
            raise ArtifactError("its manifest has no 'schema_version'")
        if type(version.value) is not int or version.value != SCHEMA_VERSION:
            raise ArtifactError(
                f"it has schema version {version.value!r:.80}, and this version of OLYMPUS reads "
                f"{SCHEMA_VERSION}: build it again, or load it with the version that built it"
            )
        return self._manifest(
            {name: JsonValue(part, name) for name, part in value.items()}, document
        )

    def _manifest(self, fields: dict[str, JsonValue], document: JsonValue) -> Manifest:
        names = [name for name in Manifest.__dataclass_fields__ if name != "placement"]
        document.fields("schema_version", *names, optional=["placement"])
        signature = self._signature(fields["signature"])
        placement = (
            self.placement(fields["placement"], signature) if "placement" in fields else None
        )
        members = _mapping(fields["members"], _member)
        programs = _mapping(fields["programs"], lambda part: _known(part, members))
        return self.manifest(
            name=fields["name"].name(),
            entry=fields["entry"].text(),
            function=fields["function"].name(),
            signature=signature,
            versions=_mapping(fields["versions"], JsonValue.text),
            compiler_options=self.options(fields["compiler_options"]),
            programs=programs or fields["programs"].refuse("an object with a backend's program"),
            executables=fields["executables"].each(
                lambda part: self._executable(part, members, signature, placement)
            ),
            members=members,
            placement=placement,
        )

    def options(self, value: JsonValue) -> dict[str, str | int | bool | float]:
        """Return the compiler options."""
        return _mapping(value, JsonValue.option)

    def placement(self, value: JsonValue, signature: Signature) -> Any:
        """Return the placement of a program of several devices: its JSON data."""
        return value.entries()

    def _executable(
        self, value: JsonValue, members: Mapping[str, Member], signature: Signature, placement: Any
    ) -> StoredExecutable:
        more = [] if placement is None else ["shardings"]
        fields = value.fields("member", "backend", "device", "host", *more, optional=["topology"])
        backend, device = fields["backend"].text(), fields["device"].text_or_none()
        stored = StoredExecutable(
            _known(fields["member"], members),
            backend,
            device,
            _host(fields["host"]),
            fields["topology"].text() if "topology" in fields else None,
        )
        return self.executable(stored, fields, value, signature, placement)

    def executable(
        self,
        stored: StoredExecutable,
        fields: dict[str, JsonValue],
        value: JsonValue,
        signature: Signature,
        placement: Any,
    ) -> StoredExecutable:
        """Return the record of an executable, whose JSON is `value`, from its common parts."""
        if stored.backend not in COMPILERS:
            fields["backend"].refuse(f"one of {', '.join(COMPILERS)}")
        return stored

    def _signature(self, value: JsonValue) -> Signature:
        fields = value.fields(*Signature.__dataclass_fields__)
        arguments = fields["arguments"].each(
            lambda part: self._array(part.fields(*ARRAY_FIELDS, "donated"))
        )
        results = fields["results"].each(lambda part: self._array(part.fields(*ARRAY_FIELDS)))
        return self.signature(
            arguments=arguments,
            argument_tree=self._call_tree(fields["argument_tree"], len(arguments)),
            results=results,
            result_tree=self._tree(fields["result_tree"], len(results)),
            static={name: part.value for name, part in fields["static"].entries().items()},
        )

    def _array(self, fields: Mapping[str, JsonValue]) -> ArrayInfo:
        return self.array(
            name=fields["name"].name(),
            dtype=fields["dtype"].dtype(),
            shape=fields["shape"].each(JsonValue.size),
            weak_type=fields["weak_type"].flag(),
            donated="donated" in fields and fields["donated"].flag(),
        )

    def _tree(self, value: JsonValue, leaves: int) -> TreeNode:
        node = self._node(value, 0)
        if node.leaves() != leaves:
            raise ArtifactError(
                f"in its manifest, {value.where} has {node.leaves()} leaves for {leaves} arrays"
            )
        return node

    def _call_tree(self, value: JsonValue, leaves: int) -> TreeNode:
        node = self._tree(value, leaves)
        if node.kind != "tuple" or [part.kind for part in node.items] != ["tuple", "dict"]:
            value.refuse("a pair of a tuple and a dict")
        return node

    def _node(self, value: JsonValue, depth: int) -> TreeNode:
        kind = value.entries().get("kind") or value.refuse("a node of a tree")
        if not isinstance(kind.value, str) or kind.value not in PARTS:
            kind.refuse(f"one of {', '.join(PARTS)}")
        names = PARTS[kind.value]
        fields = value.fields("kind", *names)
        if depth == MAX_DEPTH and names:
            raise ArtifactError(f"in its manifest, a tree is nested more than {MAX_DEPTH} deep")
        items = (
            fields["items"].each(lambda part: self._node(part, depth + 1))
            if "items" in names
            else ()
        )
        keys = fields["keys"].each(JsonValue.key) if "keys" in names else ()
        if "keys" in names and not _fit(kind.value, keys, len(items)):
            fields["keys"].refuse("one key for each item, and in order")
        if kind.value == "key" and len(items) != 1:
            fields["items"].refuse("one array of words")
        return self.node(
            kind.value, items, keys, fields["type"].text() if "type" in names else None
        )


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


def _host(value: JsonValue) -> Host:
    fields = value.fields("system", "machine", "cpu_features")
    features = fields["cpu_features"]
    return Host(
        fields["system"].text(),
        fields["machine"].text(),
        None if features.value is None else features.each(JsonValue.text),
    )


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
