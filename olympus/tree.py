"""Trees: nested containers of arrays.  See `olympus.tree_util` to register classes of your own."""

from olympus_core.library.tree_util import (
    all as all,
    broadcast as broadcast,
    leaves_with_path as leaves_with_path,
    map_with_path as map_with_path,
    reduce as reduce,
    reduce_associative as reduce_associative,
    static as static,
    transpose as transpose,
)
from olympus_core.tree import (
    flatten as flatten,
    flatten_with_path as flatten_with_path,
    leaves as leaves,
    map as map,
    structure as structure,
    unflatten as unflatten,
)
