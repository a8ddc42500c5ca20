olympus trace model:forward --static relu=True
# exit 2
# error: static argument 'relu': 'True' is not a TOML value
# hint: TOML writes true: --static relu=true
