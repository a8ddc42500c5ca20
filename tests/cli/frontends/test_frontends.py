"""From an entry and a target's arguments to a program: imports, signatures, abstract shapes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus.errors import EntryError, SpecError, TraceError, UsageError
from olympus_cli.frontends.binding import Static
from olympus_cli.frontends.importing import load_entry
from olympus_cli.frontends.python import Traceable, load_function
from olympus_cli.spec.resolve import Request


def program(text: str, shapes: str = "", *statics: str) -> Traceable:
    return load_function(Request(text, shapes, statics).spec())


def shapes_of(tree: Any) -> Any:
    match tree:
        case dict():
            return {key: shapes_of(value) for key, value in tree.items()}
        case list() | tuple():
            return type(tree)(map(shapes_of, tree))
    return (tree.dtype.name, tree.shape)


@pytest.mark.parametrize(
    "entry",
    ["model:Net.apply", "model.py:Net.apply", "./model.py:net.apply", "sub/../model.py:add"],
)
def test_an_entry_is_a_module_or_a_file_and_dotted_attributes(project: Path, entry: str) -> None:
    (project / "sub").mkdir()
    assert load_entry(entry, project).__name__ in ("apply", "add")


def test_a_package_and_a_namespace(folder: Path) -> None:
    (folder / "pkg" / "inner").mkdir(parents=True)
    (folder / "pkg" / "inner" / "m.py").write_text("from .n import f\n")
    (folder / "pkg" / "inner" / "n.py").write_text("def f(): return 1\n")
    assert load_entry("pkg.inner.m:f", folder)() == 1


def test_a_file_is_the_module_that_its_siblings_import(folder: Path) -> None:
    (folder / "a.py").write_text("import b\nclass A: pass\ndef same(): return b.A is A\n")
    (folder / "b.py").write_text("import a\nA = a.A if hasattr(a, 'A') else None\n")
    (folder / "c.py").write_text("import a\ndef mod(): return a\n")
    load_entry("a.py:same", folder)
    assert load_entry("c.py:mod", folder)() is sys.modules["a"]


def test_a_file_with_the_name_of_a_standard_module_does_not_replace_it(folder: Path) -> None:
    (folder / "random.py").write_text("def f(): return 1\n")
    (folder / "my-model.py").write_text("def f(): return 2\n")
    import random

    assert load_entry("random.py:f", folder)() == 1
    assert load_entry("my-model.py:f", folder)() == 2
    assert sys.modules["random"] is random


NAMES = ("rich", "jaxlib", "olympus", "colorsys", "__main__")
LOAD_ALL = f"""
import sys
from pathlib import Path
from olympus_cli.frontends.importing import load_entry
print([load_entry(name + ".py:f", Path.cwd())() for name in {NAMES}])
import colorsys, jaxlib.mlir, olympus.numpy, rich.table
assert __name__ == "__main__" and sys.modules["__main__"].load_entry is load_entry
"""


def test_a_file_with_the_name_of_an_installed_module_does_not_replace_it(folder: Path) -> None:
    (folder / "beside.py").write_text("N = 3\n")
    for name in NAMES:
        (folder / f"{name}.py").write_text("import beside\ndef f(): return beside.N\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOAD_ALL],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "[3, 3, 3, 3, 3]\n")


LOAD_AND_IMPORT = """
from pathlib import Path
from olympus_cli.frontends.importing import load_entry
f = load_entry("entry_of_user.py:f", Path.cwd())
import olympus.analysis
f()
"""


@pytest.mark.parametrize("written", [True, False])
def test_bytecode_is_written_for_olympus_and_not_for_programs(folder: Path, written: bool) -> None:
    (folder / "entry_of_user.py").write_text("def f():\n    import beside\n")
    (folder / "beside.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "cache")
    environment["PYTHONDONTWRITEBYTECODE"] = "" if written else "1"
    subprocess.run([sys.executable, "-P", "-c", LOAD_AND_IMPORT], env=environment, check=True)
    names = {path.name.partition(".")[0] for path in (folder / "cache").rglob("*.pyc")}
    assert names & {"entry_of_user", "beside"} == set()
    assert ({"analysis", "importing"} <= names) is written


def test_a_module_of_another_project_with_the_same_name_is_not_used(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "model.py").write_text(f"def f(): return {name!r}\n")
    assert load_entry("model:f", folder / "one")() == "one"
    assert load_entry("model:f", folder / "two")() == "two"
    assert load_entry("model.py:f", folder / "one")() == "one"


@pytest.mark.parametrize("inner", ["helper.py", "pk/__init__.py", "pk/helper.py"])
def test_each_folder_has_its_own_siblings(folder: Path, inner: str) -> None:
    module = inner.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for name in ("one", "two"):
        (folder / name / inner).parent.mkdir(parents=True)
        (folder / name / inner).write_text(f"K = {name!r}\n")
        (folder / name / "model.py").write_text(f"from {module} import K\ndef f(): return K\n")
    for name in ("one", "two", "one"):
        assert load_entry(f"{name}/model.py:f", folder)() == name
        assert load_entry("model:f", folder / name)() == name


def test_shapes_from_another_folder_do_not_replace_the_programs_modules(folder: Path) -> None:
    for name, size in (("a", 2), ("b", 3)):
        (folder / name).mkdir()
        (folder / name / "helper.py").write_text(f"K = {size}\n")
        (folder / name / "late.py").write_text(f"K = {size}\n")
    (folder / "b" / "init.py").write_text(
        "import olympus.numpy as np\n"
        "from helper import K\n"
        "def init():\n    import late\n    return np.zeros((K, late.K))\n"
    )
    (folder / "a" / "model.py").write_text(
        "import helper\n"
        "def f(x):\n    import late, helper as now\n"
        "    assert now is helper\n    return x * helper.K * late.K\n"
    )
    traced = program("a/model.py:f", "{from=b/init.py:init}").trace()
    assert traced.out_info.shape == (3, 3)
    assert str(traced.olympuspr).count("2.0") == 2


def test_output_of_a_module_does_not_go_to_stdout(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "loud.py").write_text("print('hello')\ndef f(): pass\n")
    load_entry("loud:f", folder)
    assert capsys.readouterr() == ("", "hello\n")


LAZY = """\
def __getattr__(name): return 1 / 0
class It:
    @property
    def wrong(self): return {}["k"]
    def other(self): pass
