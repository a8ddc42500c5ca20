olympus trace odd:plain --shapes 'x=f32[2]'
# exit 3
# error: function 'plain' traced for jit returned a value of type <class 'odd.Net'> at output component ['n'], which is not a valid JAX type: a staged function returns arrays, scalars and containers of these
#   odd.py:44
#     def plain(x):
# hint: olympus.tree_util.register_pytree_node(Net, ...) makes Net a container
