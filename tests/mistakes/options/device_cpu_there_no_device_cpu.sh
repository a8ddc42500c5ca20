olympus compile f --backend gpu --device cpu
# exit 2
# error: --device cpu: there is no device 'cpu' for backend 'gpu'; olympus devices lists those there are
# hint: cpu is a backend: --backend cpu