it = It()
"""


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ("model:forwrd", "model (model.py) has no function 'forwrd'", "forward"),
        ("model:Net.aply", "Net of model (model.py) has no function 'aply'", "apply"),
        ("modle:forward", "no module is named 'modle'", "model"),
        ("model.sub:forward", "no module is named 'model.sub'", ""),
        ("modle.py:forward", "file modle.py does not exist", "model.py"),
        ("nowhere/m.py:f", "file nowhere/m.py does not exist", ""),
        ("model:Net.bias", "is a value of type int, not a function", ""),
        ("model:", "'model:' is not an entry", "module:function"),
        (":f", "':f' is not an entry", ""),
        ("a-b:f", "'a-b' is not the name of a module", ""),
        ("importing:f", "importing raises ModuleNotFoundError while it is imported", "'nonesuch'"),
        ("importing:f", "  importing.py:2\n    import nonesuch", ""),
        ("raising:f", "raising raises RuntimeError while it is imported: no luck", ""),
        ("raising:f", "  raising.py:2\n    raise RuntimeError", ""),
        ("leaving:f", "leaving exits while it is imported", ""),
        ("broken.py:f", "broken is not Python", ""),
        ("broken:f", "  broken.py:2\n    def f(:", ""),
        ("relative.py:f", "raises ImportError", "package.module:function"),
        ("lazy:f", "lazy.f raises ZeroDivisionError while it is imported", ""),
        ("lazy:it.wrong", "lazy.wrong raises KeyError while it is imported: 'k'\n  laz", ""),
        ("lazy:it.othr", "It of lazy (lazy.py) has no function 'othr'", "other"),
        ("queue:f", "queue.py does not take its place", "queue.py:function"),
    ],
)
def test_an_entry_that_cannot_be_imported(
    project: Path, entry: str, message: str, hint: str
) -> None:
    (project / "importing.py").write_text("\nimport nonesuch\n")
    (project / "raising.py").write_text("def g():\n    raise RuntimeError('no luck')\ng()\n")
    (project / "leaving.py").write_text("raise SystemExit\n")
    (project / "broken.py").write_text("\ndef f(:\n")
    (project / "relative.py").write_text("from . import model\n")
    (project / "lazy.py").write_text(LAZY)
    (project / "queue.py").write_text("def f(): pass\n")
    with pytest.raises(EntryError) as caught:
        load_entry(entry, project)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["typing_extensions", "queue"])
def test_no_module_of_a_project_replaces_a_required_module(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (project / f"{name}.py").write_text("raise RuntimeError('the wrong one')\n")
    (project / "needing.py").write_text(f"import {name}\ndef f(): pass\n")
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert load_entry("needing:f", project)() is None


def test_arguments_by_position_are_in_the_order_of_the_parameters(project: Path) -> None:
    named = program("model:forward", "x=f32[8,3], params={w=f32[3,4], b=f32[4]}", "scale=2")
    assert named.binding.names == ("params", "x", "scale")
    assert named.binding.args[2] == Static(2)
    args, kwargs = named.example_args()
    tree = {"w": ("float32", (3, 4)), "b": ("float32", (4,))}
    assert shapes_of(args) == (tree, ("float32", (8, 3)))
    assert kwargs == {}


def test_arrays_fill_the_parameters_without_a_static(project: Path) -> None:
    mixed = program("model:forward", "{w=f32[3,4], b=f32[4]}, x=f32[8,3]", "relu=true")
    assert mixed.binding.names == ("params", "x")
    assert mixed.binding.kwargs == {"relu": Static(True)}
    (project / "m.py").write_text("def f(x, n, y): return x * n + y\n")
    assert program("m:f", "f32[2], i32[2]", "n=3").trace().arg_names == ("x", "y")


def test_variadic_parameters(project: Path) -> None:
    variadic = program("model:total", "f32[2], f32[2], z=f32[2]", "y=1")
    assert variadic.trace().arg_names == ("xs[0]", "xs[1]", "z")
    args, kwargs = variadic.example_args()
    assert (shapes_of(args), shapes_of(kwargs)) == (
        (("float32", (2,)),) * 2,
        {"z": ("float32", (2,))},
    )


@pytest.mark.parametrize(
    ("text", "shapes", "statics", "message", "hint"),
    [
        ("model:forward", "params=f32[]", [], "needs argument 'x'", "x=f32"),
        ("model:forward", "", [], "needs arguments 'params', 'x'", ""),
        ("model:forward", "f32[], f32[], xx=f32[]", [], "has no argument 'xx'", "x"),
        ("model:forward", "f32[], f32[]", ["sclae=1"], "has no argument 'sclae'", "scale"),
        ("model:forward", "f32[], x=f32[], params=f32[]", [], "by position and by name", ""),
        ("model:forward", "x=f32[]", ["x=1"], "'x' is given both as a shape and as a stat", ""),
        ("model:add", "f32[], f32[], f32[]", [], "takes 2 arrays by position; 3 shapes", "x, y"),
        ("model:add", "f32[], f32[]", ["y=1"], "takes 1 array by position besides its s", ""),
    ],
)
def test_arguments_that_do_not_match_the_parameters(
    project: Path, text: str, shapes: str, statics: list[str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        program(text, shapes, *statics)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "message"),
    [("y", "is not an argument"), ("scale", "is a static argument")],
)
def test_donate_names_an_array(project: Path, name: str, message: str) -> None:
    toml = project / "olympus.toml"
    toml.write_text(toml.read_text().replace('donate = ["x"]', f'donate = ["{name}"]'))
    with pytest.raises(UsageError, match=message) as caught:
        load_function(Request("forward@batch=1", statics=("scale=2",)).spec())
    assert caught.value.hint == "its arrays are params, x"


def test_shapes_come_from_a_function_that_is_only_traced(project: Path) -> None:
    (project / "big.py").write_text(
        "import olympus.numpy as np\n"
        "def init(n, kind='a'): return [np.zeros((n, 2**40)), {'k': np.ones(n, 'int32')}]\n"
        "def f(params, n): return params\n"
    )
    args, _ = program("big:f", "params={from=big:init}", "n=3").example_args()
    assert shapes_of(args) == ([("float32", (3, 2**40)), {"k": ("int32", (3,))}],)


def test_a_function_for_shapes_may_take_statics_by_position(project: Path) -> None:
    args, _ = program("model:same", "x={from=model:made}", "m=5").example_args()
    assert args[0].shape == (2, 5)


def test_a_function_for_shapes_has_only_statics(project: Path) -> None:
    with pytest.raises(UsageError, match="sized needs argument 'width'"):
        program("model:add", "{from=model:sized}, f32[]").example_args()
    with pytest.raises(TraceError, match="fails_at_once raised KeyError") as caught:
        (project / "m.py").write_text("def fails_at_once():\n    {}['k']\n")
        program("model:add", "{from=m:fails_at_once}, f32[]").example_args()
    assert caught.value.location == f"{project / 'm.py'}:2"


def test_donations_and_statics_reach_the_program(project: Path) -> None:
    traced = load_function(Request("forward@batch=8", statics=("relu=true",)).spec()).trace()
    args, kwargs = traced.args_info
    assert kwargs == {}
    assert [args[0]["w"].donated, args[1].donated] == [False, True]
    assert traced.out_info.shape == (8, 4)
    assert "max" in str(traced.olympuspr)


def test_a_dtype_is_not_narrowed_implicitly(project: Path) -> None:
    with pytest.raises(UsageError, match=r"float64\[2\]: 64-bit dtypes are off"):
        program("model:add", "f64[2], f64[2]").example_args()
    with olympus.enable_x64():
        args, _ = program("model:add", "f64[2], f64[2]").example_args()
    assert shapes_of(args) == (("float64", (2,)),) * 2


CACHE = """\
import olympus.numpy as np
def cache(batch=1, layers=2, *, dtype="float32"):
    return [np.zeros((batch, 4), dtype)] * layers
