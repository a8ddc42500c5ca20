"""Public names: each is a name of JAX or listed here, and functions without their own tests."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.extend.random
import numpy as np
import pytest

import olympus as ox
import olympus.extend.random
from olympus_core.base.lazy_modules import absences, api, api_versions, why_absent
from tests.library.oracle import check, row
from tools.api_names import names_of_version

ROOT = Path(__file__).parents[2]
#: the names of JAX that are absent for a reason
ABSENT = {name for group in absences() for name in group.names}
OURS = {
    ".lax": {"pvary"},  # a name of JAX until 0.10
    "": {
        *("BackendStatus", "Target", "artifact", "backends", "known_devices", "target"),
        *("ad_checkpoint", "files", "make_olympuspr", "xla_computation"),
        "include_full_tracebacks_in_locations",  # in JAX an option without a context
        *("DeviceModel", "Topology", "analysis", "device_models", "verification"),
        *("Torus", "TpuModel", "backend_of", "is_tpu_table", "tpu_models"),
        "interop",  # an attribute once one of its modules is imported
        "source_root",
    },
    ".core": {  # names of `extend.core` too, some of which JAX had here
        *("ClosedJaxpr", "DropVar", "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn"),
        *("Literal", "Primitive", "Var", "check_jaxpr", "concrete_or_error", "get_aval"),
        *("is_constant_dim", "is_symbolic_dim", "jaxpr_as_fun", "jaxprs_in_params"),
        *("new_jaxpr_eqn", "subjaxprs", "valid_jaxtype"),
    },
    # names of JAX until 0.9, modules of JAX until 0.10, and one from 0.12
    ".experimental": {"enable_x64", "disable_x64", "control_deps", "shard_alike", "overlap"},
    ".export": {"SymbolicDim"},
    ".extend": {"mark_caller"},
    ".extend.core": {
        *("AbstractValue", "Atom", "ShapedArray", "Trace", "Tracer", "eval_jaxpr", "get_aval"),
    },
    ".sharding": {"MOST_DEVICES", "expect_devices", "more_devices", "topology_devices"},
    ".stages": {
        "Linalg",
        *("Block", "MemoryAnalysis", "Optimize", "Rates", "Repeats", "StagedFunction"),
        *("checked_options", "driver_digest", "device_config", "device_model", "optimize_options"),
        *(
            "CompileRequest",
            "CompiledFiles",
            *("Constants", "MIN_CONSTANT_BYTES"),
            "compile_files",
            "is_attached",
            "shipped_devices",
            "shipped_tpus",
            "this_cpu",
            "topologies",
        ),
        *("array_trees", "fixed_sizes", "formula_value"),
    },
}
IMPORTED = (
    "jax.example_libraries",
    "jax.extend",
    "jax.flatten_util",
    "jax.test_util",
)  # `import jax` does not import these
PACKAGE = {ox.numpy: ox, jax.numpy: jax}
KEY = np.asarray([3, 4], np.uint32)
MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)
INTS = np.asarray([5, 3, 5, 1, 3], np.int32)


def members(namespace: str) -> set[str]:
    """Return the public names of a namespace; none if its module is absent."""
    try:
        module = importlib.import_module(namespace)
    except ModuleNotFoundError as error:
        assert error.name and namespace.startswith(error.name)
        return set()
    lazy = {name for name in api().get(namespace, ()) if hasattr(module, name)}
    return {name for name in dir(module) if not name.startswith("_")} | lazy


def is_submodule(namespace: str, name: str) -> bool:
    """Return True if a member of a namespace is a module of JAX, not imported so far perhaps."""
    try:
        return (
            importlib.util.find_spec(f"jax{namespace.removeprefix('olympus')}.{name}") is not None
        )
    except ModuleNotFoundError:  # the namespace is not a package
        return False


def test_a_name_of_jax_is_present_or_absent_for_a_reason() -> None:
    mine = {f"{x}.{name}" for x in api() for name in members(x)}
    listed = {f"{x}.{name}" for x, names in api().items() for name in names}
    assert not listed - mine - ABSENT, "neither present nor in absent_names.toml"
    assert not ABSENT & mine, "present, and in absent_names.toml"
    assert not ABSENT - listed, "in absent_names.toml, and no name of JAX"
    for group in absences():
        assert not any(members(package) for package in group.packages)
        assert not {*group.former} & (mine | listed)


def test_the_list_has_the_names_of_the_installed_jax() -> None:
    if jax.__version__ in api_versions():
        # In a process of its own: a deprecated name is known by its warning, and the filters of
        # warnings in this process change while threads of other tests run.
        code = "import json, tools.api_names as n; print(json.dumps(n.names_of_installed()))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert names_of_version(jax.__version__) == json.loads(done.stdout)


@pytest.mark.parametrize("namespace", sorted({*api()} - {"olympus.errors", "olympus.typing"}))
def test_every_name_is_a_name_of_jax_or_listed(namespace: str) -> None:
    for module in IMPORTED if namespace == "olympus" else ():
        importlib.import_module(module)
    try:
        theirs = set(dir(importlib.import_module(namespace.replace("olympus", "jax", 1))))
    except ModuleNotFoundError:
        theirs = set()
    others = OURS.get(namespace.removeprefix("olympus"), set())
    own = {x for x in members(namespace) if not is_submodule(namespace, x)}
    assert not own - theirs - set(api()[namespace]) - others


def test_the_error_for_a_name_of_one_version_names_it() -> None:
    name, known = next(
        (full, api()[full.rpartition(".")[0]][full.rpartition(".")[2]])
        for full in sorted(ABSENT)
        if api()[full.rpartition(".")[0]][full.rpartition(".")[2]] == ("0.12.0.1",)
    )
    namespace, _, last = name.rpartition(".")
    assert known and f"JAX has it in version {known[0]} (" in str(why_absent(namespace, last))


def test_aliases_are_the_same_objects() -> None:
    assert ox.jacobian is ox.jacrev
    assert ox.remat is ox.checkpoint
    assert ox.default_backend() == "cpu"
    assert ox.device_count() == ox.local_device_count() == len(ox.local_devices())
    assert isinstance(ox.devices()[0], ox.Device)
    for name in ("cdouble", "complex_", "csingle", "float_", "int_"):
        dtype, expected = getattr(ox.numpy, name), getattr(jax.numpy, name)
        assert ox.numpy.dtype(dtype) == jax.numpy.dtype(expected)
    for name in ("complexfloating", "signedinteger", "unsignedinteger"):
        assert getattr(ox.numpy, name) is getattr(jax.numpy, name)


def call_row(path: str, *args: Any, **options: Any) -> Any:
    """Return a row that calls the function at `path` in either package."""

    def call(jnp: Any, *operands: Any) -> Any:
        function: Any = PACKAGE[jnp]
        for part in path.split("."):
            function = getattr(function, part)
        return function(*operands, **options)

    return row(f"{path}{options}", call, *args)


def test_functions_of_numpy_agree_with_jax() -> None:
    check([
        call_row("numpy.bitwise_invert", INTS),
        call_row("numpy.bitwise_left_shift", INTS, INTS),
        call_row("numpy.bitwise_right_shift", INTS, INTS),
        call_row("numpy.true_divide", INTS, INTS),
    ])  # fmt: skip
    check([
        call_row(f"numpy.unique_{name}", INTS) for name in ("counts", "inverse", "values")
    ], jit=False, jit_oracle=False)  # fmt: skip
    assert ox.numpy.broadcast_shapes((2, 1), (3,)) == (2, 3)
    empty = ox.numpy.empty_like(MATRIX, dtype="int32")
    assert (empty.shape, empty.dtype) == ((3, 4), np.dtype("int32"))


def test_functions_of_lax() -> None:
    image = np.arange(2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    kernel = np.ones((4, 3, 2), np.float32)
    check([
        row("dynamic_update_slice_in_dim",
            lambda jnp, x, u, i: PACKAGE[jnp].lax.dynamic_update_slice_in_dim(x, u, i, 1),
            MATRIX, np.ones((3, 2), np.float32), np.int32(3)),
        row("conv_with_general_padding",
            lambda jnp, x, k: PACKAGE[jnp].lax.conv_with_general_padding(
                x, k, (1,), [(1, 0)], (1,), (2,)),
            image, kernel),
        call_row("lax.linalg.symmetric_product", MATRIX, np.eye(3, dtype=np.float32), alpha=2.0),
    ])  # fmt: skip
    assert ox.lax.broadcast_shapes((2, 1), (1, 3)) == (2, 3)
    spec, shapes = ("NWC", "WIO", "NWC"), (image.shape, kernel.shape, (1,), "VALID")
    assert ox.lax.conv_general_permutations(spec) == jax.lax.conv_general_permutations(spec)
    assert ox.lax.conv_shape_tuple(*shapes) == jax.lax.conv_shape_tuple(*shapes)


def test_functions_of_random() -> None:
    check([
        row("chisquare",
            lambda jnp, key: PACKAGE[jnp].random.chisquare(key, 3.0, (50,)), KEY, rtol=1e-4),
        row("generalized_normal",
            lambda jnp, key: PACKAGE[jnp].random.generalized_normal(key, 1.5, (50,)),
            KEY, rtol=1e-4),
    ])  # fmt: skip


def extended(function: Any) -> Any:
    """Return a row's function, which gets the module `extend.random` of either package."""
    return lambda jnp, *args: function(PACKAGE[jnp].extend.random, *args)


