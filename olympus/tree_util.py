"""Trees under their long names, and what registers a class as a container."""

from olympus_core.library.tree_util import (
    all as tree_all,
)
from olympus_core.library.tree_util import (
    all_leaves as all_leaves,
)
from olympus_core.library.tree_util import (
    broadcast as tree_broadcast,
)
from olympus_core.library.tree_util import (
    flatten_one_level as flatten_one_level,
)
from olympus_core.library.tree_util import (
    flatten_one_level_with_keys as flatten_one_level_with_keys,
)
from olympus_core.library.tree_util import (
    is_tree_node as is_tree_node,
)
from olympus_core.library.tree_util import (
    leaves_with_path as tree_leaves_with_path,
)
from olympus_core.library.tree_util import (
    map_with_path as tree_map_with_path,
)
from olympus_core.library.tree_util import (
    reduce as tree_reduce,
)
from olympus_core.library.tree_util import (
    reduce_associative as tree_reduce_associative,
)
from olympus_core.library.tree_util import (
    register_pytree_node_class as register_pytree_node_class,
)
from olympus_core.library.tree_util import (
    register_pytree_with_keys as register_pytree_with_keys,
)
from olympus_core.library.tree_util import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from olympus_core.library.tree_util import (
    register_static as register_static,
)
from olympus_core.library.tree_util import (
    transpose as tree_transpose,
)
from olympus_core.library.tree_util import (
    treedef_children as treedef_children,
)
from olympus_core.library.tree_util import (
    treedef_is_leaf as treedef_is_leaf,
)
from olympus_core.tree import (
    DictKey as DictKey,
)
from olympus_core.tree import (
    FlattenedIndexKey as FlattenedIndexKey,
)
from olympus_core.tree import (
    GetAttrKey as GetAttrKey,
)
from olympus_core.tree import (
    KeyEntry as KeyEntry,
)
from olympus_core.tree import (
    KeyPath as KeyPath,
)
from olympus_core.tree import (
    Partial as Partial,
)
from olympus_core.tree import (
    PyTreeDef as PyTreeDef,
)
from olympus_core.tree import (
    SequenceKey as SequenceKey,
)
from olympus_core.tree import (
    flatten as tree_flatten,
)
from olympus_core.tree import (
    flatten_with_path as tree_flatten_with_path,
)
from olympus_core.tree import (
    keystr as keystr,
)
from olympus_core.tree import (
    leaves as tree_leaves,
)
from olympus_core.tree import (
    map as tree_map,
)
from olympus_core.tree import (
    register_dataclass as register_dataclass,
)
from olympus_core.tree import (
    register_node as register_pytree_node,
)
from olympus_core.tree import (
    registry as default_registry,
)
from olympus_core.tree import (
    structure as tree_structure,
)
from olympus_core.tree import (
    treedef_tuple as treedef_tuple,
)
from olympus_core.tree import (
    unflatten as tree_unflatten,
)
