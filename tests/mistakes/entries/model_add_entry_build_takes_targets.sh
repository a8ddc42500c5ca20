olympus build model:add
# exit 2
# error: 'model:add' is an entry, and build takes targets of olympus.toml
# hint: olympus compile model:add --shapes ... compiles an entry
