olympus trace model:branches --shapes 'f32[]'
# exit 3
# error: Attempted boolean conversion of traced array with shape bool[], at .../model.py:35: if x > 0:
#   the array is the result of 'gt' in 'branches', and has no value while the function is traced: it depends on the value of the argument x
# hint: use olympus.numpy.where to choose between values, olympus.lax.cond or olympus.lax.while_loop to choose between computations, or make the argument that decides static
