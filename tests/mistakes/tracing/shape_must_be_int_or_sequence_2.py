# olympus trace shape_must_be_int_or_sequence_2.py:f --shapes 'i32[]'
import olympus.numpy as jnp


def f(n):
    return jnp.zeros(n)


# exit 3
# error: Shapes must be 1D sequences of concrete values of integer type, got a traced array i32[] as shape
#   shape_must_be_int_or_sequence_2.py:6
#     return jnp.zeros(n)
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, or static_argnames="n" of olympus.jit
