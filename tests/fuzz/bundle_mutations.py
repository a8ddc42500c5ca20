"""Mutations of bundles: each takes random numbers and a bundle's bytes, and returns new bytes.

A mutation of the manifest's or a member's content also updates the CRCs of the zip file and the
digests of the manifest: no mutation is detected by a checksum alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

__all__ = ["EXECUTABLE", "MUTATIONS", "executable"]

Members = dict[str, bytes]
MANIFEST, PROGRAM, EXECUTABLE = "manifest.json", "program.stablehlo.bc", "executables/cpu.bin"

_DTYPES = ["float32", "int32", "uint32", "bool", "bfloat16", "float64", "int8", "complex64", "f32"]
_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    2**31,
    2**63 - 1,
    2**64,
    10**40,
    0.5,
    1e308,
    "",
    "cpu",
    "gpu",
    "tpu",
    "float32",
    "..",
    "../../etc/passwd",
    "/dev/zero",
    "a\0b",
    "\x1b[31m",
    "\u202e",
    "x" * 5000,
    [],
    {},
    [[]],
    {"": None},
    [0] * 50,
    {"kind": "leaf"},
    {"kind": "none"},
    "manifest.json",
]
_TYPES = [
    "olympus:scipy.stats.x",
    "os:system",
    "antigravity:x",
    "this:s",
    "builtins:tuple",
    "collections:OrderedDict",
    "xml.dom:Node",
    "sys:version_info",
    "time:struct_time",
    ":",
    "",
    "a:b:c",
    "olympus_core.library.random.keys:KeyArray",
    "__main__:answers",
    "pickle:loads",
    "x" * 9999,
]
_OPTIONS: list[tuple[str, Any]] = [
    ("xla_dump_to", "dumped"),
    ("xla_dump_hlo_as_text", True),
    ("xla_gpu_cuda_data_dir", "."),
    ("xla_cpu_parallel_codegen_split_count", -1),
    ("xla_cpu_parallel_codegen_split_count", 10**12),
    ("xla_backend_optimization_level", 99),
    ("xla_backend_optimization_level", 0),
    ("xla_cpu_prefer_vector_width", 3),
    ("xla_cpu_prefer_vector_width", 100),
    ("xla_cpu_max_isa", "AVX"),
    ("xla_cpu_max_isa", "nothing"),
    ("xla_backend_extra_options", "a=b"),
    ("xla_disable_hlo_passes", "*"),
    ("xla_flags_reset", True),
    ("xla_hlo_profile", True),
    ("xla_gpu_kernel_cache_file", "dumped"),
    ("xla_cpu_multi_thread_eigen", False),
    ("", ""),
    ("a", 1),
]


def unpacked(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Members, digests: bool = True) -> bytes:
    """A zip file of the members; with `digests` the manifest agrees to them, if it still can."""
    if digests:
        data = json.loads(members[MANIFEST])
        for name in [name for name in members if name in data["members"]]:
            digest = hashlib.sha256(members[name]).hexdigest()
            data["members"][name] = {"sha256": digest, "size": len(members[name])}
        members = {**members, MANIFEST: json.dumps(data).encode()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_manifest(content: bytes, change: Callable[[Any], None]) -> bytes:
    members = unpacked(content)
    data = json.loads(members[MANIFEST])
    change(data)
    return packed({**members, MANIFEST: json.dumps(data).encode()}, digests=False)


def rebuilt_elsewhere(data: Any) -> None:
    """So that the executable does not fit, and the program is compiled again."""
    data["versions"]["jaxlib"] = "0.1.0"


def scrambled(draw: random.Random, content: bytes) -> bytes:
    """Some bytes changed, cut out, doubled or put in."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8, 64])):
        at = draw.randrange(len(changed) + 1)
        length = draw.choice([1, 1, 2, 4, 100])
        match draw.randrange(6):
            case 0:
                del changed[at : at + length]
            case 1:
                changed[at:at] = changed[at : at + length]
            case 2:
                changed[at:at] = draw.randbytes(length)
            case 3:
                changed[at : at + length] = bytes(len(changed[at : at + length]))
            case _ if at < len(changed):
                changed[at] ^= 1 << draw.randrange(8)
    return bytes(changed) or b"\0"


def bytes_of_the_file(draw: random.Random, content: bytes) -> bytes:
    return (
        content[: draw.randrange(len(content))] if draw.random() < 0.1 else scrambled(draw, content)
    )


