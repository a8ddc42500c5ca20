"""A layer imports only from the layers below it."""

from __future__ import annotations

import ast
import builtins
import functools
import graphlib
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("olympus_bundle", "olympus_runtime", "olympus", "olympus_core", "olympus_cli")
#: The folders of each package, and of each folder that has some, bottom up.  A folder imports only
#: from itself and from the folders before it.
ORDERS = {
    "olympus_bundle": [
        *("errors", "regular_file", "container", "json_value", "host", "tree"),
        *("manifest", "checks", "host_functions", "argument_arrays", "arguments"),
        *("symbolic", "buckets", "weight_bundles", "reading", "signatures", "bundle_file"),
        *("weights", "constants"),
    ],
    "olympus_runtime": [
        *("version", "quiet", "bindings", "messages", "cpu", "buffers", "program_types"),
        *("executable", "loading"),
    ],
    "olympus_runtime/loading": [
        *("accelerators", "program", "fixed_loader", "result_store", "refining"),
        *("symbolic_program", "symbolic_loader", "bucket_program", "bound_program", "load"),
    ],
    "olympus_core": [
        *("base", "ir", "placement", "mlir", "xla", "arrays", "lowering", "blocks", "primitives"),
        *("execution", "analysis", "stages", "transforms", "control", "raising", "jit", "library"),
        *("extension", "verification", "artifact", "api", "export", "interop"),
    ],
    "olympus_core/xla": ["bindings", "messages", "proto", "hlo", "targets", "runtime"],
    "olympus_core/analysis": [
        *("records", "operations", "sources", "cost", "hlo", "memory", "diff", "profile"),
        *("profiling",),
    ],
    "olympus_cli": [
        *("text", "process", "faults", "workers", "spec", "revisions", "frontends", "terminal"),
        *("program", "reports", "gate_reports", "profile", "builder", "check", "verify"),
        *(
            "diff",
            "bench",
            "history",
            "shard",
            "export",
            "pytest_plugin",
            "options",
            "commands",
            "main",
            "__main__",
        ),
    ],
    "olympus_cli/bench": [
        *("statistics", "measurement", "measure", "baselines", "compare", "sweep", "show"),
    ],
}
#: Folders whose functions are named after those of NumPy and SciPy, with others' names among them
NAMESAKES = (
    "olympus_core/extension/",
    "olympus_core/library/",
    "olympus_core/primitives/linalg/portable/",
)
#: Names of functions that several modules have: `olympus.analysis.compare` and
#: `olympus.verification.compare` are public, `put` copies a device's buffer or its array,
#: `jit` stages a function or one of JAX, `command` is the click command of each module of commands,
#: `main` starts each process, `load` reads a bundle or an ONNX model, `trace` and `result_types`
#: are for functions of JAX and for modules of PyTorch, `export` for functions and such modules,
#: `Format` is that of an array in memory or of a float
SHARED = {
    "Format",
    *("compare", "jit", "load", "command", "main", "structure", "evaluate"),
    *("trace", "result_types", "export"),
}
#: The folders whose places are listed in docs/explanation/design.md
PACKAGE_ORDERS = ("olympus_bundle", "olympus_runtime", "olympus_core", "olympus_cli")
#: A reader keeps this many folders in mind
MAX_FOLDERS = 25
# The folders of the library, each of which imports only itself and those before it.
NAMESPACES = [
    "lax",
    "numpy",
    "special",
    "random",
    "nn",
    "scipy",
    "sparse",
    "example_libraries",
    "checkify",
    "experimental",
]
DOORS = {
    "jaxlib": (
        *(
            "olympus_runtime/bindings.py",
            "olympus_runtime/cpu.py",
            "olympus_runtime/loading/refining.py",
        ),
        "olympus_core/base/tree.py",
        *("olympus_core/mlir/bindings.py", "olympus_core/xla/runtime/profiler.py"),
        "olympus_core/xla/hlo/passes.py",
    ),
    "rich": ("olympus_cli/terminal/console.py",),
    "jax": ("olympus_core/interop/jax_modules.py",),
    "torch": ("olympus_core/interop/torch_modules.py",),
    "torchax": ("olympus_core/interop/torch_modules.py",),
}

