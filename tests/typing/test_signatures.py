"""The types of public functions and array methods, as `help` and an editor show them."""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NewType

import pytest

import olympus as ox
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.library import methods
from olympus_core.library.numpy.indexing.at import IndexUpdateHelper, IndexUpdateRef
from olympus_core.library.random.keys import KeyArray

ROOT = Path(__file__).parents[2]
#: all modules that users import, without the contract of primitives, which accepts any type
NAMESPACES = ["olympus"] + [
    module.name
    for module in pkgutil.walk_packages(ox.__path__, "olympus.")
    if not module.name.startswith(
        (
            "olympus.api_util",
            "olympus.core",
            "olympus.extend",
            "olympus.ffi",
            "olympus.interpreters",
        )
    )
]
#: the functions of trees, in `tree` and as `tree_...` in `tree_util`, and what is a tree of each
TREES = {
    "all": "tree",
    "broadcast": "prefix_tree full_tree return",
    "flatten": "tree return",
    "flatten_with_path": "tree return",
    "leaves": "tree return",
    "leaves_with_path": "tree return",
    "map": "tree rest return",
    "map_with_path": "tree rest return",
    "reduce": "tree initializer return",
    "reduce_associative": "tree identity return",
    "structure": "tree",
    "transpose": "pytree_to_transpose return",
    "unflatten": "leaves return",
}
#: the parameters, and "return", that may be anything, by `Any`, and why
ANYTHING: dict[str, tuple[str, str]] = {
    "olympus.analysis.hlo_cost_analysis": ("module", "a module of the MLIR bindings"),
    "olympus.analysis.profile": ("args kwargs", "the arguments of a user's function"),
    "olympus.artifact.BoundProgram.flat": ("leaves", "array-like values"),
    "olympus.artifact.BucketManifest.to_data": ("return", "what JSON has"),
    "olympus.artifact.BucketProgram.flat": ("leaves", "array-like values"),
    "olympus.artifact.BucketProgram.part": ("return", "a program of olympus_runtime"),
    "olympus.artifact.Manifest.to_data": ("return", "what JSON has"),
    "olympus.artifact.Node.to_data": ("return", "what JSON has"),
    "olympus.artifact.Node.random_key": ("words return", "the words of a random key"),
    "olympus.artifact.Signature.to_data": ("return", "what JSON has"),
    "olympus.artifact.SymbolicManifest.to_data": ("return", "what JSON has"),
    "olympus.artifact.SymbolicProgram.flat": ("leaves", "array-like values"),
    "olympus.artifact.SymbolicProgram.part": ("return", "a program of olympus_runtime"),
    "olympus.artifact.WeightManifest.to_data": ("return", "what JSON has"),
    "olympus.artifact.indented": ("data", "what JSON has"),
    "olympus.export.Exported.call": ("args kwargs return", "those of the exported function"),
    "olympus.export.Exported.mlir_module": ("return", "text or a module of the MLIR bindings"),
    "olympus.export.Exported.module_for": ("return", "a module of the MLIR bindings"),
    "olympus.export.register_pytree_node_serialization": (
        "serialize_auxdata from_children",
        "the static data of the user's class",
    ),
    "olympus.export.symbolic_args_specs": ("args shapes_specs return", "trees"),
    "olympus.files.RecordSchemas.record": ("return", "what JSON has"),
    "olympus.files.RecordSchemas.value": ("kind return", "a type, and what JSON has"),
    "olympus.files.form_of": ("kind", "a type"),
    "olympus.files.parse_json": ("return", "what JSON has"),
    "olympus.files.remember_types": ("kind", "a type"),
    "olympus.files.to_data": ("value return", "a record, and what JSON has"),
    "olympus.files.typed": ("kind return", "a type, and a value of it"),
    "olympus.ShapeDtypeStruct.update": ("changes", "its attributes"),
    "olympus.ad_checkpoint.print_saved_residuals": (
        "args kwargs",
        "the arguments of a user's function",
    ),
    "olympus.custom_gradient": ("fun", "a user's function of any arguments"),
    "olympus.custom_derivatives.custom_gradient": ("fun", "a user's function of any arguments"),
    "olympus.custom_derivatives.custom_vjp_primal_tree_values": ("tree_of_primals return", "trees"),
    "olympus.custom_derivatives.linear_call": ("residual_args linear_args return", "trees"),
    "olympus.custom_derivatives.zero_from_primal": ("val return", "array-like values"),
    "olympus.lax.custom_linear_solve": ("b return", "trees"),
    "olympus.lax.custom_root": ("initial_guess solve tangent_solve return", "trees and solvers"),
    "olympus.closure_convert": ("example_args", "the arguments of a user's function"),
    "olympus.custom_derivatives.closure_convert": (
        "example_args",
        "the arguments of a user's function",
    ),
    "olympus.device_get": ("x return", "a tree"),
    "olympus.device_models": ("tables", "what TOML has"),
    "olympus.is_tpu_table": ("tables", "what TOML has"),
    "olympus.tpu_models": ("tables", "what TOML has"),
    "olympus.Ref.addupdate": ("idx", "an index"),
    "olympus.ds": ("start return", "an int or a traced one, and an index"),
    "olympus.empty_ref": ("ty memory_space", "a type, and an option without effect"),
    "olympus.new_ref": ("memory_space kind", "options without effect"),
    "olympus.ref.Ref.addupdate": ("idx", "an index"),
    "olympus.ref.addupdate": ("idx", "an index"),
    "olympus.ref.empty_ref": ("ty memory_space", "a type, and an option without effect"),
    "olympus.ref.get": ("idx", "an index"),
    "olympus.ref.new_ref": ("memory_space kind", "options without effect"),
    "olympus.ref.set": ("idx", "an index"),
    "olympus.ref.swap": ("idx", "an index"),
    "olympus.stages.StagedFunction.referenced": ("args kwargs return", "trees"),
    "olympus.stages.Wrapped.lower": ("args kwargs", "trees"),
    "olympus.stages.Wrapped.trace": ("args kwargs", "trees"),
    "olympus.device_put": ("x device src donate may_alias return", "a tree"),
    "olympus.eval_shape": (
        "args kwargs return",
        "the arguments of a user's function, and its tree",
    ),
    "olympus.flatten_util.ravel_pytree": ("pytree", "a tree"),
    "olympus.interop.jax.callable": ("fun", "a function or a bundle"),
    "olympus.interop.jax.jit": ("options return", "the options of jax.jit, and a function"),
    "olympus.interop.jax.map_types": ("types return", "a tree and its leaves"),
    "olympus.interop.jax.named_leaves": ("value return", "a tree and its leaves"),
    "olympus.interop.jax.result_types": ("return", "a tree"),
    "olympus.interop.jax.trace": ("args kwargs", "the arguments of a user's function"),
    "olympus.interop.torch.result_types": ("return", "a tree"),
    "olympus.interop.torch.state": ("module", "a torch.nn.Module, which may not be installed"),
    "olympus.interop.torch.trace": ("module args kwargs", "a torch.nn.Module and its arguments"),
    "olympus.interop.onnx.OnnxModel.function": ("constants", "the constants of shapes"),
    "olympus.interop.onnx.OnnxModel.trace": ("constants", "the constants of shapes"),
    "olympus.jvp": (
        "primals tangents return",
        "the arguments of a user's function, and their tangents",
    ),
    "olympus.lax.cond": ("operands operand return", "operands of a user's functions"),
    "olympus.lax.fori_loop": ("init_val return", "a tree"),
    "olympus.lax.map": ("xs return", "a tree, of which the function gets rows"),
    "olympus.lax.platform_dependent": ("args", "operands of a user's functions"),
    "olympus.lax.reduce": ("operands init_values return", "a tree"),
    "olympus.lax.reduce_window": ("operand init_value return", "a tree"),
    "olympus.lax.scan": ("f init xs return", "a tree, of which the function gets rows"),
    "olympus.lax.switch": ("operands operand", "operands of a user's functions"),
    "olympus.linear_transpose": ("primals return", "the arguments of a user's function"),
    "olympus.linearize": ("primals return", "the arguments of a user's function"),
    "olympus.make_jaxpr": ("return", "the tree of shapes of a user's function"),
    "olympus.make_user_context": ("default_value", "a value of the program"),
    "olympus.make_olympuspr": ("return", "the tree of shapes of a user's function"),
    "olympus.numpy.fromfile": ("args kwargs", "those of numpy.fromfile"),
    "olympus.numpy.load": ("args kwargs return", "those of numpy.load, and what the file has"),
    "olympus.numpy.apply_along_axis": (
        "args kwargs return",
        "more arguments of a user's function, and its tree",
    ),
    "olympus.numpy.array": ("object", "nested sequences, and whatever NumPy makes an array of"),
    "olympus.numpy.asarray": ("a", "as array"),
    "olympus.numpy.block": ("arrays", "lists of lists, however deep"),
    "olympus.numpy.from_dlpack": ("x", "an array of any library"),
    "olympus.numpy.frombuffer": ("buffer", "a buffer, which has no type before Python 3.12"),
    "olympus.numpy.fromfunction": (
        "kwargs return",
        "more arguments of a user's function, and its tree",
    ),
    "olympus.numpy.iscomplexobj": ("x", "a question about any object"),
    "olympus.numpy.isrealobj": ("x", "a question about any object"),
    "olympus.numpy.isscalar": ("element", "a question about any object"),
    "olympus.numpy.iterable": ("y", "a question about any object"),
    "olympus.numpy.pad": ("kwargs", "the options of a mode"),
    "olympus.numpy.piecewise": ("args kw", "more arguments of the user's functions"),
    "olympus.scipy.optimize.minimize": ("args options", "more arguments of the user's function"),
    "olympus.scipy.sparse.linalg.bicgstab": ("A b x0 M return", "operators, and trees of arrays"),
    "olympus.scipy.sparse.linalg.cg": ("A b x0 M return", "operators, and trees of arrays"),
    "olympus.scipy.sparse.linalg.gmres": ("A b x0 M return", "operators, and trees of arrays"),
    "olympus.dlpack.from_dlpack": ("x", "any value"),
    "olympus.example_libraries.optimizers.adagrad": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.adam": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.adamax": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.clip_grads": (
        "grad_tree max_norm return",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.constant": ("step_size", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.exponential_decay": (
        "step_size decay_steps decay_rate",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.inverse_time_decay": (
        "step_size decay_steps decay_rate",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.l2_norm": ("tree return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.make_schedule": (
        "scalar_or_schedule",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.momentum": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.nesterov": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.pack_optimizer_state": (
        "marked_pytree",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.piecewise_constant": (
        "boundaries values",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.polynomial_decay": (
        "step_size decay_steps final_step_size",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.rmsprop": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.rmsprop_momentum": (
        "step_size return",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.optimizers.sgd": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.sm3": ("step_size return", "trees, and step sizes"),
    "olympus.example_libraries.optimizers.unpack_optimizer_state": (
        "return",
        "trees, and step sizes",
    ),
    "olympus.example_libraries.stax.BatchNorm": (
        "beta_init gamma_init",
        "initializers, layouts and padding",
    ),
    "olympus.example_libraries.stax.Dense": ("W_init b_init", "initializers, layouts and padding"),
    "olympus.example_libraries.stax.GeneralConv": (
        "dimension_numbers padding W_init b_init",
        "initializers, layouts and padding",
    ),
    "olympus.example_libraries.stax.GeneralConvTranspose": (
        "dimension_numbers padding W_init b_init",
        "initializers, layouts and padding",
    ),
    "olympus.example_libraries.stax.elementwise": (
        "fun_kwargs",
        "initializers, layouts and padding",
    ),
    "olympus.example_libraries.stax.shape_dependent": (
        "make_layer",
        "initializers, layouts and padding",
    ),
    "olympus.experimental.mesh_utils.create_device_mesh": ("devices return", "devices"),
    "olympus.experimental.mesh_utils.create_hybrid_device_mesh": ("devices return", "devices"),
    "olympus.experimental.compute_on.compute_on2": (
        "out_memory_spaces compiler_options",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.control_deps.control_dep": ("src dst", "trees, and internals of JAX"),
    "olympus.experimental.control_deps.schedule": ("ops", "trees, and internals of JAX"),
    "olympus.experimental.fused.fused": ("out_spaces", "trees, and internals of JAX"),
    "olympus.experimental.layout.with_layout_constraint": (
        "layouts",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.P.update": (
        "partitions unreduced reduced",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.P.index": ("entry", "trees, and internals of JAX"),
    "olympus.experimental.multihost_utils.P.count": ("entry", "trees, and internals of JAX"),
    "olympus.experimental.multihost_utils.P.axes": ("return", "trees, and internals of JAX"),
    "olympus.experimental.multihost_utils.global_array_to_host_local_array_impl": (
        "arr return",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.gtl_abstract_eval": (
        "arr",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.host_local_array_to_global_array_impl": (
        "arr return",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.ltg_abstract_eval": (
        "arr",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.multihost_utils.ltg_batcher": (
        "axis_data vals_in return",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.ode.interp_fit_dopri": ("k", "trees, and internals of JAX"),
    "olympus.experimental.ode.ravel_first_arg": ("debug_info", "trees, and internals of JAX"),
    "olympus.experimental.xla_metadata.set_xla_metadata": (
        "x kwargs return",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.xla_metadata.xla_metadata_call2": (
        "metadata ad_metadata",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.buffer_callback.buffer_callback": (
        "result_shape_dtypes",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.serialize_executable.deserialize_and_load": (
        "backend",
        "trees, and internals of JAX",
    ),
    "olympus.experimental.jet.JetTrace.to_primal_terms_pair": (
        "val return",
        "trees of arrays and series",
    ),
    "olympus.experimental.jet.JetTrace.wrap": ("primal return", "trees of arrays and series"),
    "olympus.experimental.jet.JetTrace.process": (
        "args params return",
        "trees of arrays and series",
    ),
    "olympus.experimental.jet.JetTracer.full_lower": ("return", "trees of arrays and series"),
    "olympus.experimental.jet.def_comp": ("kwargs", "trees of arrays and series"),
    "olympus.experimental.jet.deriv_prop": (
        "primals_in series_in params return",
        "trees of arrays and series",
    ),
    "olympus.experimental.jet.fact": ("n", "trees of arrays and series"),
    "olympus.experimental.jet.jet2": ("primals series _ return", "trees of arrays and series"),
    "olympus.experimental.jet.linear_prop": (
        "primals_in series_in params return",
        "trees of arrays and series",
    ),
    "olympus.experimental.jet.zero_prop": (
        "primals_in series_in params return",
        "trees of arrays and series",
    ),
    "olympus.experimental.sparse.bcoo_conv_general_dilated": (
        "padding dimension_numbers precision preferred_element_type out_sharding",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.ad.flatten_fun_for_sparse_ad": (
        "args return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.bcoo.bcoo_conv_general_dilated": (
        "padding dimension_numbers precision preferred_element_type out_sharding",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.SparseTrace.to_sparse_tracer": (
        "val",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.SparseTrace.process": (
        "args params return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.SparsifyEnv.dense": (
        "data",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.SparsifyEnv.sparse": (
        "data indices indptr",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.arrays_to_spvalues": (
        "args return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.eval_sparse": (
        "consts",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.sparsify_fun": (
        "args return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.sparsify_subtrace": (
        "tag",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.spvalues_to_arrays": (
        "spvalues return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.transform.spvalues_to_avals": (
        "spvalues return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.rnn.init_lstm_weight": ("rng", "values that JAX types as Any"),
    "olympus.experimental.rnn.lstm": ("precision", "values that JAX types as Any"),
    "olympus.experimental.rnn.lstm_bwd": ("precision", "values that JAX types as Any"),
    "olympus.experimental.rnn.lstm_fwd": ("precision", "values that JAX types as Any"),
    "olympus.experimental.rnn.lstm_ref": ("precision", "values that JAX types as Any"),
    "olympus.experimental.roofline.roofline": (
        "in_specs out_specs return",
        "values that JAX types as Any",
    ),
    "olympus.experimental.roofline.roofline_and_grad": (
        "in_specs out_specs return",
        "values that JAX types as Any",
    ),
    "olympus.experimental.roofline.roofline.roofline": (
        "in_specs out_specs return",
        "values that JAX types as Any",
    ),
    "olympus.experimental.roofline.roofline.roofline_and_grad": (
        "in_specs out_specs return",
        "values that JAX types as Any",
    ),
    "olympus.experimental.hijax.AbstractValue.with_sharding": (
        "explicit",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.AbstractValue.with_axis": ("entry", "trees and rules of users"),
    "olympus.experimental.hijax.AbstractValue.update": ("vma", "trees and rules of users"),
    "olympus.experimental.hijax.GradAccum.accum": ("x", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrim.check": ("arg_tys", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrim.expand": ("args return", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrim.jvp": (
        "primals tangents return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrim.lin": ("nzs_in primals return", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrim.linearized": (
        "residuals tangents return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrim.vjp_fwd": ("nzs_in args return", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrim.vjp_bwd": (
        "res outgrad arg_accums",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrim.vjp_bwd_retval": (
        "res outgrad return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrim.transpose": (
        "out_ct maybe_accums",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrim.batch": ("args dims return", "trees and rules of users"),
    "olympus.experimental.hijax.HiPrimitive.to_lojax": (
        "args params return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrimitive.impl": (
        "args params return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.HiPrimitive.lower": (
        "ctx operands params return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.NullAccum.accum": ("x", "trees and rules of users"),
    "olympus.experimental.hijax.RefAccum.accum": ("x", "trees and rules of users"),
    "olympus.experimental.hijax.RefAccum.freeze": ("return", "trees and rules of users"),
    "olympus.experimental.hijax.ShapedArray.with_sharding": (
        "explicit",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.ShapedArray.with_axis": ("entry", "trees and rules of users"),
    "olympus.experimental.hijax.ShapedArray.update": ("vma", "trees and rules of users"),
    "olympus.experimental.hijax.VJPHiPrimitive.batch": (
        "args dims return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.VJPHiPrimitive.batch_dim_rule": (
        "dims return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.ValAccum.accum": ("x", "trees and rules of users"),
    "olympus.experimental.hijax.ValAccum.freeze": ("return", "trees and rules of users"),
    "olympus.experimental.hijax.Zero.instantiate": ("return", "trees and rules of users"),
    "olympus.experimental.hijax.bdims_at_front": ("args dims return", "trees and rules of users"),
    "olympus.experimental.hijax.instantiate_zeros": ("tangent return", "trees and rules of users"),
    "olympus.experimental.hijax.is_undefined_primal": ("x", "trees and rules of users"),
    "olympus.experimental.hijax.jvp_from_lin": (
        "primals tangents return",
        "trees and rules of users",
    ),
    "olympus.experimental.hijax.unmap_avals": ("avals dims return", "trees and rules of users"),
    "olympus.experimental.hijax.vmap_rule": ("in_axes out_axes", "trees and rules of users"),
    "olympus.experimental.ode.odeint": ("y0 args return", "trees, and a user's function"),
    "olympus.experimental.sparse.BCOO.reshape": ("shape", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.BCOO.sum": (
        "axis dtype return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.BCSR.transpose": ("return", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.JAXSparse.sum": (
        "args kwargs return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.JAXSparse.transpose": (
        "return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.grad": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.jacfwd": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.jacobian": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.jacrev": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.random_bcoo": ("kwds", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.value_and_grad": (
        "kwargs return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.jet.jet": ("primals series _ return", "trees of arrays and series"),
    "olympus.profiler.ProfileSession.stop": ("return", "a ProfileData of jaxlib"),
    "olympus.profiler.annotate_function": ("decorator_kwargs", "any value"),
    "olympus.profiler.start_trace": ("profiler_options", "any value"),
    "olympus.profiler.trace": ("profiler_options", "any value"),
    "olympus.stages.Compiled.prepared": ("args kwargs", "the arguments of a user's function"),
    "olympus.stages.Compiled.profile": ("args kwargs", "the arguments of a user's function"),
    "olympus.stages.Lowered.compiler_ir": (
        "return",
        "an object of MLIR's bindings, which have no types",
    ),
    "olympus.stages.StagedFunction.arguments": (
        "args kwargs",
        "the arguments of a user's function",
    ),
    "olympus.stages.Traced.with_out_shardings": ("out_shardings", "shardings are tree prefixes"),
    "olympus.stages.checked_options": ("options", "what is checked"),
    "olympus.test_util.check_grads": ("args", "the arguments of a user's function"),
    "olympus.test_util.check_jvp": ("args", "the arguments of a user's function"),
    "olympus.test_util.check_vjp": ("args", "the arguments of a user's function"),
    "olympus.tree.static": (
        "kwargs return",
        "the options of dataclasses.field, and what that gives",
    ),
    "olympus.tree_util.all_leaves": ("iterable", "a tree"),
    "olympus.tree_util.flatten_one_level": ("tree return", "a tree"),
    "olympus.tree_util.flatten_one_level_with_keys": ("tree return", "a tree"),
    "olympus.tree_util.is_tree_node": ("typ", "a question about any object"),
    "olympus.tree_util.keystr": ("keys", "keys of containers, of any class"),
    "olympus.tree_util.register_pytree_node": (
        "flatten_func unflatten_func flatten_with_keys_func",
        "children of containers",
    ),
    "olympus.tree_util.register_pytree_with_keys": (
        "nodetype flatten_with_keys flatten_func",
        "children of containers, and their keys",
    ),
    "olympus.typeof": ("x", "whatever has a type: arrays, and objects with a shape and a dtype"),
    "olympus.value_and_grad": ("return", "a gradient is a tree like the arguments"),
    "olympus.vjp": ("primals return", "the arguments of a user's function"),
    "olympus.vmap": ("in_axes out_axes", "axes are tree prefixes"),
    "olympus.xla_computation": ("in_parts out_parts", "parts are tree prefixes"),
    **{f"olympus.tree.{name}": (of, "a tree") for name, of in TREES.items()},
    **{f"olympus.tree_util.tree_{name}": (of, "a tree") for name, of in TREES.items()},
    "olympus.P.axes": ("return", "names of axes, of any hashable class"),
    "olympus.P.count": ("entry", "names of axes, of any hashable class"),
    "olympus.P.index": ("entry", "names of axes, of any hashable class"),
    "olympus.P.update": ("partitions unreduced reduced", "names of axes, of any hashable class"),
    "olympus.sharding.PartitionSpec.count": ("entry", "names of axes, of any hashable class"),
    "olympus.sharding.PartitionSpec.index": ("entry", "names of axes, of any hashable class"),
    "olympus.sharding.PartitionSpec.update": (
        "partitions unreduced reduced",
        "names of axes, of any hashable class",
    ),
    "olympus.experimental.multihost_utils.assert_equal": ("in_tree", "a tree"),
    "olympus.experimental.multihost_utils.broadcast_one_to_all": ("in_tree return", "a tree"),
    "olympus.experimental.multihost_utils.global_array_to_host_local_array": (
        "global_inputs pspecs return",
        "a tree",
    ),
    "olympus.experimental.multihost_utils.host_local_array_to_global_array": (
        "local_inputs pspecs return",
        "a tree",
    ),
    "olympus.experimental.multihost_utils.live_devices": ("devices", "devices"),
    "olympus.experimental.multihost_utils.process_allgather": ("in_tree return", "a tree"),
    "olympus.experimental.topologies.get_topology_desc": ("kwargs", "options of JAX's plugins"),
    "olympus.make_array_from_process_local_data": ("local_data global_shape return", "a tree"),
    "olympus.reshard": ("out_shardings", "shardings are tree prefixes"),
    "olympus.sharding.make_single_device_sharding": ("device", "a device"),
    "olympus.debug.callback": ("args kwargs return", "the arguments of a user's function"),
    "olympus.debug.inspect_array_sharding": ("value", "a tree"),
    "olympus.debug.log": ("args kwargs return", "values to print"),
    "olympus.debug.print": ("args kwargs return", "values to print"),
    "olympus.debug.visualize_array_sharding": ("arr", "an array of any library"),
    "olympus.experimental.checkify.check": ("pred fmt_args fmt_kwargs", "values to print"),
    "olympus.experimental.checkify.debug_check": ("pred fmt_args fmt_kwargs", "values to print"),
    "olympus.experimental.checkify.checkify": ("return", "the result of a user's function"),
    "olympus.experimental.io_callback": (
        "result_shape_dtypes args sharding kwargs return",
        "a user's function",
    ),
    "olympus.experimental.pjit.pjit": ("in_shardings out_shardings", "shardings are tree prefixes"),
    "olympus.jit": ("in_shardings out_shardings", "shardings are tree prefixes"),
    "olympus.lax.with_sharding_constraint": ("shardings", "shardings are tree prefixes"),
    "olympus.make_array_from_callback": (
        "shape dtype",
        "shapes and dtypes of any form",
    ),
    "olympus.make_array_from_single_device_arrays": (
        "shape dtype",
        "shapes and dtypes of any form",
    ),
    "olympus.make_mesh": (
        "axis_names devices",
        "names of axes, and devices of a runtime without types",
    ),
    "olympus.pmap": ("in_axes out_axes", "axes are tree prefixes"),
    "olympus.pure_callback": (
        "result_shape_dtypes args sharding kwargs return",
        "a user's function",
    ),
    "olympus.shard_map": ("in_specs out_specs", "specs are tree prefixes"),
    "olympus.smap": ("in_axes out_axes", "numbers of axes are tree prefixes"),
    "olympus.sharding.auto_axes": ("out_sharding", "shardings are tree prefixes"),
    "olympus.sharding.explicit_axes": ("in_sharding", "shardings are tree prefixes"),
    "olympus.sharding.reshard": ("out_shardings", "shardings are tree prefixes"),
    "olympus.experimental.shard_map.shard_map": ("in_specs out_specs", "specs are tree prefixes"),
    "olympus.sharding.PartitionSpec.axes": ("return", "names of axes, of any hashable class"),
    "olympus.sharding.Sharding.addressable_devices_indices_map": (
        "return",
        "devices of a runtime without types",
    ),
    "olympus.sharding.Sharding.devices_indices_map": (
        "return",
        "devices of a runtime without types",
    ),
    "olympus.verification.compare": ("allowed", "an array or a number"),
    "olympus.experimental.sparse.ad.grad": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.ad.jacfwd": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.ad.jacobian": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.ad.jacrev": ("kwargs", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.ad.value_and_grad": (
        "kwargs return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.bcoo.BCOO.reshape": ("shape", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.bcoo.BCOO.sum": (
        "axis dtype return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.bcsr.BCSR.transpose": (
        "return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.linalg.spsolve": (
        "data indices indptr b return",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.random.random_bcoo": ("kwds", "trees of sparse and dense arrays"),
    "olympus.experimental.sparse.util.broadcasting_vmap": (
        "in_axes out_axes",
        "trees of sparse and dense arrays",
    ),
    "olympus.experimental.sparse.util.nfold_vmap": ("in_axes", "trees of sparse and dense arrays"),
    "olympus.lax.dce_sink": ("val", "trees, and functions of any arguments"),
    "olympus.experimental.sparse.ad.is_sparse": ("x", "trees of sparse and dense arrays"),
    "olympus.profiler.start_server": ("return", "trees, and functions of any arguments"),
}
#: the type of a function whose result is not known
FUNCTION = re.compile(r"Callable\[(?:\.\.\.|_P|\[[^\[\]]*\]), (?:Any|ArrayLike)\]")


def functions(namespace: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a namespace that are ours, and the methods of its classes."""
    module = importlib.import_module(namespace)
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("olympus"):
            continue
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{namespace}.{name}.{method}", function
        elif callable(value) and hasattr(value, "__name__") and not isinstance(value, NewType):
            yield f"{namespace}.{name}", value


def untyped(function: Callable[..., Any]) -> list[str]:
    """The parameters, and "return", that have no type, or `Any` but as a user's function's."""
    signature = inspect.signature(function)
    types = {p.name: p.annotation for p in signature.parameters.values() if p.name != "self"}
    types["return"] = signature.return_annotation
    return [
        name
        for name, type_ in types.items()
        if type_ is inspect.Parameter.empty or re.search(r"\bAny\b", FUNCTION.sub("", str(type_)))
    ]


def test_public_functions_have_types_of_parameters_and_results() -> None:
    public = [pair for namespace in NAMESPACES for pair in functions(namespace)]
    found = {name: " ".join(untyped(function)) for name, function in public}
    wanted = {name: parameters for name, (parameters, _) in ANYTHING.items()}
    assert {name: parameters for name, parameters in found.items() if parameters} == wanted


@pytest.mark.parametrize("cls", [IndexUpdateHelper, IndexUpdateRef])
def test_updates_have_types_of_parameters_and_results(cls: type) -> None:
    found = {name: untyped(f) for name, f in vars(cls).items() if inspect.isfunction(f)}
    assert not {n: what for n, what in found.items() if what and not n.startswith("_")}


def declared(file: str, class_: str) -> dict[str, ast.FunctionDef]:
    """The methods and properties that a class has for type checkers alone."""
    module = ast.parse((ROOT / "olympus_core" / file).read_text(encoding="utf-8"))
    node = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == class_)
    block = next(n for n in node.body if isinstance(n, ast.If))
    return {node.name: node for node in block.body if isinstance(node, ast.FunctionDef)}


DECLARED = declared("ir/tracer.py", "Array")
OF_KEYS = declared("library/random/keys.py", "KeyArray")
OPERATORS = {f"__{side}{name}__" for name in methods._OPERATORS for side in ("", "r")}
OPERATORS |= {f"__{name}__" for name in methods._COMPARISONS}
#: without a declaration, a type checker refuses `x[0] = 1`, which raises
UNDECLARED = {"__setitem__"}
ATTACHED = {name: f for name, f in methods._METHODS.items() if name not in UNDECLARED}
OF_DEVICES = DECLARED.keys() - OPERATORS - ATTACHED.keys() - methods._PROPERTIES.keys()


def signature(node: ast.FunctionDef) -> inspect.Signature:
    """The signature that a declaration has, with annotations as they are written."""
    node.decorator_list = []
    scope: dict[str, Any] = {}
    module = ast.Module([node], type_ignores=[])
    flags = __future__.annotations.compiler_flag
    exec(compile(module, "tracer.py", "exec", flags=flags, dont_inherit=True), scope)
    return inspect.signature(scope[node.name])


def parts(signature: inspect.Signature) -> list[Any]:
    """Return the parameters after the array itself, and the type of the result."""
    rest = list(signature.parameters.values())[1:]
    types = [str(p.annotation) for p in rest]
    return [[(p.name, p.kind, p.default) for p in rest], types, signature.return_annotation]


@pytest.mark.parametrize("name", ATTACHED)
def test_methods_are_declared_with_the_signatures_that_they_have(name: str) -> None:
    assert parts(signature(DECLARED[name])) == parts(inspect.signature(ATTACHED[name]))


@pytest.mark.parametrize("name", OF_KEYS)
def test_methods_of_keys_are_declared_with_the_signatures_that_they_have(name: str) -> None:
    value = vars(KeyArray)[name]
    if isinstance(value, property):
        assert methods._PROPERTIES[name] is value.fget
    else:
        *wanted, result = parts(inspect.signature(value))
        assert (result, parts(signature(OF_KEYS[name]))) == ("Array", [*wanted, "KeyArray"])


def test_operators_and_properties_are_declared() -> None:
    assert DECLARED.keys() >= OPERATORS | methods._PROPERTIES.keys()
    for name in OPERATORS:
        (other,) = list(signature(DECLARED[name]).parameters.values())[1:]
        assert (other.kind, other.annotation) == (inspect.Parameter.POSITIONAL_ONLY, "ArrayLike")


@pytest.mark.parametrize("name", sorted(OF_DEVICES))
def test_what_else_is_declared_arrays_on_a_device_have(name: str) -> None:
    value = vars(DeviceArray)[name]
    if not isinstance(value, property):
        assert parts(signature(DECLARED[name]))[0] == parts(inspect.signature(value))[0]


def test_help_shows_types() -> None:
    assert str(inspect.signature(ox.numpy.add)) == "(x: 'ArrayLike', y: 'ArrayLike', /) -> 'Array'"
    text = str(inspect.signature(ox.scipy.special.betaln))
    assert text == "(a: 'ArrayLike', b: 'ArrayLike') -> 'Array'"


@pytest.mark.parametrize(
    "name",
    [
        *("ArrayLike", "ArrayOrKeys", "ArraySequence", "ArraysOrKeys", "Axis", "DTypeLike"),
        *("IndexLike", "KeyArray", "KeyLike", "NestedArrayLike", "ShapeLike"),
    ],
)
def test_types_that_help_shows_can_be_imported(name: str) -> None:
    assert getattr(ox.typing, name) | None