def test_functions_of_extend_random() -> None:
    words = np.arange(7, dtype=np.uint32)
    check([
        row(f"threefry_2x32 {counts.shape}", extended(lambda m, k, c: m.threefry_2x32(k, c)),
            KEY, counts)
        for counts in (words, words[:6].reshape(2, 3), words[:0], words[5])
    ])  # fmt: skip
    for name in ("threefry_prng_impl", "rbg_prng_impl", "unsafe_rbg_prng_impl"):
        for seed in (3, np.arange(3), np.arange(6).reshape(2, 3)):
            keys = []
            for package in (ox, jax):
                module = package.extend.random
                impl = getattr(module, name)
                keys.append(package.random.key_data(module.random_seed(seed, impl)))
                keys.append(package.random.key_data(module.seed_with_impl(impl, seed)))
                assert package.random.key(3, impl=impl).dtype == package.random.key_dtype(impl)
            assert all(np.array_equal(keys[0], x) for x in keys)
    for package in (ox, jax):
        with pytest.raises(TypeError, match="requires uint32 arguments, got"):
            package.extend.random.threefry_2x32(KEY, np.arange(3))
        with pytest.raises(TypeError, match="seed must be an integer"):
            package.extend.random.random_seed(1.5, package.extend.random.rbg_prng_impl)
    with pytest.raises(ValueError, match="an implementation of keys"):
        ox.extend.random.random_seed(1, "rbg")


