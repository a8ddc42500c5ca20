# olympus lower argument_n_lambda_static_no_shape.py:fixed --shapes 'n=i32[]'
import olympus
import olympus.numpy as jnp

fixed = olympus.jit(lambda n: jnp.zeros(n), static_argnames="n")
# exit 2
# error: argument 'n' of <lambda> is static, and has no shape
# hint: give its value: --static n=3
