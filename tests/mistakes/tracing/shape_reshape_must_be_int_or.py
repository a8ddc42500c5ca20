# olympus trace shape_reshape_must_be_int_or.py:f --shapes 'i32[]'
import olympus.numpy as jnp


def f(n):
    return jnp.ones(4).reshape(n, 2)


# exit 3
# error: Shapes must be 1D sequences of concrete values of integer type, got (a traced array i32[], 2) as the shape of reshape
#   shape_reshape_must_be_int_or.py:6
#     return jnp.ones(4).reshape(n, 2)
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, or static_argnames="n" of olympus.jit
