"""The reader of a manifest's bytes, which are untrusted.

Every part is checked against the types and forms of `bundle.schema.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, ClassVar

from olympus_bundle import manifest as records
from olympus_bundle.buckets import BUCKETS_VERSION, BucketManifest, parse_buckets
from olympus_bundle.errors import ArtifactError, DataError
from olympus_bundle.host import COMPILERS, Host
from olympus_bundle.host_functions import HostFunction
from olympus_bundle.json_value import JsonValue, parse_json
from olympus_bundle.symbolic.manifest import SYMBOLIC_VERSION, SymbolicManifest, parse_symbolic
from olympus_bundle.tree import MAX_DEPTH, PARTS, TreeNode
from olympus_bundle.weight_bundles import WEIGHTS_VERSION, WeightManifest, parse_weights

#: The manifest of a bundle of any schema version.
AnyManifest = records.Manifest | BucketManifest | WeightManifest | SymbolicManifest
#: The readers of the manifests of bundles that contain others, by schema version.
_JOINED: dict[int, Callable[[JsonValue], AnyManifest]] = {
    BUCKETS_VERSION: parse_buckets,
    WEIGHTS_VERSION: parse_weights,
    SYMBOLIC_VERSION: parse_symbolic,
}


class ManifestReader:
    """The reader of a manifest; a subclass may read some parts as other records."""

    array: ClassVar[type[records.ArrayInfo]] = records.ArrayInfo
    node: ClassVar[type[TreeNode]] = TreeNode
    manifest: ClassVar[type[records.Manifest]] = records.Manifest
    signature: ClassVar[type[records.Signature]] = records.Signature

    def parse(self, content: bytes) -> AnyManifest:
        """Parse the bytes of `manifest.json`.

        Raises:
          ArtifactError: they are not JSON, have another schema version, or do not match the schema.
        """
        try:
            return self._manifest(JsonValue(parse_json(content)))
        except DataError as exc:
            raise ArtifactError(f"its manifest is not JSON: {exc}") from exc
        except RecursionError as exc:
            raise ArtifactError("its manifest is nested too deeply to be read") from exc

    def _manifest(self, document: JsonValue) -> AnyManifest:
        version = document.entries().get("schema_version")
        if version is None:
            raise ArtifactError("its manifest has no 'schema_version'")
        if type(version.value) is int and version.value in _JOINED:
            return _JOINED[version.value](document)
        versions = records.SCHEMA_VERSION, records.CONSTANTS_VERSION
        if type(version.value) is not int or version.value not in versions:
            raise ArtifactError(
                f"it has schema version {version.value!r:.80}, and this version of OLYMPUS reads "
                f"{records.SCHEMA_VERSION} to {max(versions)}: build it again, or load it with "
                "the version that built it"
            )
        more = ["constants"] if version.value == records.CONSTANTS_VERSION else []
        optional = ["placement", "callbacks"]
        absent = {"constants", *optional}
        names = [*more, *(n for n in records.Manifest.__dataclass_fields__ if n not in absent)]
        fields = document.fields("schema_version", *names, optional=optional)
        signature = self._signature(fields["signature"])
        placement = (
            self.placement(fields["placement"], signature) if "placement" in fields else None
        )
        members = fields["members"].mapping(records.parse_member)
        programs = fields["programs"].mapping(lambda part: _known(part, members))
        return self.manifest(
            name=fields["name"].name(),
            entry=fields["entry"].text(),
            function=fields["function"].name(),
            signature=signature,
            versions=fields["versions"].mapping(JsonValue.text),
            compiler_options=self.options(fields["compiler_options"]),
            programs=programs or fields["programs"].refuse("an object with a backend's program"),
            executables=fields["executables"].each(
                lambda part: self._executable(part, members, signature, placement)
            ),
            members=members,
            placement=placement,
            callbacks=fields["callbacks"].each(self._callback) if "callbacks" in fields else (),
            constants=fields["constants"].mapping(self._arrays) if more else {},
        )

    def _array(self, value: JsonValue) -> records.ArrayInfo:
        return self.array(**value.record(_RESULT))

    def _arrays(self, value: JsonValue) -> tuple[records.ArrayInfo, ...]:
        return value.each(self._array)

    def _callback(self, value: JsonValue) -> HostFunction:
        fields = value.fields(*HostFunction.__dataclass_fields__)
        arguments = self._arrays(fields["arguments"])
        return HostFunction(
            name=fields["name"].name(),
            arguments=arguments,
            argument_tree=self._argument_tree(fields["argument_tree"], len(arguments)),
            results=self._arrays(fields["results"]),
            has_effects=fields["has_effects"].flag(),
            is_ordered=fields["is_ordered"].flag(),
        )

    def options(self, value: JsonValue) -> dict[str, str | int | bool | float]:
        """Return the compiler options."""
        return value.mapping(JsonValue.option)

    def placement(self, value: JsonValue, signature: records.Signature) -> Any:
        """Return the placement of a program of several devices: its JSON data."""
        return value.entries()

    def _executable(
        self, value: JsonValue, members: Container[str], signature: Any, placement: Any
    ) -> records.StoredExecutable:
        more = [] if placement is None else ["shardings"]
        fields = value.fields("member", "backend", "device", "host", *more, optional=["topology"])
        stored = records.StoredExecutable(
            _known(fields["member"], members),
            fields["backend"].text(),
            fields["device"].or_none(JsonValue.text),
            Host(**fields["host"].record(_HOST)),
            fields["topology"].text() if "topology" in fields else None,
        )
        return self.executable(stored, value, signature, placement)

    def executable(
        self, stored: records.StoredExecutable, value: JsonValue, signature: Any, placement: Any
    ) -> records.StoredExecutable:
        """Return the record of an executable, whose JSON is `value`, from its common parts."""
        if stored.backend not in COMPILERS:
            value.entries()["backend"].refuse(f"one of {', '.join(COMPILERS)}")
        return stored

    def _signature(self, value: JsonValue) -> records.Signature:
        fields = value.fields(*records.Signature.__dataclass_fields__)
        arguments = fields["arguments"].each(lambda part: self.array(**part.record(_ARGUMENT)))
        results = self._arrays(fields["results"])
        return self.signature(
            arguments=arguments,
            argument_tree=self._argument_tree(fields["argument_tree"], len(arguments)),
            results=results,
            result_tree=self._tree(fields["result_tree"], len(results)),
            static=fields["static"].mapping(lambda part: part.value),
        )

    def _argument_tree(self, value: JsonValue, leaves: int) -> TreeNode:
        node = self._tree(value, leaves)
        if [node.kind, *(part.kind for part in node.items)] != ["tuple", "tuple", "dict"]:
            value.refuse("a pair of a tuple and a dict")
        return node

    def _tree(self, value: JsonValue, leaves: int) -> TreeNode:
        node = self._node(value, 0)
        if node.leaves() != leaves:
            value.fail(f"has {node.leaves()} leaves for {leaves} arrays")
        return node

    def _node(self, value: JsonValue, depth: int) -> TreeNode:
        kind = value.entries().get("kind") or value.refuse("a node of a tree")
        if not isinstance(kind.value, str) or kind.value not in PARTS:
            kind.refuse(f"one of {', '.join(PARTS)}")
        names = PARTS[kind.value]
        fields = value.fields("kind", *names)
        if depth == MAX_DEPTH and names:
            raise ArtifactError(f"in its manifest, a tree is nested more than {MAX_DEPTH} deep")
        items: tuple[TreeNode, ...] = ()
        if "items" in names:
            items = fields["items"].each(lambda part: self._node(part, depth + 1))
        keys = fields["keys"].each(JsonValue.key) if "keys" in names else ()
        if "keys" in names and not _fit(kind.value, keys, len(items)):
            fields["keys"].refuse("one key for each item, and in order")
        if kind.value == "key" and len(items) != 1:
            fields["items"].refuse("one array of words")
        type_ = fields["type"].text() if "type" in names else None
        return self.node(kind.value, items, keys, type_)


#: The readers of the fields of records, by name.
_RESULT = records.ARRAY_READERS
_ARGUMENT = {**_RESULT, "donated": JsonValue.flag}
_HOST = {
    "system": JsonValue.text,
    "machine": JsonValue.text,
    "cpu_features": lambda value: value.or_none(lambda part: part.each(JsonValue.text)),
}


def _known(value: JsonValue, members: Container[str]) -> str:
    return value.text() if value.text() in members else value.refuse("the name of a member")


def _fit(kind: str, keys: tuple[str | int, ...], count: int) -> bool:
    if len(set(keys)) != len(keys) or len(keys) != count:
        return False
    if kind == "namedtuple":
        return all(isinstance(key, str) for key in keys)
    try:
        return kind != "dict" or list(keys) == sorted(keys)
    except TypeError:
        return False