FILES = [p for name in PACKAGES for p in sorted((ROOT / name).rglob("*.py"))]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(read(path))


@pytest.fixture(autouse=True, scope="module")
def freed_trees() -> Iterator[None]:
    """Discard the syntax trees of all files after the tests of this module."""
    yield
    parsed.cache_clear()


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """The modules that a file imports at run time, wherever in the file."""
    return tuple(_imports(parsed(path)))


def _is_for_types(node: ast.AST) -> bool:
    """Return True for `if TYPE_CHECKING:`."""
    match node:
        case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
    return False


def _imports(module: ast.Module) -> Iterator[str]:
    nodes = list(ast.walk(module))
    typing_only = {
        node
        for block in nodes
        if _is_for_types(block)
        for part in block.body
        for node in ast.walk(part)
    }
    for node in nodes:
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def place_in(folder: str, module: str) -> int | None:
    """The place of a module among the folders of `folder`; None for one of another folder."""
    rest = module.removeprefix(f"{folder.replace('/', '.')}.")
    order = ORDERS[folder]
    top = rest.partition(".")[0]
    return order.index(top) if rest != module and top in order else None


def test_imports_go_down() -> None:
    for path in FILES:
        check_imports_go_down(path)


def check_imports_go_down(path: Path) -> None:
    name = relative(path)
    own = name.removesuffix(".py").replace("/", ".")
    for module in imports(path):
        top = module.split(".")[0]
        if top in DOORS:
            assert name.startswith(DOORS[top]), f"{name} imports {module}"
        if name.startswith("olympus_cli/"):
            assert top not in ("olympus_core", *PACKAGES[:2]), f"{name} imports {module}"
        if name.startswith("olympus_runtime/"):
            assert top not in PACKAGES[2:], f"{name} imports {module}"
        if name.startswith("olympus_bundle/"):
            assert top not in (*PACKAGES[1:], "jaxlib"), f"{name} imports {module}"
        if name.startswith("olympus_core/"):
            assert top not in ("olympus", "olympus_cli"), f"{name} imports {module}"
        for folder in ORDERS:
            here, there = place_in(folder, own), place_in(folder, module)
            if here is not None and there is not None:
                assert there <= here, f"{name} imports {module}, which is above it in {folder}"


#: Modules that are named by a string in a layer below them, and the reason
NAMED_ABOVE = {
    ("olympus_core/base/errors.py", "olympus.errors"),  # the module in a class's `repr`
    ("olympus_core/ir/tracer.py", "olympus.core"),  # the same
    ("olympus_core/library/numpy/dtypes/scalar_types.py", "olympus.numpy"),  # the same
    ("olympus_core/ir/conversions.py", "olympus.numpy"),  # the module in a hint
    ("olympus_core/library/numpy/array_api.py", "olympus.numpy"),  # the namespace of an array
    # the namespaces that operators of ONNX are written in
    ("olympus_core/interop/onnx_models/operators/namespaces.py", "olympus.lax"),
    ("olympus_core/interop/onnx_models/operators/namespaces.py", "olympus.nn"),
    ("olympus_core/interop/onnx_models/operators/namespaces.py", "olympus.numpy"),
    ("olympus_core/ir/primitive.py", "olympus_core.primitives"),  # searched for a primitive
    ("olympus_core/ir/primitive.py", "olympus_core.control"),
}


def named_modules(path: Path) -> Iterator[str]:
    """The modules that a file names in a string, alone or before the colon of a class."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = node.value.partition(":")[0]
            if re.fullmatch(r"olympus(_core|_cli|_runtime)?(\.\w+)+", module):
                place = ROOT / module.replace(".", "/")
                if place.with_suffix(".py").is_file() or (place / "__init__.py").is_file():
                    yield module


def test_modules_named_in_strings_are_below() -> None:
    above = set[tuple[str, str]]()
    for path in FILES:
        name = relative(path)
        own = name.removesuffix(".py").replace("/", ".")
        for module in named_modules(path):
            places = [(place_in(folder, own), place_in(folder, module)) for folder in ORDERS]
            goes_up = any(None not in pair and pair[1] > pair[0] for pair in places)
            if goes_up or (name.startswith("olympus_core/") and module.split(".")[0] == "olympus"):
                above.add((name, module))
    assert above == NAMED_ABOVE


LIBRARY = ROOT / "olympus_core" / "library"


@functools.cache
def namespace(path: Path) -> int:
    """The place among NAMESPACES of a library file: its folder's, or of the highest it imports."""
    own = path.relative_to(LIBRARY).parts[0]
    return (
        NAMESPACES.index(own) if own in NAMESPACES else max(map(namespace, used(path)), default=0)
    )


