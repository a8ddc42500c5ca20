olympus trace model:forward --static scale=fast
# exit 2
# error: static argument 'scale': 'fast' is not a TOML value
# hint: a string is quoted, once for the shell and once for TOML: --static 'scale="fast"'