def _double(package: Any) -> Any:
    """Return an implementation whose keys are two keys of Threefry."""
    random, jnp = package.random, package.numpy
    one, words = random.wrap_key_data, random.key_data

    def each(function: Any, pair: Any, axis: int = 0) -> Any:
        return jnp.stack([words(function(one(pair[i]))) for i in (0, 1)], axis=axis)

    def bits(pair: Any, width: int, shape: Any) -> Any:
        first, second = (random.bits(one(pair[i]), shape, f"uint{width}") for i in (0, 1))
        return first ^ second

    return package.extend.random.define_prng_impl(
        key_shape=(2, 2),
        seed=lambda seed: jnp.stack([words(random.key(seed + i)) for i in (0, 1)]),
        split=lambda pair, shape: each(lambda k: random.split(k, shape), pair, len(shape)),
        random_bits=bits,
        fold_in=lambda pair, data: each(lambda k: random.fold_in(k, data), pair),
        name="double",
        tag="dbl",
    )


def test_keys_of_an_implementation_that_a_user_defines() -> None:
    results = []
    for package in (ox, jax):
        random, impl = package.random, _double(package)
        key = random.key(3, impl=impl)
        assert (str(key.dtype), key.shape, random.key_impl(key)) == ("key<dbl>", (), impl)
        keys = random.split(key, (2, 3))
        assert keys.shape == (2, 3)
        again = random.wrap_key_data(random.key_data(keys), impl=impl)
        assert (again == keys).all()
        results.append([
            random.key_data(keys),
            random.key_data(keys.T),
            random.key_data(random.fold_in(key, 5)),
            random.normal(key, (4,)),
            package.vmap(lambda k, r=random: r.uniform(k, (2,)))(keys[0]),
            package.jit(lambda k, r=random: r.randint(k, (4,), 0, 100))(key),
            random.permutation(key, 7),
        ])  # fmt: skip
        with pytest.raises(TypeError, match=r"expected key_data.shape to end with \(2, 2\)"):
            random.wrap_key_data(np.ones((3, 2), np.uint32), impl=impl)
    for mine, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, expected)
    broken = ox.extend.random.define_prng_impl(
        key_shape=(3,), seed=lambda _: ox.numpy.ones(2, "uint32"), **dict.fromkeys(FUNCTIONS)
    )
    with pytest.raises(TypeError, match=r"words of type uint32\[3\], and returned uint32\[2\]"):
        ox.random.key(0, impl=broken)


