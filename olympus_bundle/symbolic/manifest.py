"""Bundles with symbolic sizes: the program for all sizes, and bundles of it for some sizes.

The file is a zip file with a manifest of schema version 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from olympus_bundle.errors import ArtifactError, DataError
from olympus_bundle.json_value import JsonValue
from olympus_bundle.manifest import (
    ARRAY_FIELDS,
    ARRAY_READERS,
    CONSTANTS,
    ArrayInfo,
    Member,
    Signature,
    parse_member,
)
from olympus_bundle.symbolic.sizes import Expression, Size, SizeConstraint, Sizes, SymbolicShape

SYMBOLIC_VERSION = 4


@dataclass(frozen=True)
class SymbolicManifest:
    """The content of the manifest: the symbolic shapes, the constraints, and the compiled sizes.

    `programs` names, for each backend lowered for, the member with the StableHLO for all sizes.
    `sizes` has the values of the variables of each member that is a bundle; the first one has the
    trees, dtypes and options of the program. `constants` has, for each backend, the arrays in the
    member `CONSTANTS` that the program takes before the arguments of a call.
    """

    name: str
    entry: str
    function: str
    arguments: tuple[SymbolicShape, ...]
    results: tuple[SymbolicShape, ...]
    constraints: tuple[SizeConstraint, ...]
    programs: Mapping[str, str]
    sizes: tuple[Mapping[str, int], ...]
    members: Mapping[str, Member]
    constants: Mapping[str, tuple[ArrayInfo, ...]] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables in the symbolic sizes."""
        return self.solver().variables

    def solver(self) -> Sizes:
        """Return the solver for the variables of a call."""
        return Sizes(self.arguments, self.constraints)

    def check_signature(self, signature: Signature) -> None:
        """Raise ArtifactError unless the shapes for the first sizes are those of a signature."""
        for symbolic, arrays in (
            (self.arguments, signature.arguments),
            (self.results, signature.results),
        ):
            declared = [(x.name, x.at(self.sizes[0])) for x in symbolic]
            if declared != [(x.name, x.shape) for x in arrays]:
                raise ArtifactError("its bundles have other arrays")

    def signature_at(self, signature: Signature, sizes: Mapping[str, int]) -> Signature:
        """Return a signature with the shapes for values of all variables.

        Raises ValueError if it has another number of arrays.
        """
        arguments, results = (
            tuple([replace(x, shape=s.at(sizes)) for x, s in zip(arrays, shapes, strict=True)])
            for arrays, shapes in (
                (signature.arguments, self.arguments),
                (signature.results, self.results),
            )
        )
        return replace(signature, arguments=arguments, results=results)

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data, which `parse_symbolic` reads."""
        shapes = {
            kind: [{"name": x.name, "shape": list(map(_size_data, x.shape))} for x in group]
            for kind, group in (("arguments", self.arguments), ("results", self.results))
        }
        constraints = [{**vars(c), "difference": c.difference.text} for c in self.constraints]
        members = {name: vars(member).copy() for name, member in self.members.items()}
        more = {"constraints": constraints, "sizes": list(map(dict, self.sizes))}
        data = {"schema_version": SYMBOLIC_VERSION, **vars(self), **shapes, **more}
        del data["constants"]
        if self.constants:
            constants = self.constants.items()
            data["constants"] = {name: list(map(_array_data, x)) for name, x in constants}
        return {**data, "members": members}


def _array_data(x: ArrayInfo) -> dict[str, Any]:
    values = x.name, x.dtype_name, list(x.shape), x.weak_type
    return dict(zip(ARRAY_FIELDS, values, strict=True))


def part_name(sizes: Mapping[str, int]) -> str:
    """Return the name of the member with the bundle of some sizes.

    >>> part_name({"b": 64, "d": 8})
    'b=64,d=8.olympus'
    """
    return f"{sizes_text(sizes, ',')}.olympus"


def sizes_text(sizes: Mapping[str, int], separator: str = ", ") -> str:
    """Return the values of variables as text, in the order of their names.

    >>> sizes_text({"b": 64, "d": 8})
    'b=64, d=8'
    """
    return separator.join(f"{name}={value}" for name, value in sorted(sizes.items()))


def parse_symbolic(document: JsonValue) -> SymbolicManifest:
    """Return the manifest in a JSON document of schema version 4.

    Raises:
      ArtifactError: a field is missing, unknown, or has another form.
    """
    names = [name for name in SymbolicManifest.__dataclass_fields__ if name != "constants"]
    fields = document.fields("schema_version", *names, optional=["constants"])
    members = fields["members"].mapping(parse_member)
    manifest = SymbolicManifest(
        name=fields["name"].name(),
        entry=fields["entry"].text(),
        function=fields["function"].name(),
        arguments=fields["arguments"].each(_shape),
        results=fields["results"].each(_shape),
        constraints=fields["constraints"].each(_constraint),
        programs=fields["programs"].mapping(
            lambda x: x.text() if x.text() in members else x.refuse("the name of a member")
        ),
        sizes=fields["sizes"].each(lambda part: part.mapping(JsonValue.size)),
        members=members,
        constants=fields["constants"].mapping(_arrays) if "constants" in fields else {},
    )
    _check(manifest, fields)
    return manifest


def _check(manifest: SymbolicManifest, fields: Mapping[str, JsonValue]) -> None:
    """Raise ArtifactError for variables, members or sizes that do not fit each other."""
    try:
        variables = manifest.variables
    except DataError as error:
        fields["arguments"].fail(f"cannot be used: {error}")
    for result in manifest.results:
        for n in result.shape:
            if isinstance(n, Expression) and not n.variables <= set(variables):
                fields["results"].refuse("shapes with the variables of the arguments")
    names = {part_name(sizes) for sizes in manifest.sizes}
    if not names or any(set(sizes) != set(variables) for sizes in manifest.sizes):
        fields["sizes"].refuse("a value for each variable of each bundle")
    if not manifest.programs:
        fields["programs"].refuse("an object with a backend's program")
    if set(manifest.members) - {CONSTANTS} != names | set(manifest.programs.values()):
        fields["members"].refuse("the programs, and one bundle for each of the sizes")


def _arrays(value: JsonValue) -> tuple[ArrayInfo, ...]:
    return value.each(lambda part: ArrayInfo(**part.record(ARRAY_READERS)))


def _size_data(size: Size) -> int | str:
    return size if isinstance(size, int) else size.text


def _shape(value: JsonValue) -> SymbolicShape:
    fields = value.fields("name", "shape")
    return SymbolicShape(fields["name"].name(), fields["shape"].each(_size))


def _size(value: JsonValue) -> Size:
    return _expression(value) if isinstance(value.value, str) else value.size()


def _expression(value: JsonValue) -> Expression:
    try:
        return Expression(value.text())
    except DataError:
        value.refuse("an expression of sizes")


def _constraint(value: JsonValue) -> SizeConstraint:
    fields = value.fields("text", "difference", "is_equality")
    difference = _expression(fields["difference"])
    return SizeConstraint(fields["text"].name(), difference, fields["is_equality"].flag())