def used(path: Path) -> list[Path]:
    """The files of the library that a file imports."""
    bases = [ROOT / module.replace(".", "/") for module in imports(path)]
    files = [found for b in bases for found in (b.with_suffix(".py"), b / "__init__.py")]
    return [found for found in files if found.is_relative_to(LIBRARY) and found.is_file()]


def test_the_folders_of_the_library_are_its_namespaces() -> None:
    assert {p.parent.name for p in LIBRARY.glob("*/__init__.py")} == set(NAMESPACES)


def test_namespaces_of_the_library_go_down() -> None:
    for path in sorted(LIBRARY.glob("*/**/*.py")):
        above = [relative(found) for found in used(path) if namespace(found) > namespace(path)]
        assert not above, f"{relative(path)} imports {above}"


#: tests of what all namespaces have in common
ACROSS = {"names", "namespaces", "edges", "error_terms"}


def test_the_tests_of_the_library_are_named_after_its_modules() -> None:
    paths = [p.relative_to(LIBRARY) for p in (*LIBRARY.glob("**/*.py"), *LIBRARY.glob("**/*/"))]
    modules = {"_".join(path.with_suffix("").parts) for path in paths}
    tests = {p.stem.removeprefix("test_") for p in Path(ROOT, "tests/library").glob("test_*.py")}
    assert tests - modules == ACROSS


@pytest.mark.parametrize("folder", ORDERS)
def test_every_module_has_a_place(folder: str) -> None:
    tops = {p.relative_to(ROOT / folder).parts[0] for p in (ROOT / folder).rglob("*.py")}
    assert {t.removesuffix(".py") for t in tops} - {"__init__"} == set(ORDERS[folder])
    assert len(ORDERS[folder]) <= MAX_FOLDERS


@pytest.mark.parametrize("package", PACKAGE_ORDERS)
def test_the_overview_has_the_folders_in_their_order(package: str) -> None:
    text = read(ROOT / "docs" / "explanation" / "design.md").partition(f"`{package}`, bottom up")[2]
    table = text.partition("| folder | content |\n")[2].partition("\n\n")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()[1:]]
    assert [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] == ORDERS[package]


@pytest.mark.parametrize("package", [*PACKAGE_ORDERS, "benchmarks"])
def test_no_modules_import_each_other(package: str) -> None:
    """In a circle of any length, wherever in a file the imports are."""
    modules = {
        relative(p).removesuffix(".py").removesuffix("/__init__").replace("/", "."): p
        for p in (ROOT / package).rglob("*.py")
    }
    needs = {name: {m for m in imports(p) if m in modules} for name, p in modules.items()}
    for name, path in modules.items():
        if path.name == "__init__.py":  # what it imports is exported, and imported from its module
            needs[name] = set()
    list(graphlib.TopologicalSorter(needs).static_order())  # raises CycleError


@pytest.mark.parametrize("kind", [ast.ClassDef, ast.FunctionDef], ids=["classes", "functions"])
@pytest.mark.parametrize("package", PACKAGE_ORDERS)
def test_a_public_name_has_one_definition(package: str, kind: type[ast.stmt]) -> None:
    places: dict[str, set[str]] = {}
    for path in FILES:
        name = relative(path)
        if not name.startswith(f"{package}/"):
            continue
        if kind is ast.FunctionDef and name.startswith(NAMESAKES):
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and isinstance(node, kind):
                places.setdefault(node.name, set()).add(name)
    several = {n: p for n, p in places.items() if len(p) > 1 and not n.startswith("_")}
    assert {n: p for n, p in several.items() if n not in SHARED} == {}


