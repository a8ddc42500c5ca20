"""Trees under their long names, and what registers a class as a container."""

from olympus_core.library.tree_util import (
    all_leaves as all_leaves,
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
    keystr as keystr,
)
from olympus_core.tree import (
    register_dataclass as register_dataclass,
)
from olympus_core.tree import (
    treedef_tuple as treedef_tuple,
)
