olympus trace forwrd
# exit 2
# error: no target is named 'forwrd' in .../olympus.toml
# hint: did you mean forward?
