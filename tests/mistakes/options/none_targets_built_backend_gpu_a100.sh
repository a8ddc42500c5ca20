olympus build --backend gpu:a100-80
# exit 2
# error: none of the targets is built for the backend 'gpu:a100-80'
# hint: they are built for cpu (f and 2 more); `backends` in olympus.toml adds others
