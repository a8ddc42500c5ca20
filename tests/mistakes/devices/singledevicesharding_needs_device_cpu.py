from olympus.sharding import SingleDeviceSharding

SingleDeviceSharding("cpu")
# ArgumentError: SingleDeviceSharding needs a device, and got 'cpu'
# hint: pass one of olympus.devices()
