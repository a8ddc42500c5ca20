olympus run model:f --no-native
# exit 2
# error: --no-native is for a FILE.olympus, and 'model:f' is not one
olympus run model:f --trust team.pub
# exit 2
# error: --trust is for a FILE.olympus, and 'model:f' is not one
olympus shard model:f --mesh x=a
# exit 2
# error: invalid value for '--mesh': the axis 'x' has the size 'a', which is not a whole number of devices above 0
# hint: olympus shard --help lists its arguments and options
olympus shard model:f --mesh x
# exit 2
# error: invalid value for '--mesh': a mesh has axes with sizes, such as data=2,model=4, and this is 'x'
# hint: olympus shard --help lists its arguments and options
