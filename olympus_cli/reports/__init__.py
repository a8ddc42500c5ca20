"""Reports: `model` has the results of a build of a program; `text` and `json` render them."""
