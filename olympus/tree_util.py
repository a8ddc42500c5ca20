"""Trees under their long names, and the registration of classes as containers."""

from olympus_core.base import tree as _tree
from olympus_core.base.tree import DictKey as DictKey
from olympus_core.base.tree import FlattenedIndexKey as FlattenedIndexKey
from olympus_core.base.tree import GetAttrKey as GetAttrKey
from olympus_core.base.tree import KeyEntry as KeyEntry
from olympus_core.base.tree import KeyPath as KeyPath
from olympus_core.base.tree import Partial as Partial
from olympus_core.base.tree import PyTreeDef as PyTreeDef
from olympus_core.base.tree import SequenceKey as SequenceKey
from olympus_core.base.tree import keystr as keystr
from olympus_core.base.tree import register_dataclass as register_dataclass
from olympus_core.base.tree import treedef_tuple as treedef_tuple
from olympus_core.library import tree_util as _tree_util
from olympus_core.library.tree_util import all_leaves as all_leaves
from olympus_core.library.tree_util import flatten_one_level as flatten_one_level
from olympus_core.library.tree_util import (
    flatten_one_level_with_keys as flatten_one_level_with_keys,
)
from olympus_core.library.tree_util import is_tree_node as is_tree_node
from olympus_core.library.tree_util import register_pytree_node_class as register_pytree_node_class
from olympus_core.library.tree_util import register_pytree_with_keys as register_pytree_with_keys
from olympus_core.library.tree_util import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from olympus_core.library.tree_util import register_static as register_static
from olympus_core.library.tree_util import treedef_children as treedef_children
from olympus_core.library.tree_util import treedef_is_leaf as treedef_is_leaf

default_registry = _tree.registry
register_pytree_node = _tree.register_node
tree_all = _tree_util.all
tree_broadcast = _tree_util.broadcast
tree_flatten = _tree_util.flatten
tree_flatten_with_path = _tree_util.flatten_with_path
tree_leaves = _tree_util.leaves
tree_leaves_with_path = _tree_util.leaves_with_path
tree_map = _tree_util.map
tree_map_with_path = _tree_util.map_with_path
tree_reduce = _tree_util.reduce
tree_reduce_associative = _tree_util.reduce_associative
tree_structure = _tree_util.structure
tree_transpose = _tree_util.transpose
tree_unflatten = _tree.unflatten