def structure_of_the_zip(draw: random.Random, content: bytes) -> bytes:
    """A field of a header of the zip file changed, or a member there twice, or quoted."""
    changed = bytearray(content)
    if draw.random() < 0.2:
        file = io.BytesIO(content)
        name = draw.choice([MANIFEST, PROGRAM, "../x", "a\\b", "x" * 60_000, EXECUTABLE.upper()])
        with zipfile.ZipFile(file, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr(name, draw.choice([b"", b"{}", content[:5000]]))
        return file.getvalue()
    for _ in range(draw.choice([1, 1, 1, 3])):
        mark, size = draw.choice(
            [(b"PK\3\4", 30), (b"PK\1\2", 46), (b"PK\1\2", 46), (b"PK\5\6", 22)]
        )
        places = [i for i in range(len(changed)) if changed.startswith(mark, i)]
        at = draw.choice(places or [0]) + draw.randrange(4, size, 2)
        width = draw.choice([2, 4])
        value = draw.choice(
            [0, 1, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, draw.randrange(2**32), len(content)]
        )
        if draw.random() < 0.5:
            value = int.from_bytes(changed[at : at + width], "little") + draw.choice(
                [-1, 1, 30, 46]
            )
        changed[at : at + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    return bytes(changed)


def nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a JSON value but itself."""
    if not isinstance(value, dict | list):
        return []
    found = []
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        found += [(*path, key), *nodes(part, (*path, key))]
    return found


def fields_of_the_manifest(draw: random.Random, content: bytes) -> bytes:
    """Any part of the manifest replaced, removed, doubled or exchanged with another."""

    def change(data: Any) -> None:
        for _ in range(draw.choice([1, 1, 1, 2, 5])):
            places = nodes(data)
            path, other = draw.choice(places), draw.choice(places)
            holder = data
            for key in path[:-1]:
                holder = holder[key]
            match draw.randrange(5):
                case 0:
                    del holder[path[-1]]
                case 1 if isinstance(holder, list):
                    holder.append(json.loads(json.dumps(holder[path[-1]])))
                case 2:
                    source = data
                    for key in other:
                        source = source[key]
                    holder[path[-1]] = json.loads(json.dumps(source))
                case _:
                    holder[path[-1]] = draw.choice(_VALUES)

    return with_manifest(content, change)


def types_of_the_arrays(draw: random.Random, content: bytes) -> bytes:
    """Dtypes, shapes, donation and number of the arguments and results."""

    def change(data: Any) -> None:
        signature = data["signature"]
        for _ in range(draw.choice([1, 1, 2])):
            kind = draw.choice(["arguments", "results"])
            if not signature[kind]:
                continue
            array = draw.choice(signature[kind])
            match draw.randrange(6):
                case 0:
                    array["dtype"] = draw.choice(_DTYPES)
                case 1:
                    draw.shuffle(array["shape"])
                case 2:
                    array["shape"] = draw.choice(
                        [[], [1], [*array["shape"], 1], array["shape"][::-1]]
                    )
                case 3:
                    draw.shuffle(signature[kind])
                case 4 if kind == "arguments":
                    array["donated"] = not array["donated"]
                case 4 | 5:
                    array["weak_type"] = not array["weak_type"]
        if draw.random() < 0.5:
            rebuilt_elsewhere(data)

    return with_manifest(content, change)


def tree_of(draw: random.Random, leaves: int, depth: int = 0) -> Any:
    """A random tree with so many leaves."""
    if leaves == 1 and (depth > 3 or draw.random() < 0.6):
        return {"kind": "leaf"}
    if leaves == 0 and draw.random() < 0.5:
        return {"kind": "none"}
    cuts = sorted(draw.randint(0, leaves) for _ in range(draw.randint(0, 2) if depth < 6 else 0))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, leaves], strict=True)]
    if depth >= 6:
        sizes = [1] * leaves
    items = [tree_of(draw, size, depth + 1) if depth < 6 else {"kind": "leaf"} for size in sizes]
    kind = draw.choice(["tuple", "list", "dict", "ordereddict", "namedtuple", "custom", "key"])
    node: dict[str, Any] = {"kind": kind, "items": items}
    if kind in ("dict", "ordereddict", "namedtuple"):
        node["keys"] = draw.choice(
            [[f"k{i}" for i in range(len(items))], ["x"] * len(items), ["_a", "class", "b c"]]
        )[: len(items)]
    if kind in ("namedtuple", "custom"):
        node["type"] = draw.choice(_TYPES)
    return node


def trees(draw: random.Random, content: bytes) -> bytes:
    def change(data: Any) -> None:
        signature = data["signature"]
        count = draw.choice([0, 0, 0, 1, -1])
        if draw.random() < 0.5:
            leaves = max(0, len(signature["results"]) + count)
            signature["result_tree"] = tree_of(draw, leaves)
        else:
            leaves = max(0, len(signature["arguments"]) + count)
            parts = [{"kind": "tuple", "items": [tree_of(draw, leaves)]}]
            parts += [{"kind": "dict", "items": [], "keys": []}]
            signature["argument_tree"] = {"kind": "tuple", "items": parts}

    return with_manifest(content, change)


def options(draw: random.Random, content: bytes) -> bytes:
    def change(data: Any) -> None:
        rebuilt_elsewhere(data)
        data["compiler_options"] = dict(draw.choices(_OPTIONS, k=draw.choice([1, 1, 2])))

    return with_manifest(content, change)


def names(draw: random.Random, content: bytes) -> bytes:
    """Names of the program, its arguments, its members and its classes."""

    def change(data: Any) -> None:
        places = [
            p for p in nodes(data) if p[-1] in ("name", "entry", "function", "type", "member")
        ]
        path = draw.choice(places)
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = draw.choice(
            [*_TYPES, "\x1b]0;x\x07", "\u202e", "\n", "../x", "a" * 10_000]
        )

    return with_manifest(content, change)


_AXES = [[], ["x"], ["y"], ["x", "y"], ["y", "x"], ["z"], ["x", "x"], [0]]
_MESHES = [[2, 2], [4], [2, 2, 1], [4, 2], [1, 4], [2, 3], [2**40, 2**40]]


def _places(draw: random.Random) -> list[int]:
    """The index of the part, of two or four, that each of four devices has."""
    return draw.choice([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 3], [3, 2, 1, 0], [0, 0, 0, 1]])


def _sharding(draw: random.Random) -> Any:
    if draw.random() < 0.6:
        spec = [draw.choice(_AXES) for _ in range(draw.choice([0, 1, 2, 2, 3]))]
        return {"mesh": draw.choice([0, 0, 0, 1, -1]), "spec": spec}
    places = _places(draw)
    parts = [1 + max(places), 1]
    return {"parts": parts[: draw.choice([1, 2, 2])], "places": [[i, 0] for i in places]}


def shardings(draw: random.Random, content: bytes) -> bytes:
    """Shardings, meshes and the number of devices; a program of one device claims several."""

    def change(data: Any) -> None:
        counts = {kind: len(data["signature"][kind]) for kind in ("arguments", "results")}
        whole = {kind: [{"mesh": 0, "spec": []}] * count for kind, count in counts.items()}
        mesh = {"axis_names": ["x", "y"], "axis_sizes": [2, 2]}
        placement = data.setdefault("placement", {"num_devices": 4, "meshes": [mesh], **whole})
        chosen = data["executables"][0].setdefault("shardings", json.loads(json.dumps(whole)))
        for _ in range(draw.choice([1, 1, 2])):
            kind = draw.choice([kind for kind, count in counts.items() if count])
            match draw.randrange(5):
                case 0:
                    placement["num_devices"] = draw.choice([1, 2, 4, 8, 1024])
                case 1:
                    sizes = draw.choice(_MESHES)
                    names = draw.choice([["x", "y"], ["y", "x"], [0, 1]])[: len(sizes)]
                    placement["meshes"] = [{"axis_names": names, "axis_sizes": sizes}]
                case 2:  # the same in both, as a forger writes it
                    i, sharding = draw.randrange(counts[kind]), _sharding(draw)
                    placement[kind][i] = chosen[kind][i] = sharding
                case _:
                    i = draw.randrange(counts[kind])
                    draw.choice([placement, chosen])[kind][i] = _sharding(draw)
        if draw.random() < 0.5:
            rebuilt_elsewhere(data)

    return with_manifest(content, change)


def program(draw: random.Random, content: bytes) -> bytes:
    """The StableHLO's bytes, with the digest that goes with them; compiled again or not."""
    members = unpacked(content)
    texts = [b"", b"module {}", b"ML\xefR", b"module @m { func.func @main() { return } }"]
    changed = draw.choice(texts) if draw.random() < 0.1 else scrambled(draw, members[PROGRAM])
    data = json.loads(members[MANIFEST])
    if draw.random() < 0.5:
        rebuilt_elsewhere(data)
    return packed({**members, PROGRAM: changed, MANIFEST: json.dumps(data).encode()})


def executable(draw: random.Random, content: bytes) -> bytes:
    """The native executable's bytes, with the digest that goes with them."""
    members = unpacked(content)
    return packed({**members, EXECUTABLE: scrambled(draw, members[EXECUTABLE])})


MUTATIONS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "bytes": bytes_of_the_file,
    "zip": structure_of_the_zip,
    "manifest": fields_of_the_manifest,
    "types": types_of_the_arrays,
    "trees": trees,
    "options": options,
    "names": names,
    "shardings": shardings,
    "program": program,
}
