"""Trees: nested containers of arrays.  `olympus.tree_util` registers user-defined classes."""

from olympus_core.base.tree import unflatten as unflatten
from olympus_core.library.tree_util import all as all
from olympus_core.library.tree_util import broadcast as broadcast
from olympus_core.library.tree_util import flatten as flatten
from olympus_core.library.tree_util import flatten_with_path as flatten_with_path
from olympus_core.library.tree_util import leaves as leaves
from olympus_core.library.tree_util import leaves_with_path as leaves_with_path
from olympus_core.library.tree_util import map as map
from olympus_core.library.tree_util import map_with_path as map_with_path
from olympus_core.library.tree_util import reduce as reduce
from olympus_core.library.tree_util import reduce_associative as reduce_associative
from olympus_core.library.tree_util import static as static
from olympus_core.library.tree_util import structure as structure
from olympus_core.library.tree_util import transpose as transpose
