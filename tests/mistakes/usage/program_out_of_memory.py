# olympus run program_out_of_memory.py:outer --shapes f32[10000000]
import olympus.numpy as jnp


def outer(x):
    return jnp.outer(x, x)


# exit 4
# error: the program ran out of memory: Out of memory allocating 400000000000000 bytes.
