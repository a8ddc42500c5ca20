# olympus trace python_int_traced_array_int32_was_2.py:f --shapes 'i32[]'
import olympus.numpy as jnp


def f(n):
    return jnp.zeros(int(n))


# exit 3
# error: Abstract tracer value encountered where concrete value is expected: traced array with shape int32[]: the Python int was requested, at .../python_int_traced_array_int32_was_2.py:6: return jnp.zeros(int(n))
#   the array is the argument 'n' of 'f', and has no value while the function is traced: it depends on the value of the argument n
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, or static_argnames="n" of olympus.jit; x.astype(int) converts the dtype of a traced array
