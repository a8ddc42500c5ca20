olympus build --backend gpu --device h200
# exit 2
# error: olympus build has no option '--device'
# hint: write --backend gpu:h200; the key `backends` of a target in olympus.toml has its devices: backends = ["gpu:h200"]
olympus build --device=8xh200
# exit 2
# error: olympus build has no option '--device'
# hint: write --backend gpu:8xh200; the key `backends` of a target in olympus.toml has its devices: backends = ["gpu:8xh200"]
