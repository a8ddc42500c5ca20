olympus compile f --backend gpu --device 0xh200
# exit 2
# error: --device 0xh200: a topology has from 1 to 1024 devices, and '0xh200' has 0
