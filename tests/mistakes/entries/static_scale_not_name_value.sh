olympus trace model:forward --static scale
# exit 2
# error: --static 'scale' must be NAME=VALUE
# hint: such as --static n=3
