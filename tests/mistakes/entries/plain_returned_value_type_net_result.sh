olympus trace odd:plain --shapes 'x=f32[2]'
# exit 3
# error: 'plain' returned a value of type Net at result['n']; a staged function returns arrays, scalars and containers of these
#   odd.py:49
#     def plain(x):
# hint: olympus.tree_util.register_pytree_node(Net, ...) makes Net a container