def test_the_core_does_not_know_the_command_line() -> None:
    named = [relative(p) for p in FILES if "olympus_core" in p.parts and '"olympus_cli' in read(p)]
    assert not named


def test_only_the_reports_know_the_name_of_their_file() -> None:
    named = {relative(p) for p in FILES if '"report.json"' in read(p)}
    assert named == {"olympus_cli/reports/json.py"}


def test_the_public_package_has_no_logic() -> None:
    for path in (p for p in FILES if relative(p).startswith("olympus/")):
        body = parsed(path).body
        for choice in [node for node in body if isinstance(node, ast.If)]:
            assert ast.unparse(choice.test) == "_typing.TYPE_CHECKING", relative(path)
            body += [*choice.body, *choice.orelse]
        for node in body:
            allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign, ast.If)
            assert isinstance(node, allowed), f"{relative(path)}:{node.lineno} is not a re-export"


def test_type_checkers_find_what_the_public_package_exports() -> None:
    """Of imports they take those for exports that rename nothing (PEP 484, stub files)."""
    for path in (p for p in FILES if relative(p).startswith("olympus/")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom):
                renamed = [a.asname for a in node.names if a.asname != a.name]
                public = [name for name in renamed if not name or not name.startswith("_")]
                assert not public, f"{relative(path)}: write {public} as an assignment"


def test_type_checkers_import_the_names_imported_on_demand() -> None:
    """Each name of `on_demand(elsewhere=...)` is imported for them, and there is no other."""
    path = ROOT / "olympus/analysis.py"
    (choice,) = [node for node in parsed(path).body if isinstance(node, ast.If)]
    imports = [node for node in choice.body if isinstance(node, ast.ImportFrom)]
    imported = {(node.module, alias.name) for node in imports for alias in node.names}
    (table,) = [node for node in ast.walk(choice) if isinstance(node, ast.Dict)]
    modules = ast.literal_eval(table).items()
    assert {(module, name) for module, names in modules for name in names} == imported
    analysis = importlib.import_module("olympus.analysis")
    for module, name in imported:
        assert module is not None
        assert getattr(analysis, name) is getattr(importlib.import_module(module), name)
        assert name in dir(analysis)


# Functions that Python's own protocols require, by the name of the function that raises it.
PROTOCOLS = {
    "TypeError": {"__format__", "__index__", "_scalar", "__iter__", "__len__", "_setitem"},
    "AttributeError": {"__getattr__", "__setattr__", "sharding"},
    "KeyError": {"__missing__", "__getitem__"},
    "ValueError": {"_refuse_constant"},  # json calls it, and its caller makes it one of ours
}


def raised(path: Path) -> Iterator[tuple[str, str]]:
    """The classes of Python that a file raises, each with the innermost function that does."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if isinstance(node, ast.Raise) and node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(called, ast.Name) and hasattr(builtins, called.id):
                yield called.id, function
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function)

    return walk(parsed(path), "")


def test_errors_are_of_our_own_classes() -> None:
    for path in FILES:
        for name, function in raised(path) if "olympus_core" in path.parts else ():
            if name != "AssertionError":  # no user's mistake: what follows cannot be reached
                text = f"{relative(path)}: {function} raises {name}"
                assert function in PROTOCOLS.get(name, ()), text


#: The module that loops over its `__all__`.
LISTED = {"olympus_core/base/errors.py"}


def exported(module: ast.Module) -> set[str]:
    """Return the names of a module's `__all__`; an empty set if it has none."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(re.findall(r"'(\w+)'", ast.unparse(node.value)))
    return set()


def test_only_reexports_are_listed() -> None:
    """`__all__` lists for type checkers which imported names are exported; others need none."""
    for path in (p for p in FILES if relative(p) not in LISTED):
        if relative(path).startswith("olympus/"):
            continue
        names = exported(parsed(path))
        if not names:
            continue
        imported = {
            alias.asname or alias.name
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert names & imported, f"{relative(path)}: `__all__` is not needed"


def test_modules_have_docstrings() -> None:
    missing = [relative(p) for p in FILES if not ast.get_docstring(parsed(p))]
    assert not missing
