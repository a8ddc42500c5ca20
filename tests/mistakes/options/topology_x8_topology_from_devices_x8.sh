olympus compile f --backend gpu --device h200 --topology 0x8
# exit 2
# error: --topology 0x8: a topology has from 1 to 1024 devices, and '0x8' has 0