def wide(batch, **more): return np.zeros((batch, len(more)))
def step(cache, x): return x
"""
STEP = """\
[target.step]
entry = "m:step"
args.cache = {cache}
args.x = "f32[{batch}]"
matrix.batch = [1, 8]
"""


@pytest.mark.parametrize(
    ("cache", "shapes"),
    [
        ('{ from = "m:cache", with = { batch = "{batch}" } }', [("float32", (8, 4))] * 2),
        ('{ from = "m:cache", with = { batch = 3, layers = 1 } }', [("float32", (3, 4))]),
        (
            '{ from = "m:cache", with = { batch = "{batch}", dtype = "bfloat16", layers = 1 } }',
            [("bfloat16", (8, 4))],
        ),
        ('{ from = "m:wide", with = { batch = "{batch}", a = 1, b = 2 } }', ("float32", (8, 2))),
    ],
)
def test_a_function_for_shapes_gets_values_by_with(
    folder: Path, cache: str, shapes: object
) -> None:
    (folder / "m.py").write_text(CACHE)
    (folder / "olympus.toml").write_text(STEP.replace("{cache}", cache))
    target = Request("step@batch=8").spec()
    assert target.static == {}
    args, _ = load_function(target).example_args()
    assert shapes_of(args[0]) == shapes
    assert args[1].shape == (8,)


def test_values_by_with_in_an_option(folder: Path) -> None:
    (folder / "m.py").write_text(CACHE)
    args, _ = program("m:step", "cache={from=m:cache, with={batch=5}}, x=f32[]").example_args()
    assert shapes_of(args[0]) == [("float32", (5, 4))] * 2


@pytest.mark.parametrize(
    ("cache", "message", "hint"),
    [
        (
            '{ from = "m:cache" }',
            "cache would take batch = 1 for every batch of the matrix",
            'with = { batch = "{batch}" }',
        ),
        ('{ from = "m:wide" }', "wide needs argument 'batch'", "with = { batch = ... }"),
        (
            '{ from = "m:cache", with = { bath = 1 } }',
            "cache has no argument 'bath'",
            "did you mean batch?",
        ),
    ],
)
def test_wrong_arguments_of_a_function_for_shapes(
    folder: Path, cache: str, message: str, hint: str
) -> None:
    (folder / "m.py").write_text(CACHE)
    (folder / "olympus.toml").write_text(STEP.replace("{cache}", cache))
    with pytest.raises(UsageError) as caught:
        load_function(Request("step@batch=8").spec()).example_args()
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_a_key_of_the_matrix_that_is_no_argument_has_a_hint(folder: Path) -> None:
    (folder / "m.py").write_text("def f(x): return x\n")
    toml = '[target.t]\nentry = "m:f"\nargs = ["f32[2]"]\nmatrix.n = [1]\n'
    (folder / "olympus.toml").write_text(toml)
    with pytest.raises(UsageError, match="f has no argument 'n'") as caught:
        load_function(Request("t@n=1").spec()).example_args()
    assert "not written as {n} is a static argument; its arguments are x" in str(caught.value.hint)


def test_modules_are_found_on_the_projects_python_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "src").mkdir()
    (folder / "lib").mkdir()
    (folder / "src" / "inner.py").write_text("from outer import n\ndef f(x): return x + n\n")
    (folder / "lib" / "outer.py").write_text("n = 3\n")
    (folder / "main.py").write_text("from inner import f\n")
    toml = '[target.t]\nentry = "inner:f"\nargs = ["f32[2]"]\n'
    (folder / "olympus.toml").write_text(toml)
    with pytest.raises(EntryError, match="no module is named 'inner'") as caught:
        load_function(Request("t").spec())
    assert (
        caught.value.hint
        == 'it is in src: put python-path = ["src"] into [project] of olympus.toml'
    )
    with pytest.raises(EntryError, match="No module named 'inner'") as caught:
        load_function(Request("main:f", shapes="f32[2]").spec())
    assert 'python-path = ["src"]' in str(caught.value.hint)
    (folder / "olympus.toml").write_text(f'[project]\npython-path = ["src", "lib"]\n{toml}')
    for text, shapes in (("t", None), ("inner:f", "f32[2]"), ("main.py:f", "f32[2]")):
        for name in ("inner", "outer", "main"):
            sys.modules.pop(name, None)
        assert load_function(Request(text, shapes=shapes).spec()).name == "f"
    monkeypatch.chdir(folder / "src")
    assert load_function(Request("main:f", shapes="f32[2]", project="..").spec()).name == "f"


def test_the_python_path_must_be_an_existing_folder(folder: Path) -> None:
    (folder / "olympus.toml").write_text('[project]\nbuild-dir = "b"\npython-path = ["scr"]\n')
    with pytest.raises(
        SpecError,
        match=r"olympus\.toml:3: project\.python-path names the folder scr, which does not exist",
    ):
        Request("m:f").spec()


def test_the_message_has_the_full_name_of_a_module(folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").touch()
    (folder / "pkg" / "net.py").touch()
    with pytest.raises(EntryError, match="no module is named 'net'") as caught:
        load_entry("net:f", folder)
    assert caught.value.hint == "did you mean pkg.net?"
