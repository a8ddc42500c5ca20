"""The contents of a bundle as text for people: the lines and tables of `olympus inspect`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus.artifact import Bundle, Manifest, Node
from olympus.stages import ArgInfo
from olympus_cli.reports.bundle_contents import BundleContents
from olympus_cli.text.units import array_type, byte_size

#: The columns and the rows of a table.
Table = tuple[tuple[str, ...], list[tuple[object, ...]]]

_STATES = {
    "unsigned": "none",
    "trusted": "valid, of a trusted key",
    "valid": "valid; whether its key is to be trusted is not known",
    "invalid": "invalid: it is damaged, or the manifest was changed",
    "unverified": "not verified: the package cryptography is not installed",
}


def tree_text(node: Node) -> str:
    """Return a tree as text, with `*` for each array.

    >>> tree_text(Node("dict", (Node("leaf"), Node("none")), ("w", "b")))
    "{'w': *, 'b': None}"
    """
    items = [tree_text(item) for item in node.items]
    match node.kind:
        case "leaf":
            return "*"
        case "none":
            return "None"
        case "tuple":
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case "list":
            return f"[{', '.join(items)}]"
        case "dict" | "ordereddict":
            return f"{{{', '.join(_pairs(node, items))}}}"
    name = (node.type or node.kind).rpartition(":")[2]
    fields = [f"{k}={x}" for k, x in zip(node.keys, items, strict=True)] if node.keys else items
    return f"{name}({', '.join(fields)})"


def _pairs(node: Node, items: Sequence[str]) -> list[str]:
    return [f"{key!r}: {item}" for key, item in zip(node.keys, items, strict=True)]


def call_text(node: Node) -> str:
    """Return the tree of the arguments of a call as text, without the outer containers."""
    args, kwargs = node.items
    named = [f"{key}={tree_text(x)}" for key, x in zip(kwargs.keys, kwargs.items, strict=True)]
    return f"({', '.join([*map(tree_text, args.items), *named])})"


def head_lines(contents: BundleContents, bundle: Bundle) -> Iterator[str]:
    """Yield the lines above the tables: names, versions, options, statics and the signature."""
    manifest, signature = bundle.manifest, contents.signature
    yield f"{manifest.name}  ({manifest.entry}, {contents.file}, {byte_size(contents.bytes)})"
    yield _row("function", manifest.function)
    yield _row("takes", call_text(manifest.signature.argument_tree))
    yield _row("returns", tree_text(manifest.signature.result_tree))
    yield _row("statics", _values(manifest.signature.static))
    yield _row("devices", manifest.num_devices)
    yield _row("lowered for", ", ".join(manifest.programs))
    yield _row("versions", ", ".join(f"{k} {v}" for k, v in sorted(manifest.versions.items())))
    yield _row("compiler options", _values(manifest.compiler_options))
    if manifest.callbacks:
        yield _row("calls Python", ", ".join(function.name for function in manifest.callbacks))
    yield _row("signature", _STATES[signature.state])
    if signature.key is not None:
        yield _row("signed with", signature.key)


def tables(contents: BundleContents, bundle: Bundle) -> Iterator[Table]:
    """Yield the tables of arguments, results, constants, executables and members."""
    signature = bundle.manifest.signature
    if signature.arguments:
        rows = [(*_array(a), "yes" if a.donated else "no") for a in signature.arguments]
        yield ("argument", "type", "size", "donated"), rows
    if signature.results:
        yield ("result", "type", "size"), [_array(result) for result in signature.results]
    if bundle.manifest.constants:
        yield ("constant", "type", "size", "backends"), [*_constants(bundle.manifest)]
    if bundle.executables:
        fits = {fit.member: fit.misfit for fit in contents.executables}
        yield (
            ("executable", "built on", "runs here"),
            [
                (x.member, f"{x.host.system} {x.host.machine}", _fit(fits[x.member]))
                for x in bundle.executables
            ],
        )
    members = sorted(bundle.manifest.members.items())
    yield ("member", "bytes", "SHA-256"), [(name, x.size, x.sha256) for name, x in members]


def _constants(manifest: Manifest) -> Iterator[tuple[object, ...]]:
    """Yield the SHA-256, the type, the size and the backends of each constant that is stored."""
    backends: dict[str, list[str]] = {}
    arrays = {}
    for backend, group in manifest.constants.items():
        for array in group:
            backends.setdefault(array.name, []).append(backend)
            arrays[array.name] = array
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].bytes, item[0])):
        _, type_text, size = _array(array)
        yield name, type_text, size, ", ".join(dict.fromkeys(backends[name]))


def feature_lines(manifest: Manifest) -> Iterator[str]:
    """Yield the CPU features of the machines that built the executables; equal ones once."""
    for names in dict.fromkeys(x.host.cpu_features for x in manifest.executables):
        yield _row("CPU features", "not known" if names is None else ", ".join(names) or "none")


def _row(name: str, value: object) -> str:
    return f"  {name:<17} {value}"


def _values(values: Mapping[str, Any]) -> str:
    texts = {k: v["python"] if _is_python(v) else repr(v) for k, v in values.items()}
    return ", ".join(f"{name}={text}" for name, text in sorted(texts.items())) or "none"


def _is_python(value: object) -> bool:
    """Return True for a value that JSON does not have, which is stored as its text in Python."""
    return isinstance(value, Mapping) and [*value] == ["python"]


def _array(array: ArgInfo) -> tuple[object, ...]:
    weak = " (weak)" if array.weak_type else ""
    kind = f"{array_type(array.dtype_name, array.shape)}{weak}"
    return array.name, kind, byte_size(array.bytes)


def _fit(misfit: str | None) -> str:
    return "yes" if misfit is None else f"no: {misfit}"
