olympus trace model:forward --static 'scale=[1]'
# exit 2
# error: --static scale is an array [1], and its parameter has no annotation for one
# hint: annotate the parameter with a dataclass for a table, with tuple[...] for an array, or write { from = "module:NAME" }