FUNCTIONS = ("split", "random_bits", "fold_in")
TREE = {"b": [1, 2], "a": (3, {"c": 4})}


def test_functions_of_trees() -> None:
    for mine, theirs in ((ox.tree, jax.tree), (ox.tree_util, jax.tree_util)):
        prefix = "" if mine is ox.tree else "tree_"
        flatten = getattr(mine, f"{prefix}flatten_with_path")(TREE)[0]
        want = getattr(theirs, f"{prefix}flatten_with_path")(TREE)[0]
        assert [x for _, x in flatten] == [x for _, x in want]
        assert [ox.tree_util.keystr(path) for path, _ in flatten] == [
            jax.tree_util.keystr(path) for path, _ in want
        ]
        assert getattr(mine, f"{prefix}reduce")(lambda a, b: a * b, TREE) == 24
        assert getattr(mine, f"{prefix}all")({"a": True, "b": [1]})
        assert not getattr(mine, f"{prefix}all")({"a": True, "b": [0]})
    assert ox.tree_util.tree_reduce_associative(lambda a, b: a + b, TREE) == 10
    assert [x for _, x in ox.tree.leaves_with_path(TREE)] == ox.tree.leaves(TREE)
    named = ox.tree.map_with_path(lambda path, x: f"{ox.tree_util.keystr(path)}={x}", TREE)
    assert named == {
        "b": ["['b'][0]=1", "['b'][1]=2"],
        "a": ("['a'][0]=3", {"c": "['a'][1]['c']=4"}),
    }


def test_wrapped_functions_and_decisions_of_policies() -> None:
    assert ox.stages.CompilerOptions == dict[str, str | bool]
    for package in ("olympus", "jax"):
        stages = importlib.import_module(f"{package}.stages")
        names = importlib.import_module(f"{package}.ad_checkpoint")
        assert isinstance(importlib.import_module(package).jit(abs), stages.Wrapped)
        assert not isinstance(abs, stages.Wrapped)
        assert names.Offloadable("device", dst="pinned_host") == ("device", "pinned_host")
