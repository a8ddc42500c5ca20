olympus compile f --backend gpu --device cpu
# exit 2
# error: --device cpu: no device of the backend 'gpu' is named 'cpu'; `olympus devices` lists them
# hint: cpu is a backend: --backend cpu
